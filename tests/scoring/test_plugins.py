"""Plug-ins: found by entry point, refused by name, and unable to disturb anybody; and the two that are shipped."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from importlib import invalidate_caches
from pathlib import Path

import pytest

from agon.core.errors import InvalidInput, Unavailable
from agon.core.scoring import Poison, Sample, Score
from agon.scoring.plugins import finding
from agon.scoring.plugins.format import rate as rate_format
from agon.scoring.plugins.overlap import rate as rate_overlap

SAMPLES = [Sample("?", answer) for answer in ("one", "two", "boom", "four")]
MODULE = """
from agon.core.scoring import Score
from agon.scoring.plain import PlainScorer

def rate(sample):
    if sample.answer == "boom":
        raise RuntimeError("no  such\\nword")
    return float("nan") if sample.answer == "two" else float(len(sample.answer))

def plain():
    return PlainScorer("another name", rate, revision="7")

def optional(options):
    return PlainScorer("optional", lambda sample: float(options["worth"]), revision=str(options))

def raising():
    raise OSError("the model file is gone")

def nothing():
    return object()

class Batches:
    name, revision, compares, cacheable = "batches", "1", False, False
    async def warm_up(self): raise ValueError("cannot start")
    async def score(self, samples):
        if any(sample.answer == "boom" for sample in samples):
            raise RuntimeError("boom")
        return [Score(1.0) for _ in samples]
    async def close(self): pass

class Short(Batches):
    async def score(self, samples): return [Score(1.0)]
"""
POINTS = """[agon.scorers]
plain = brought_scorers:plain
optional = brought_scorers:optional
raising = brought_scorers:raising
nothing = brought_scorers:nothing
missing = brought_scorers:nowhere
unimportable = no_such_module:scorer
batches = brought_scorers:Batches
short = brought_scorers:Short
judge:forged = brought_scorers:plain
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that is installed as any other."""
    folder = tmp_path / "brought_scorers-2.5.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: brought-scorers\nVersion: 2.5\nSummary: All kinds.\n"
    )
    (folder / "entry_points.txt").write_text(POINTS)
    (tmp_path / "brought_scorers.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()
    finding.installed.cache_clear()
    yield
    finding.installed.cache_clear()


def refusal(name: str, **options: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        finding.build(finding.find(name), options)
    assert (refused.value.code, refused.value.field) == ("scorer_broken", "scorer")
    assert "brought-scorers 2.5" in refused.value.message
    return refused.value.message


async def test_a_scorer_of_a_package_has_the_name_it_is_installed_by() -> None:
    scorer = finding.build(finding.find("plain"), {})
    assert (scorer.name, scorer.revision) == ("plain", "brought-scorers 2.5 7")
    await scorer.warm_up()
    found = await scorer.score(SAMPLES)
    assert [type(each) for each in found] == [Score, Poison, Poison, Score]
    assert found[2] == Poison("RuntimeError: no such word")


async def test_options_reach_those_who_take_them() -> None:
    scorer = finding.build(finding.find("optional"), {"worth": 3})
    assert await scorer.score(SAMPLES[:1]) == [Score(3.0)]
    assert "takes no options" in refusal("plain", worth=3)


def test_what_is_broken_is_refused_with_its_package_and_the_reason() -> None:
    assert "OSError: the model file is gone" in refusal("raising")
    assert "no 'name'" in refusal("nothing")
    assert "nowhere" in refusal("missing")
    assert "no_such_module" in refusal("unimportable")


def test_names_that_nobody_brings_are_refused() -> None:
    for name in ("nobody", "judge:forged", ""):
        with pytest.raises(InvalidInput) as refused:
            finding.find(name)
        assert refused.value.code == "scorer_unknown"


async def test_a_batch_that_fails_is_halved_down_to_the_one_to_blame() -> None:
    scorer = finding.build(finding.find("batches"), {})
    found = await scorer.score(SAMPLES)
    assert [type(each) for each in found] == [Score, Score, Poison, Score]
    with pytest.raises(Unavailable, match=r"brought-scorers 2\.5 does not start: ValueError: cannot start"):
        await scorer.warm_up()


async def test_results_that_do_not_fit_are_nobodys() -> None:
    scorer = finding.build(finding.find("short"), {})
    assert [type(each) for each in await scorer.score(SAMPLES[:2])] == [Score, Score]


async def test_the_shipped_ones_are_entry_points_as_well() -> None:
    names = finding.installed()
    assert {"format", "overlap"} <= set(names)
    assert finding.about(names["plain"]) == "All kinds."
    for name in ("format", "overlap"):
        scorer = finding.build(names[name], {})
        await scorer.warm_up()
        assert not scorer.compares
        again = await asyncio.gather(
            *(scorer.score([Sample("List 2 seas in a bulleted list.", "- a\n- b")]) for _ in "ab")
        )
        assert again[0] == again[1]


FORMATS: Sequence[tuple[str, str, float | None]] = [
    ("Tell me of the sea.", "It is wide.", None),
    ("Answer in exactly three words.", "Wide blue sea", 1.0),
    ("Answer in exactly three words.", "Wide sea", 0.0),
    ("Use at most 2 sentences.", "One. Two.", 1.0),
    ("Use at most 2 sentences.", "One. Two. Three!", 0.0),
    ("Write under 5 words.", "one two three four", 1.0),
    ("Write under 4 words.", "one two three four", 0.0),
    ("Give at least two paragraphs.", "One.\n\nTwo.", 1.0),
    ("Return a JSON object.", '{"sea": 1}', 1.0),
    ("Return a JSON object.", '```json\n{"sea": 1}\n```', 1.0),
    ("Return a JSON object.", 'Here: {"sea": 1}', 0.0),
    ("Reply with a numbered list of three items.", "1. a\n2. b\n3. c", 1.0),
    ("Reply with a numbered list of three items.", "- a\n- b", 0.0),
    ("Write exactly 3 bullet points.", "- a\n- b\n* c", 1.0),
    ("Please answer with yes or no.", "Yes.", 1.0),
    ("Please answer with yes or no.", "Yes, since it is.", 0.0),
    ("Answer with one word.", "Blue", 1.0),
    ("Write in all caps, with 2 words.", "BLUE SEA", 1.0),
    ("Write in lowercase, with 2 words.", "Blue sea", 0.5),
    ("Put it in a code block.", "```\nx\n```", 1.0),
]


@pytest.mark.parametrize(("prompt", "answer", "score"), FORMATS)
def test_demands_on_form(prompt: str, answer: str, score: float | None) -> None:
    assert rate_format(Sample(prompt, answer)) == score


def test_overlap_wants_the_subject_in_other_words() -> None:
    prompt = "Explain how glaciers shape mountain valleys over thousands of years"

    def rate(answer: str) -> float:
        found = rate_overlap(Sample(prompt, answer))
        assert found is not None
        return found

    good = (
        "Moving ice grinds rock away, so glaciers carve mountain valleys into a wide U within some thousands of years."
    )
    assert rate(good) > 0.5
    assert rate("Bananas are yellow.") == 0.0
    assert rate(prompt) == 0.0
    assert rate(f"{good} {good} {good}") < 0.5 * rate(good)
    assert 0 < rate("冰川 glaciers 山谷") < rate(good)
    assert rate_overlap(Sample("Why?", "Because.")) is None


def test_any_text_can_be_rated() -> None:
    for text in ("", " ", "```", "[" * 5_000, "\x00\ud800", "a" * 100_000):
        rate_format(Sample("Return JSON, in exactly 3 words, as a bulleted list of 2.", text))
        rate_overlap(Sample("Describe rivers carefully.", text))
    assert rate_overlap(Sample("Describe rivers carefully.", "")) == 0.0
