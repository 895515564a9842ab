"""The memory that the models of a runner share: who is in it, who waits for it, who has to leave it.

One object owns the state and changes it between two awaits of the event loop; what to do is decided by
`agon.dispatch.memory`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from agon.core.errors import AgonError, EngineError, EngineRejected, EngineUnreachable
from agon.dispatch.memory import Load, Never, Resident, Stay, Wait, fits_beside, make_room

log = logging.getLogger(__name__)


class Model(Protocol):
    """What the memory does with a model."""

    @property
    def key(self) -> str:
        """Tells it from all others, also from one of the same name that it replaces."""
        ...

    @property
    def name(self) -> str: ...

    @property
    def needed_bytes(self) -> int: ...

    async def load(self) -> None:
        """Bring it into memory and prove it. Raises `AgonError`."""
        ...

    async def unload(self) -> None:
        """Give its memory back."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryNews:
    """Told of what happens, for counting."""

    loaded: Callable[[str], None]
    evicted: Callable[[str], None]


@dataclass(eq=False, slots=True)
class _Wish:
    """Somebody who waits for a model."""

    model: Model
    granted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ModelMemory:
    """Keeps the models that were used last within a budget of bytes.

    A model is loaded once, however many wait for it. One in use is never put out; one that is to make room gets no new
    turns until it has, so that whoever waits gets a turn, too. Whoever waits longest gets room first.
    """

    def __init__(self, budget_bytes: int, news: MemoryNews | None = None) -> None:
        self._budget_bytes = budget_bytes
        self._news = news or MemoryNews(_nothing, _nothing)
        self._residents: dict[Model, Resident] = {}
        self._wishes: list[_Wish] = []
        self._closing: frozenset[str] = frozenset()
        self._work: set[asyncio.Task[None]] = set()
        self._exchanging = asyncio.Lock()
        """Nothing is loaded before what makes room for it, or for another, is really gone."""
        self._clock = count(1)

    @property
    def residents(self) -> Sequence[Resident]:
        return list(self._residents.values())

    def holds(self, model: Model) -> bool:
        """Whether the model is loaded, so that a turn can begin at once."""
        resident = self._residents.get(model)
        return resident is not None and not resident.loading

    def check(self, model: Model) -> None:
        """Raises `EngineRejected` for a model that can never fit."""
        if model.needed_bytes > self._budget_bytes:
            raise _too_large(model, model.needed_bytes - self._budget_bytes)

    async def fill(self, model: Model) -> bool:
        """Load a model if there is room beside the others; returns whether there was. Raises what loading raises."""
        if model not in self._residents:
            if not fits_beside(model.needed_bytes, budget_bytes=self._budget_bytes, residents=self.residents):
                return False
            self._begin(model, ())
        async with self.use(model):
            return True

    def fetch(self, model: Model) -> None:
        """Have a model loaded, putting others out, without waiting for it."""
        wish = self._wish(model)
        wish.granted.add_done_callback(lambda granted: self._drop(wish) if _failed(granted) else self._release(model))

    @asynccontextmanager
    async def use(self, model: Model) -> AsyncGenerator[None, None]:
        """Keep a model in memory, loading it if need be. Raises what loading it raises."""
        wish = self._wish(model)
        try:
            await wish.granted
        except asyncio.CancelledError:
            if _failed(wish.granted):
                self._drop(wish)
            else:
                self._release(model)  # it was granted in the same turn of the loop
            raise
        try:
            yield
        finally:
            self._release(model)

    async def remove(self, model: Model) -> None:
        """Put a model out for good, in use or not; whoever waits for it is told that it is gone."""
        for wish in [wish for wish in self._wishes if wish.model is model]:
            self._wishes.remove(wish)
            if not wish.granted.done():
                wish.granted.set_exception(_gone(model))
        await model.unload()
        self._residents.pop(model, None)
        self._arrange()

    def _wish(self, model: Model) -> _Wish:
        self.check(model)
        wish = _Wish(model)
        self._wishes.append(wish)
        self._arrange()
        return wish

    def _drop(self, wish: _Wish) -> None:
        if wish in self._wishes:
            self._wishes.remove(wish)
        self._arrange()

    def _release(self, model: Model) -> None:
        if (resident := self._residents.get(model)) is not None:
            self._residents[model] = replace(resident, users=resident.users - 1, used=next(self._clock))
        self._arrange()

    def _arrange(self) -> None:
        """Grant what can be granted, and begin to make room for the first who has to wait.

        Whoever is here when a model is told to make room is still served by it; whoever comes later is not.
        """
        self._wishes = [wish for wish in self._wishes if not wish.granted.done()]
        self._serve()
        self._closing = frozenset()
        for wish in self._wishes:
            if wish.model not in self._residents and not self._closing:
                self._seek_room(wish.model)
        self._serve()

    def _serve(self) -> None:
        for model, resident in list(self._residents.items()):
            if not resident.loading and resident.key not in self._closing:
                self._grant(model)

    def _grant(self, model: Model) -> None:
        """Let all who wait for a model begin."""
        for wish in [wish for wish in self._wishes if wish.model is model and not wish.granted.done()]:
            self._wishes.remove(wish)
            resident = self._residents[model]
            self._residents[model] = replace(resident, users=resident.users + 1, used=next(self._clock))
            wish.granted.set_result(None)

    def _seek_room(self, model: Model) -> None:
        match make_room(model.key, model.needed_bytes, budget_bytes=self._budget_bytes, residents=self.residents):
            case Load(evict):
                self._begin(model, evict)
            case Wait(names):
                self._closing = frozenset(names)
            case Stay() | Never():
                raise AssertionError("it was checked before")

    def _begin(self, model: Model, evict: Sequence[str]) -> None:
        leaving = [resident for resident in self._residents if resident.key in evict]
        for other in leaving:
            del self._residents[other]
        self._residents[model] = Resident(model.key, model.needed_bytes, used=next(self._clock), loading=True)
        task = asyncio.create_task(self._exchange(model, leaving))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _exchange(self, model: Model, leaving: Sequence[Model]) -> None:
        try:
            async with self._exchanging:
                for other in leaving:
                    await other.unload()
                    self._news.evicted(other.name)
                await model.load()
        except AgonError as error:
            self._residents.pop(model, None)
            self._fail(model, error)
        except Exception as error:
            # Nobody is to wait for ever for a model because of an error that was never thought of.
            log.exception("%s could not be loaded", model.name)
            self._residents.pop(model, None)
            self._fail(model, EngineError(f"{model.name} could not be loaded ({type(error).__name__})."))
        else:
            if model in self._residents:
                self._residents[model] = replace(self._residents[model], loading=False)
                self._news.loaded(model.name)
                # Before anything else: others may wait for its room, and it was not loaded for nothing.
                self._grant(model)
        self._arrange()

    def _fail(self, model: Model, error: AgonError) -> None:
        for wish in self._wishes:
            if wish.model is model and not wish.granted.done():
                wish.granted.set_exception(error)


def _failed(granted: asyncio.Future[None]) -> bool:
    return granted.cancelled() or granted.exception() is not None


def _nothing(_: str) -> None:
    """For those who do not count."""


def _gone(model: Model) -> EngineUnreachable:
    return EngineUnreachable(f"{model.name} is not loaded.", code="engine_closed")


def _too_large(model: Model, missing_bytes: int) -> EngineRejected:
    return EngineRejected(
        f"{model.name} needs about {model.needed_bytes >> 20} MiB of memory, {-(-missing_bytes >> 20)} MiB more than "
        "models may take here: give them more (engine.memory_mib), or choose a smaller one.",
        code="not_enough_memory",
    )
