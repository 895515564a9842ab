"""The engines of one runner: started, proved, watched and stopped to match the roster."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from agon.core.contestants import Contestant, EngineState, EngineStatus
from agon.core.errors import AgonError, EngineUnreachable
from agon.core.generation import Engine, Finish, GenerationRequest, Piece

log = logging.getLogger(__name__)

_FAILURES_TO_FAIL = 3
_REVIVE_S = 2.0
_REVIVE_MAX_S = 30.0
_DRAIN_S = 30.0

EngineFactory = Callable[[Contestant, Callable[[str], None]], Engine]
"""Makes an engine that is not warm yet; the second argument takes progress in words for the operator."""


class Member:
    """One contestant's engine and its places."""

    def __init__(self, contestant: Contestant, engine: Engine) -> None:
        self.contestant = contestant
        self.engine = engine
        self.places = asyncio.Semaphore(contestant.max_concurrent)
        self.active = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self.state = EngineState.LOADING
        self.detail = "starting"
        self._failures = 0

    @property
    def status(self) -> EngineStatus:
        return EngineStatus(self.state, self.detail, self.active, self.contestant.max_concurrent)

    def begin(self) -> None:
        self.active += 1
        self.idle.clear()

    def end(self) -> None:
        self.active -= 1
        self.places.release()
        if not self.active:
            self.idle.set()

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, error: str) -> None:
        """After several failures in a row the engine counts as down, until a warm-up proves otherwise."""
        self._failures += 1
        if self._failures >= _FAILURES_TO_FAIL:
            self.state = EngineState.FAILED
            self.detail = error

    def ready(self) -> None:
        self._failures = 0
        self.state = EngineState.READY
        self.detail = ""


class _Unusable:
    """Stands for an engine that cannot even be made, so that one bad entry leaves the others alone."""

    def __init__(self, reason: AgonError) -> None:
        self._reason = reason

    async def warm_up(self) -> None:
        raise self._reason

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish]:
        del request
        raise EngineUnreachable(self._reason.message)
        yield Piece("")  # never reached: it makes this a generator

    async def close(self) -> None:
        """There is nothing to free."""


class EnginePool:
    """Keeps one engine for each contestant.

    `on_ready` is told of each member whose engine is up for the first time, `tell` the operator of what changes.
    """

    def __init__(
        self, make: EngineFactory, *, on_ready: Callable[[Member], None], tell: Callable[[str, str], None]
    ) -> None:
        self._make = make
        self._on_ready = on_ready
        self._tell = tell
        self._members: dict[str, Member] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def members(self) -> Sequence[Member]:
        return list(self._members.values())

    async def match(self, contestants: Sequence[Contestant]) -> None:
        """Start what is new, stop what is gone, replace what is served differently now."""
        wanted = {contestant.name: contestant for contestant in contestants}
        for name, member in list(self._members.items()):
            contestant = wanted.get(name)
            if contestant is None or _served_differently(contestant, member.contestant):
                self._retire(await self._withdraw(name))
            else:
                member.contestant = contestant
        for name, contestant in wanted.items():
            if name not in self._members:
                self._add(contestant)

    def holds(self, member: Member) -> bool:
        return self._members.get(member.contestant.name) is member

    async def close(self) -> None:
        """Close every engine, whatever it is doing."""
        for name in list(self._members):
            member = await self._withdraw(name)
            await member.engine.close()
        for task in list(self._retiring):
            task.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)

    def _add(self, contestant: Contestant) -> None:
        def progress(words: str) -> None:
            member.detail = words

        try:
            engine = self._make(contestant, progress)
        except AgonError as error:
            engine = _Unusable(error)
        member = Member(contestant, engine)
        self._members[contestant.name] = member
        self._tasks[contestant.name] = asyncio.create_task(self._watch(member))

    async def _withdraw(self, name: str) -> Member:
        """Take a member out of the pool; it gets no more work."""
        task = self._tasks.pop(name)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return self._members.pop(name)

    def _retire(self, member: Member) -> None:
        """Close its engine in the background, once what it is doing is done."""

        async def drain() -> None:
            try:
                async with asyncio.timeout(_DRAIN_S):
                    await member.idle.wait()
            except TimeoutError:
                log.warning("%s is closed in the middle of an answer", member.contestant.name)
            finally:
                await member.engine.close()

        task = asyncio.create_task(drain())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _watch(self, member: Member) -> None:
        """Warm the engine up, and again whenever it is down."""
        announced = False
        pause_s = _REVIVE_S
        while True:
            if member.state is EngineState.READY:
                pause_s = _REVIVE_S
            elif await self._warm_up(member):
                if not announced:
                    announced = True
                    self._on_ready(member)
            else:
                pause_s = min(_REVIVE_MAX_S, pause_s * 1.5)
            await asyncio.sleep(pause_s)

    async def _warm_up(self, member: Member) -> bool:
        name = member.contestant.name
        try:
            await member.engine.warm_up()
        except AgonError as error:
            member.state = EngineState.FAILED
            member.detail = error.message
            self._tell(name, f"not ready. {error.message}")
            return False
        member.ready()
        self._tell(name, "ready")
        return True


def _served_differently(new: Contestant, old: Contestant) -> bool:
    said = replace(new, weight=old.weight, draining=old.draining, state=old.state, origin=old.origin)
    return said != old
