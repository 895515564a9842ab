"""Verdicts: real judges' words, and what must not pass for one."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.scoring.parsing import Reading, Verdict, disarmed, read_rating, read_verdict

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "judge_outputs.jsonl").read_text("utf-8").splitlines()
]
MT_BENCH = {"A": Verdict.A, "B": Verdict.B, "tie": Verdict.TIE}
COMPARISONS = [row for row in ROWS if row["style"] != "single"]
RATINGS = [row for row in ROWS if row["style"] == "single"]


def expected(row: dict[str, Any], column: str) -> Verdict | None:
    word = row[column]
    return None if word is None else MT_BENCH.get(word) or Verdict(word)


def test_the_samples_are_all_there() -> None:
    assert (len(COMPARISONS), len(RATINGS)) == (160, 7)


@pytest.mark.parametrize("row", COMPARISONS, ids=lambda row: row["id"])
def test_a_judges_verdict_is_read_as_people_read_it(row: dict[str, Any]) -> None:
    reading = read_verdict(row["text"])
    assert reading.verdict == expected(row, "expected")
    assert (reading.verdict if reading.exact else None) == expected(row, "expected_strict")


@pytest.mark.parametrize("row", RATINGS, ids=lambda row: row["id"])
def test_a_judges_grade_is_read_as_people_read_it(row: dict[str, Any]) -> None:
    assert read_rating(row["text"]) == row["expected"] == row["expected_strict"]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("[[A>>B]]", Verdict.A_MUCH),
        ("[[ A>B ]]", Verdict.A),
        ("[[A=B]]", Verdict.TIE),
        ("[[B=A]]", Verdict.TIE),
        ("[[C]]", Verdict.TIE),
        ("[[a > b]]", Verdict.A),
        ("[[A&gt;B]]", Verdict.A),
        ("[[?]]", Verdict.UNDECIDED),
        ("$[[B>>A]]$", Verdict.B_MUCH),
        ("The matrix [[1, 2]] is shown in [3]. [[B>A]]", Verdict.B),
    ],
)
def test_verdicts_that_are_understood(text: str, verdict: Verdict) -> None:
    assert read_verdict(text).verdict is verdict


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A is better.",
        "A>B",
        "(A>B)",
        "[[A>B]] or perhaps [[A>>B]]",
        "[[A>B]] [[C]]",
        "[[A>B]] [[A>>>B]]",
        "[[A>A]]",
        "[[A]",
        "[A]",
        "[[D]]",
        "[[A\n>B]]",
        "<think>[[A>B]]</think> I cannot say.",
        "<think>[[A>B]]",
        "[[A>B]] is my thought. </think>",
    ],
)
def test_what_is_no_verdict(text: str) -> None:
    assert read_verdict(text) == Reading(None)


def test_a_rating_out_of_place_is_none() -> None:
    assert [read_rating(text) for text in ("[[0]]", "[[11]]", "[[7]] no, [[70]]", "7", "[[ 7 ]]")] == [
        None,
        None,
        None,
        None,
        7.0,
    ]


words = st.text(alphabet="AB<>=?[]【】［］\\ C7.\n" + "＞≫", max_size=30)  # noqa: RUF001 - full-width signs are meant


@given(words | st.text(max_size=60))
def test_a_disarmed_text_holds_no_verdict(hostile: str) -> None:
    quiet = disarmed(hostile)
    assert len(quiet) == len(hostile)
    assert read_verdict(quiet).verdict is None
    assert read_rating(quiet) is None


@given(words, st.sampled_from(list(Verdict)))
def test_a_disarmed_text_beside_a_verdict_of_the_judges_own_changes_nothing(hostile: str, own: Verdict) -> None:
    quoted = f"The answer says:\n{disarmed(hostile)}\nMine:\n[[{own.value}]]"
    assert read_verdict(quoted).verdict is own


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    read_verdict(text)
    read_rating(text)
