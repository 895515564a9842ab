"""Dynamic batching for models that do not batch by themselves: calls that come together are run together."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agon.core.errors import AgonError, Busy, Unavailable
from agon.core.scoring import Poison, Sample, Scored, Scorer
from agon.scoring.batching import BatchBreaker, BatchRules, Call, Cost, Decision, Line, Taking
from agon.scoring.isolation import ScoreMany, isolating, told


class Pause(Protocol):
    async def __call__(self, changed: asyncio.Event, until_s: float | None) -> None:
        """Wait for a change, at the longest until then."""
        ...


class BatchMeasures(Protocol):
    """Where a batcher says what it does."""

    def ran(self, samples: int, seconds: float) -> None: ...

    def refused(self, calls: int) -> None:
        """Calls that would have missed their deadlines."""
        ...


@dataclass(slots=True, eq=False)
class _Waiting:
    samples: Sequence[Sample]
    done: "asyncio.Future[list[Scored]]"
    scored: list[Scored] = field(default_factory=list[Scored])
    taken: int = 0


class Batcher:
    """Runs one batch at a time. Works in the event loop in which it is first used."""

    def __init__(
        self,
        run: ScoreMany,
        rules: BatchRules | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Pause | None = None,
        measures: BatchMeasures | None = None,
    ) -> None:
        self._run = run
        self._rules = rules or BatchRules()
        self._clock = clock
        self._pause: Pause = pause or self._wait
        self._measures = measures
        self._cost = Cost()
        self._line = Line(self._rules, self._cost)
        self._breaker = BatchBreaker(self._rules)
        self._waiting: dict[int, _Waiting] = {}
        self._changed = asyncio.Event()
        self._number = 0
        self._free_s = 0.0
        self._working: asyncio.Task[None] | None = None

    async def score(self, samples: Sequence[Sample], *, within_s: float | None = None) -> list[Scored]:
        """Score samples, together with those of others who call now.

        Raises `Busy` at once where they would take longer than `within_s`, as far as can be foretold, and what `run`
        raises for all that it was given. Whoever is cancelled leaves the line, and is in nobody's way.
        """
        if not samples:
            return []
        now_s, self._number = self._clock(), self._number + 1
        number = self._number
        deadline_s = None if within_s is None else now_s + within_s
        if not self._line.add(Call(number, len(samples), now_s, deadline_s), now_s=now_s, free_s=self._free_s):
            self._say_refused(1)
            raise self._too_late()
        waiting = self._waiting[number] = _Waiting(samples, asyncio.get_running_loop().create_future())
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        self._changed.set()
        try:
            return await waiting.done
        finally:
            self._line.leave(number)
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """Refuse those who wait, and stop."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
            self._working = None
        for waiting in self._waiting.values():
            _fail(waiting, Unavailable("The scorer is being closed.", code="scorer_closed"))

    async def _work(self) -> None:
        while True:
            self._changed.clear()
            now_s = self._clock()
            decision = self._line.decide(now_s, most=self._breaker.most(now_s))
            for number in decision.refused:
                _fail(self._waiting[number], self._too_late())
            self._say_refused(len(decision.refused))
            if decision.batch:
                await self._serve(decision)
            elif not decision.refused:
                await self._pause(self._changed, decision.look_again_s)

    async def _serve(self, decision: Decision) -> None:
        parts = [(self._waiting[taking.call], _next(self._waiting[taking.call], taking)) for taking in decision.batch]
        samples = [sample for _, part in parts for sample in part]
        begun_s = self._clock()
        self._free_s = begun_s + self._cost.of(len(samples))
        try:
            scored = await self._all(samples)
        except Exception as error:  # noqa: BLE001 - it is told to those who wait, and the next ones are served
            failure = error if isinstance(error, AgonError) else Unavailable(told(error), code="scorer_failed")
            for taking, (waiting, _) in zip(decision.batch, parts, strict=True):
                self._line.leave(taking.call)
                _fail(waiting, failure)
            return
        finally:
            self._free_s = self._clock()
        for waiting, part in parts:
            waiting.scored += scored[: len(part)]
            scored = scored[len(part) :]
            if len(waiting.scored) == len(waiting.samples) and not waiting.done.done():
                waiting.done.set_result(waiting.scored)

    async def _all(self, samples: Sequence[Sample]) -> list[Scored]:
        """One result a sample. A batch that fails is halved down to those that are to blame."""
        whole = 0

        async def run(part: Sequence[Sample]) -> Sequence[Scored]:
            nonlocal whole
            begun_s = self._clock()
            scored = await self._run(part)
            seconds = self._clock() - begun_s
            self._cost.ran(len(part), seconds)
            if self._measures is not None:
                self._measures.ran(len(part), seconds)
            whole = max(whole, len(part))
            return scored

        scored = await isolating(run, samples)
        if len(samples) > 1:
            if whole == len(samples):
                self._breaker.worked()
            elif not any(isinstance(each, Poison) for each in scored):
                self._breaker.failed(self._clock())
        return scored

    def _too_late(self) -> Busy:
        wait_s = max(0.0, self._free_s - self._clock()) + self._cost.of(min(len(self._line), self._rules.max_batch))
        return Busy("The scorer has too much to do to be in time.", retry_after_s=max(wait_s, 0.1), code="scorer_busy")

    def _say_refused(self, calls: int) -> None:
        if calls and self._measures is not None:
            self._measures.refused(calls)

    async def _wait(self, changed: asyncio.Event, until_s: float | None) -> None:
        left_s = None if until_s is None else max(0.0, until_s - self._clock())
        try:
            async with asyncio.timeout(left_s):
                await changed.wait()
        except TimeoutError:
            return


class Batched:
    """A scorer behind a batcher."""

    def __init__(self, inner: Scorer, batcher: Batcher, *, within_s: float | None = None) -> None:
        self.inner = inner
        self._batcher = batcher
        self._within_s = within_s

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def revision(self) -> str:
        return self.inner.revision

    @property
    def compares(self) -> bool:
        return self.inner.compares

    @property
    def cacheable(self) -> bool:
        return self.inner.cacheable

    async def warm_up(self) -> None:
        await self.inner.warm_up()

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        return await self._batcher.score(samples, within_s=self._within_s)

    async def close(self) -> None:
        await self._batcher.close()
        await self.inner.close()


def _next(waiting: _Waiting, taking: Taking) -> Sequence[Sample]:
    part = waiting.samples[waiting.taken : waiting.taken + taking.samples]
    waiting.taken += taking.samples
    return part


def _fail(waiting: _Waiting, error: AgonError) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(error)
