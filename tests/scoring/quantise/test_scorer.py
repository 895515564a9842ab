"""The scorer of rounds: the engine that is in force, changed over without a restart."""

from pathlib import Path

import pytest
from tests.scoring.quantise.small import small_model, some_samples

from agon.core.errors import Unavailable
from agon.core.scoring import Score
from agon.engines.encoder.making import Made
from agon.engines.encoder.scorer import FullScores, RewardScorer, always
from agon.engines.encoder.session import Engines
from agon.scoring.drift import EngineName, Precision


class Force:
    """What the ledger would say, and a clock."""

    def __init__(self) -> None:
        self.rolled_back = False
        self.asked: list[str] = []
        self.now = 0.0

    async def __call__(self, engine: EngineName) -> Precision:
        self.asked.append(str(engine))
        return Precision.FP32 if self.rolled_back else engine.precision

    def clock(self) -> float:
        return self.now


async def test_it_changes_over_when_its_engine_is_rolled_back_and_back_again(made: tuple[Path, Made]) -> None:
    force, engines, samples = Force(), Engines(), some_samples(5)
    scorer = RewardScorer(engines, made[0], Precision.INT8, in_force=force, clock=force.clock)
    assert not scorer.ready
    with pytest.raises(Unavailable) as raised:
        scorer.revision.strip()
    assert raised.value.code == "scorer_not_ready"
    await scorer.warm_up()
    assert scorer.ready
    reduced, name = await scorer.score(samples), scorer.revision
    assert name == f"small/int8/{made[1].artefact.digest[:16]}"
    assert (scorer.name, scorer.compares, scorer.cacheable) == ("reward", False, True)

    force.rolled_back = True
    force.now = 29.0
    assert await scorer.score(samples) == reduced
    force.now = 30.0
    full = await scorer.score(samples)
    assert scorer.revision == "small/fp32"
    assert full != reduced
    assert [each.value for each in full if isinstance(each, Score)] == pytest.approx(
        [each.value for each in reduced if isinstance(each, Score)], abs=1.0
    )

    force.rolled_back = False
    await scorer.refresh()
    assert scorer.revision == name
    # It always asks for the engine that would score, not for the one that does.
    assert set(force.asked) == {name}
    await scorer.close()


async def test_a_model_without_its_engine_is_not_ready(tmp_path: Path) -> None:
    scorer = RewardScorer(Engines(), small_model(tmp_path / "m"), Precision.INT8, in_force=always)
    with pytest.raises(Unavailable) as raised:
        await scorer.warm_up()
    assert raised.value.code == "int8_missing"
    assert not scorer.ready
    await scorer.close()


async def test_the_guards_full_engine_scores_in_two_ways(made: tuple[Path, Made]) -> None:
    engines, samples = Engines(), some_samples(30)
    full = FullScores(engines, made[0])
    alone, together = [await full.scores(samples, together=way) for way in (False, True)]
    assert together == pytest.approx(alone, abs=1e-5)
    engines.close()
