"""A contestant that runs in this process: its weights are fetched and checked, then loaded, then proved.

The models of a runner share its memory. One that has no room is cold: its first turn has it loaded.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from agon.core.errors import EngineRejected, EngineTimeout, EngineUnreachable
from agon.core.generation import BUSY_CODE, Finish, GenerationRequest, Piece
from agon.engines.llamacpp import LlamaCppEngine
from agon.engines.llamacpp_options import LlamaCppOptions, fit
from agon.engines.model_memory import ModelMemory
from agon.engines.progress import Progress, Stage, in_words
from agon.engines.sources import Weights
from agon.engines.weights import WeightStore

Cold = Literal["wait", "refuse"]
_numbers = count()


class WarmStart:
    """In which order a runner fills its memory when it starts: that of the configuration, others behind."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._ranks = {name: rank for rank, name in enumerate(names)}
        self._decided: dict[str, asyncio.Event] = {}

    def enter(self, name: str) -> None:
        self._decided.setdefault(name, asyncio.Event())

    def decide(self, name: str) -> None:
        """It has its place, or will do without, or takes too long to be waited for."""
        self._decided[name].set()

    async def turn(self, name: str) -> None:
        """Wait until all that come before have decided."""
        before = [event for other, event in self._decided.items() if self._rank(other) < self._rank(name)]
        for event in before:
            await event.wait()

    def _rank(self, name: str) -> tuple[int, str]:
        return self._ranks.get(name, len(self._ranks)), name


@dataclass(frozen=True, slots=True)
class Household:
    """What the embedded engines of a runner share."""

    store: WeightStore
    memory: ModelMemory
    start: WarmStart
    cold: Cold = "wait"
    """What becomes of a turn whose model is not in memory."""


class EmbeddedEngine:
    """The `Engine` port over weights that may not be here yet. `say` takes progress in words for the operator."""

    def __init__(
        self,
        name: str,
        weights: Weights,
        household: Household,
        options: LlamaCppOptions,
        say: Callable[[str], None],
        *,
        draft: Weights | None = None,
    ) -> None:
        self.name = name
        self.key = f"{name}#{next(_numbers)}"
        self.needed_bytes = 0
        self._weights = weights
        self._draft = draft
        self._household = household
        self._options = options
        self._say = say
        self._engine: LlamaCppEngine | None = None
        self._known = False
        self._closed = False
        self._changing = asyncio.Lock()
        household.start.enter(name)

    @property
    def resident(self) -> bool:
        """Whether the model is in memory now."""
        return self._household.memory.holds(self)

    async def warm_up(self) -> None:
        """Fetch the weights and load them if there is room beside other models. Raises `AgonError`."""
        memory = self._household.memory
        if self.resident:
            async with memory.use(self):
                await self._loaded().warm_up()
        elif not await self._fill():
            self._say("not in memory: its first turn has it loaded")

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish, None]:
        self._check()
        begun = time.monotonic()
        try:
            async with asyncio.timeout(request.budget_s) as patience, self._household.memory.use(self):
                patience.reschedule(None)
                async with aclosing(self._loaded().generate(_remaining(request, begun))) as answer:
                    async for item in answer:
                        yield item
        except TimeoutError:
            raise EngineTimeout(f"{self.name} was not loaded in time.") from None

    async def close(self) -> None:
        self._closed = True
        self._household.start.decide(self.name)  # it may never have been warmed up
        await self._household.memory.remove(self)

    async def load(self) -> None:
        """Bring the model into memory and prove it. Raises `AgonError`."""
        async with self._changing:
            if self._closed:
                raise EngineUnreachable(f"{self.name} is not loaded.", code="engine_closed")
            self._say("loading")
            store = self._household.store
            engine = LlamaCppEngine(store.path(self._weights), name=self.name, options=self._options)
            try:
                await engine.warm_up()
            except BaseException:
                await engine.close()
                raise
            self._engine = engine
            self._say("in memory")

    async def unload(self) -> None:
        """Give the model's memory back."""
        if self._closed and self._engine is not None:
            await self._engine.close()  # it ends what it is doing, be it a load
        async with self._changing:
            engine, self._engine = self._engine, None
            if engine is not None:
                await engine.close()
                self._say("closed" if self._closed else "made room for another: its next turn has it loaded")

    def _check(self) -> None:
        """Raise for a turn that cannot be taken."""
        memory = self._household.memory
        if self._closed or not self._known:
            raise EngineUnreachable(f"{self.name} is not loaded.", code="engine_closed")
        if self._household.cold == "refuse" and not memory.holds(self):
            memory.fetch(self)
            raise EngineRejected(
                f"{self.name} is not in memory and is being loaded: try again in a little while.", code=BUSY_CODE
            )

    def _loaded(self) -> LlamaCppEngine:
        assert self._engine is not None
        return self._engine

    async def _fill(self) -> bool:
        start = self._household.start
        try:
            await self._get_to_know()
            await start.turn(self.name)
            filling = asyncio.ensure_future(self._household.memory.fill(self))
            await asyncio.sleep(0)  # it has taken its place, or found none
        finally:
            start.decide(self.name)
        return await filling

    async def _get_to_know(self) -> None:
        """Have the weights here and know what memory they take."""
        store, loop = self._household.store, asyncio.get_running_loop()

        def report(progress: Progress) -> None:
            self._say(in_words(progress))
            if progress.stage in {Stage.DOWNLOADING, Stage.CONVERTING, Stage.WAITING}:
                loop.call_soon_threadsafe(self._household.start.decide, self.name)

        path = await asyncio.to_thread(store.ensure, self._weights, report)
        if self._draft is not None:
            draft = await asyncio.to_thread(store.ensure, self._draft, report)
            self._options = replace(self._options, draft=draft)
        self.needed_bytes = (await asyncio.to_thread(fit, path, self._options)).needed_bytes
        self._household.memory.check(self)
        self._known = True


def _remaining(request: GenerationRequest, begun: float) -> GenerationRequest:
    """Loading has taken of the time there is."""
    if request.budget_s is None:
        return request
    return replace(request, budget_s=max(0.0, request.budget_s - (time.monotonic() - begun)))
