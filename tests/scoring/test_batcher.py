"""The batcher around scorers that fail, dawdle and are left, on a clock that moves only when everybody waits."""

import asyncio
from collections.abc import Sequence

import pytest

from agon.core.errors import Busy, Unavailable
from agon.core.scoring import Poison, Sample, Score, Scored
from agon.scoring.batcher import Batched, Batcher
from agon.scoring.batching import BatchRules
from agon.scoring.plain import PlainScorer

RULES = BatchRules(max_batch=8, max_wait_s=0.01, failures=2, singly_s=10.0)


class Time:
    """A clock that stands still while anybody works."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    async def pause(self, changed: asyncio.Event, until_s: float | None) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        if until_s is None:
            await changed.wait()
        elif not changed.is_set():
            self.now_s = max(self.now_s, until_s)


class Model:
    """Scores answers that are numbers. It is told what it cannot bear, and takes its time."""

    def __init__(self, time: Time, *, cost_s: float = 0.0, most: int = 1000) -> None:
        self.time = time
        self.cost_s = cost_s
        self.most = most
        self.away = False
        self.batches: list[int] = []
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        self.batches.append(len(samples))
        self.begun.set()
        await self.go_on.wait()
        self.time.now_s += self.cost_s * len(samples)
        if self.away:
            raise Unavailable("The model is away.")
        if len(samples) > self.most:
            raise MemoryError("too many")
        return [Score(float(sample.answer)) for sample in samples]


def samples(*answers: object) -> list[Sample]:
    return [Sample("?", str(answer)) for answer in answers]


def batcher(model: Model, rules: BatchRules = RULES) -> Batcher:
    return Batcher(model, rules, clock=model.time, pause=model.time.pause)


async def test_calls_that_come_together_are_run_together_and_each_gets_its_own() -> None:
    model = Model(Time())
    running = batcher(model)
    found = await asyncio.gather(*(running.score(samples(n, n + 100)) for n in range(4)))
    assert found == [[Score(float(n)), Score(float(n + 100))] for n in range(4)]
    assert model.batches == [8]
    await running.close()


async def test_a_large_call_is_run_in_batches_and_stays_in_order() -> None:
    model = Model(Time())
    running = batcher(model)
    assert await running.score(samples(*range(20))) == [Score(float(n)) for n in range(20)]
    assert model.batches == [8, 8, 4]
    await running.close()


async def test_a_poisoned_sample_fails_alone() -> None:
    model = Model(Time())
    running = batcher(model)
    first, second = await asyncio.gather(running.score(samples(1, 2, "x", 4)), running.score(samples(5, 6)))
    assert [type(each) for each in first] == [Score, Score, Poison, Score]
    assert second == [Score(5.0), Score(6.0)]
    assert first[2] == Poison("ValueError: could not convert string to float: 'x'")
    await running.close()


async def test_a_model_that_bears_no_batches_is_asked_singly_until_a_trial() -> None:
    model = Model(Time(), most=1)
    running = batcher(model)
    for _ in range(2):
        assert len(await running.score(samples(1, 2))) == 2
    assert model.batches == [2, 1, 1] * 2
    model.batches.clear()
    assert len(await running.score(samples(*range(5)))) == 5
    assert model.batches == [1] * 5
    model.batches.clear()
    model.time.now_s += 10.0
    model.most = 1000
    assert len(await running.score(samples(*range(5)))) == 5
    assert model.batches == [5]
    await running.close()


async def test_poison_does_not_open_the_breaker() -> None:
    model = Model(Time())
    running = batcher(model)
    for _ in range(5):
        await running.score(samples(1, "x"))
    model.batches.clear()
    await running.score(samples(1, 2, 3))
    assert model.batches == [3]
    await running.close()


async def test_a_miss_that_can_be_foretold_is_refused_at_once() -> None:
    model = Model(Time(), cost_s=1.0)
    running = batcher(model)
    await running.score(samples(1, 2))
    await running.score(samples(1, 2, 3, 4))
    ran = len(model.batches)
    with pytest.raises(Busy, match="too much to do") as refused:
        await running.score(samples(*range(6)), within_s=3.0)
    assert refused.value.retry_after_s > 0
    assert len(model.batches) == ran
    assert len(await running.score(samples(1, 2), within_s=3.0)) == 2
    await running.close()


async def test_one_who_leaves_the_line_is_not_run_and_one_who_leaves_a_batch_stops_nobody() -> None:
    model = Model(Time())
    model.go_on.clear()
    running = batcher(model)
    inside = asyncio.create_task(running.score(samples(1)))
    await model.begun.wait()
    waiting = asyncio.create_task(running.score(samples(2, 3)))
    other = asyncio.create_task(running.score(samples(4)))
    await asyncio.sleep(0)
    for task in (inside, waiting):
        task.cancel()
    await asyncio.gather(inside, waiting, return_exceptions=True)
    model.go_on.set()
    assert await other == [Score(4.0)]
    assert model.batches == [1, 1]
    await running.close()


async def test_a_model_that_is_away_is_told_to_all_of_the_batch_and_the_next_ones_are_served() -> None:
    model = Model(Time())
    model.away = True
    running = batcher(model)
    found = await asyncio.gather(*(running.score(samples(*range(9))) for _ in range(2)), return_exceptions=True)
    assert [type(each) for each in found] == [Unavailable, Unavailable]
    assert model.batches == [8]
    model.away = False
    assert await running.score(samples(1)) == [Score(1.0)]
    await running.close()


async def test_closing_refuses_those_who_wait() -> None:
    model = Model(Time())
    model.go_on.clear()
    running = batcher(model)
    waiting = asyncio.create_task(running.score(samples(1)))
    await model.begun.wait()
    await running.close()
    with pytest.raises(Unavailable, match="closed"):
        await waiting


async def test_a_batched_scorer_is_the_scorer_it_was() -> None:
    plain = PlainScorer("length", lambda sample: float(len(sample.answer)), revision="1")
    batched = Batched(plain, Batcher(plain.score))
    await batched.warm_up()
    assert await batched.score(samples("ab", "c")) == [Score(2.0), Score(1.0)]
    assert (batched.name, batched.revision, batched.compares, batched.cacheable) == ("length", "1", False, True)
    await batched.close()
