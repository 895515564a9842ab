"""Scorers that ask a contestant: several answers at once, and what becomes of those that it fails on."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from agon.core.errors import EngineError, EngineRejected, NotFound, Unavailable
from agon.core.generation import GenerationRequest
from agon.core.scoring import Asks, Poison, Reply, Sample, Scored

ScoreOne = Callable[[Sample], Awaitable[Scored]]

_AT_ONCE = 64


class _Disturbed(Poison):
    """The engine failed, and may do better with the same words another time."""


class Asked:
    """A contestant that answers for a scorer."""

    def __init__(self, contestant: str, asks: Asks) -> None:
        self.contestant = contestant
        self._asks = asks
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, request: GenerationRequest) -> Reply:
        """Raises `EngineError`, and `Unavailable` where nobody can be asked just now."""
        try:
            return await self._asks.ask(self.contestant, request)
        except NotFound as error:
            raise Unavailable(
                f"The judge {self.contestant} is no contestant of this arena.", code="judge_missing"
            ) from error

    async def prove(self, request: GenerationRequest) -> None:
        """Have it answer once. Raises `Unavailable`."""
        try:
            await self.ask(request)
        except EngineError as error:
            raise Unavailable(f"The judge {self.contestant} cannot answer: {error.message}", code=error.code) from error

    async def all(self, score: ScoreOne, samples: Sequence[Sample]) -> Sequence[Scored]:
        """Score samples, each by itself. Raises `Unavailable` where the contestant cannot be asked just now."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(score, sample)) for sample in samples]
        except ExceptionGroup as errors:
            _, bugs = errors.split(Unavailable)
            if bugs is not None:
                raise
            raise Unavailable("The judge cannot be asked just now.", code="judge_unavailable") from errors
        scored = [task.result() for task in tasks]
        if len(scored) > 1 and all(isinstance(each, _Disturbed) for each in scored):
            # It is the judge's engine then, and no answer's fault.
            raise Unavailable(f"The judge {self.contestant} fails.", code="judge_unavailable")
        return scored

    async def _one(self, score: ScoreOne, sample: Sample) -> Scored:
        async with self._places:
            try:
                return await score(sample)
            except EngineError as error:
                kind = Poison if isinstance(error, EngineRejected) else _Disturbed
                return kind(f"The judge {self.contestant} could not answer: {error.message}")
