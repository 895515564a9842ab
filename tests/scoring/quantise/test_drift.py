"""The drift guard: looks when it is time, measures noise first, takes a drifted engine out of force by itself."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.scoring import Sample
from agon.scoring.drift import DriftSettings, EngineName, Evidence, Precision, Traffic, due, figures, pairs_of
from agon.scoring.drift_guard import DriftGuard
from agon.scoring.fidelity import Decision, Fidelity, Scores, Verdict

ENGINE = EngineName("model", Precision.INT8, "abc")
START = datetime(2026, 1, 5, tzinfo=UTC)


class MemoryLedger:
    """Keeps what the guard says, as the real one does."""

    def __init__(self, traffic: Sequence[Traffic]) -> None:
        self.offered = list(traffic)
        self.kept: list[Evidence] = []
        self.out: set[EngineName] = set()
        self.asked: list[tuple[datetime | None, float, int]] = []

    async def traffic(
        self, engine: EngineName, *, since: datetime | None, share: float, limit: int
    ) -> Sequence[Traffic]:
        assert engine == ENGINE
        self.asked.append((since, share, limit))
        return self.offered[:limit]

    async def keep(self, evidence: Evidence) -> None:
        self.kept.append(evidence)
        if evidence.decision.verdict is Verdict.ROLL_BACK:
            self.out.add(evidence.engine)

    async def latest(self, model: str) -> Evidence | None:
        return next((each for each in reversed(self.kept) if each.engine.model == model), None)

    async def precision_in_force(self, engine: EngineName) -> Precision:
        return Precision.FP32 if engine in self.out else engine.precision

    async def restore(self, model: str) -> int:
        gone = {engine for engine in self.out if engine.model == model}
        self.out -= gone
        return len(gone)


class Full:
    """Scores by the length of the answer, with some noise where samples go together."""

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise
        self.calls: list[bool] = []

    async def scores(self, samples: Sequence[Sample], *, together: bool) -> Scores:
        self.calls.append(together)
        exact = np.array([len(sample.answer) / 10 for sample in samples])
        turns = np.array([self.noise if place % 2 else -self.noise for place in range(len(samples))])
        return exact + turns if together else exact


class Counters:
    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.found: list[Fidelity | None] = []
        self.forced: list[str] = []

    def checked(self, decision: Decision, found: Fidelity | None) -> None:
        self.verdicts.append(decision.verdict)
        self.found.append(found)

    def in_force(self, precision: str) -> None:
        self.forced.append(precision)


class Stage:
    def __init__(self, drift: float = 0.0, *, answers: int = 80, noise: float = 0.0) -> None:
        samples = [Sample(f"question {n // 2}", "x" * (5 + 7 * n % 40)) for n in range(answers)]
        self.ledger = MemoryLedger(
            [
                Traffic(n, sample, len(sample.answer) / 10 + (drift if n % 2 else -drift))
                for n, sample in enumerate(samples)
            ]
        )
        self.full, self.counters, self.now = Full(noise), Counters(), START
        self.guard = DriftGuard(
            full=self.full,
            ledger=self.ledger,
            measures=self.counters,
            now=lambda: self.now,
            settings=DriftSettings(),
        )


async def test_a_faithful_engine_stays_and_is_looked_at_again_in_a_week() -> None:
    stage = Stage(drift=0.001)
    first = await stage.guard.check_if_due(ENGINE)
    assert first is not None
    assert first.decision.verdict is Verdict.PROMOTE
    assert stage.ledger.asked == [(None, 0.01, 2_000)]
    stage.now += timedelta(hours=167)
    assert await stage.guard.check_if_due(ENGINE) is None
    stage.now += timedelta(hours=1)
    assert await stage.guard.check_if_due(ENGINE) is not None
    assert stage.ledger.asked[1][0] == START
    assert stage.counters.verdicts == [Verdict.PROMOTE] * 2
    assert stage.counters.forced == []


async def test_a_drifted_engine_is_rolled_back_by_itself_and_stays_so(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(drift=1.0)
    with caplog.at_level(logging.ERROR):
        evidence = await stage.guard.check_if_due(ENGINE)
    assert evidence is not None
    assert evidence.decision.verdict is Verdict.ROLL_BACK
    assert "rolled back to full precision" in caplog.text
    assert "mean KL" in caplog.text
    assert stage.counters.forced == ["fp32"]
    assert stage.ledger.kept == [evidence]
    assert await stage.ledger.precision_in_force(ENGINE) is Precision.FP32
    stage.now += timedelta(days=30)
    assert await stage.guard.check_if_due(ENGINE) is None
    other = EngineName("model", Precision.INT8, "another artefact")
    assert await stage.ledger.precision_in_force(other) is Precision.INT8
    assert await stage.ledger.restore("model") == 1
    assert await stage.guard.check_if_due(ENGINE) is not None


async def test_evidence_has_every_row_and_figure() -> None:
    stage = Stage(drift=1.0, answers=60)
    evidence = await stage.guard.check(ENGINE)
    assert evidence is not None
    assert [row.number for row in evidence.rows] == list(range(60))
    assert all(row.reduced - row.full == pytest.approx(1.0 if row.number % 2 else -1.0) for row in evidence.rows)
    assert evidence.found is not None
    assert evidence.found.error_mean == pytest.approx(1.0)
    told = figures(evidence)
    assert told["precision"] == "int8"
    assert told["noise"] is not None


async def test_noise_is_measured_before_anybody_is_blamed() -> None:
    stage = Stage(drift=1.0, noise=1.5)
    evidence = await stage.guard.check_if_due(ENGINE)
    assert evidence is not None
    assert stage.full.calls == [False, True]
    assert evidence.decision.verdict is Verdict.HOLD
    assert not stage.ledger.out


async def test_too_little_traffic_decides_nothing() -> None:
    few = await Stage(drift=5.0, answers=10).guard.check_if_due(ENGINE)
    assert few is not None
    assert few.decision.verdict is Verdict.HOLD
    one = await Stage(drift=5.0, answers=1).guard.check_if_due(ENGINE)
    assert one is not None
    assert (one.decision.verdict, one.found) == (Verdict.HOLD, None)


async def test_without_traffic_nothing_is_kept_and_the_next_chance_is_soon() -> None:
    stage = Stage(answers=0)
    assert await stage.guard.check_if_due(ENGINE) is None
    assert stage.full.calls == []
    assert stage.ledger.kept == []
    assert await stage.guard.check_if_due(ENGINE) is None
    assert len(stage.ledger.asked) == 2


async def test_the_full_engine_needs_no_guard() -> None:
    stage = Stage()
    assert await stage.guard.check_if_due(EngineName("model")) is None
    assert stage.ledger.asked == []


def test_another_engine_is_looked_at_at_once() -> None:
    decision = Decision(Verdict.PROMOTE)
    seen = Evidence(ENGINE, decision, None, None, (), START)
    week = timedelta(hours=168)
    assert due(None, ENGINE, START, week)
    assert not due(seen, ENGINE, START + timedelta(hours=1), week)
    assert due(seen, EngineName("model", Precision.INT8, "new"), START + timedelta(hours=1), week)


def test_names_say_what_decides_a_score() -> None:
    assert str(ENGINE) == "model/int8/abc"
    assert str(EngineName("model")) == "model/fp32"


@given(st.lists(st.sampled_from("abcdefgh"), max_size=30))
def test_pairs_use_answers_to_the_same_prompt_first(prompts: list[str]) -> None:
    pairs = pairs_of(prompts, seed="s")
    both = list(zip(pairs.first, pairs.second, strict=True))
    assert all(first != second for first, second in both)
    uses = [sum(place in pair for pair in both) for place in range(len(prompts))]
    assert max(uses, default=0) <= 2
    for first, second in both:
        if prompts[first] != prompts[second]:
            assert prompts.count(prompts[first]) == prompts.count(prompts[second]) == 1
    repeated = {prompt for prompt in prompts if prompts.count(prompt) > 1}
    assert all(uses[place] for place, prompt in enumerate(prompts) if prompt in repeated)
    assert pairs_of(prompts, seed="s") == pairs
