"""The reward model as a scorer of rounds, with the precision that is in force."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from agon.core.errors import Unavailable
from agon.core.scoring import Sample, Scored
from agon.engines.encoder.batches import ALONE, Batching
from agon.engines.encoder.session import Engines, ScoreEngine
from agon.scoring.drift import EngineName, Precision

REWARD: Final = "reward"
ASK_EVERY_S: Final = 30.0

InForce = Callable[[EngineName], Awaitable[Precision]]


class RewardScorer:
    """`Scorer` of a model folder. It asks now and then whether its engine is still in force, and changes over."""

    def __init__(
        self,
        engines: Engines,
        folder: Path,
        precision: Precision,
        *,
        in_force: InForce,
        ask_every_s: float = ASK_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engines = engines
        self._folder = folder
        self._precision = precision
        self._in_force = in_force
        self._ask_every_s = ask_every_s
        self._clock = clock
        self._engine: ScoreEngine | None = None
        self._wanted: EngineName | None = None
        self._asked = 0.0
        self._changing = asyncio.Lock()

    @property
    def name(self) -> str:
        return REWARD

    @property
    def revision(self) -> str:
        """Of the engine that scores now. Raises `Unavailable` before `warm_up`."""
        return str(self._current().name)

    @property
    def compares(self) -> bool:
        return False

    @property
    def cacheable(self) -> bool:
        return True

    @property
    def ready(self) -> bool:
        """Whether an engine is loaded and warm."""
        return self._engine is not None and self._engine.ready

    @property
    def configured(self) -> EngineName | None:
        """The engine that would score if nothing had been rolled back."""
        return self._wanted

    async def warm_up(self) -> None:
        await self.refresh()

    async def refresh(self) -> None:
        """Ask which precision is in force, and change over to it. Raises `Unavailable`.

        An engine that has gone out of force is not closed: whoever scores with it may end in peace.
        """
        async with self._changing:
            if self._wanted is None:
                engine = await asyncio.to_thread(self._engines.get, self._folder, self._precision)
                self._wanted, self._engine = engine.name, engine
            precision = await self._in_force(self._wanted)
            if self._engine is None or precision is not self._engine.name.precision:
                self._engine = await asyncio.to_thread(self._engines.get, self._folder, precision)
            self._asked = self._clock()

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        if self._engine is None or self._clock() - self._asked >= self._ask_every_s:
            await self.refresh()
        return await asyncio.to_thread(self._current().score, samples)

    async def close(self) -> None:
        self._engine = None
        await asyncio.to_thread(self._engines.close)

    def _current(self) -> ScoreEngine:
        if self._engine is None:
            raise Unavailable("The reward model is not loaded yet.", code="scorer_not_ready")
        return self._engine


class FullScores:
    """The full-precision engine for the drift guard; it is loaded when there is something to look at."""

    def __init__(self, engines: Engines, folder: Path) -> None:
        self._engines = engines
        self._folder = folder

    async def scores(self, samples: Sequence[Sample], *, together: bool) -> npt.NDArray[np.float64]:
        engine = await asyncio.to_thread(self._engines.get, self._folder, Precision.FP32)
        batching = Batching(run_tokens=4096, run_samples=16) if together else ALONE
        return await asyncio.to_thread(engine.scores, samples, batching=batching)

    async def release(self) -> None:
        """Give its memory back until the next look. Not for those who score with it."""
        await asyncio.to_thread(self._engines.drop, self._folder, Precision.FP32)


async def always(engine: EngineName) -> Precision:
    """For those without a ledger: nothing has been rolled back."""
    return engine.precision
