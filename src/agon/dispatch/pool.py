"""The engines of one runner: started, proved, watched and stopped to match the roster."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from agon.core.contestants import Contestant, EngineState
from agon.core.errors import AgonError, EngineUnreachable
from agon.core.generation import Engine, Finish, GenerationRequest, Piece, is_resident
from agon.core.placement import ReplicaReport, replica_id
from agon.dispatch.breaker import Breaker

log = logging.getLogger(__name__)

_REVIVE_S = 2.0
_REVIVE_MAX_S = 30.0
_DRAIN_S = 30.0

EngineFactory = Callable[[Contestant, str | None, Callable[[str], None]], Engine]
"""Makes an engine that is not warm yet, for a server's URL or for a model to run here; the last argument takes
progress in words for the operator."""


class Member:
    """One replica: its engine, its places, and how far it is to be trusted."""

    def __init__(self, replica: str, contestant: Contestant, engine: Engine, *, url: str | None = None) -> None:
        self.replica = replica
        self.contestant = contestant
        self.url = url
        self.engine = engine
        self.breaker = Breaker()
        self.detail = "starting"
        self.foreign = 0
        """Tokens that others have outstanding there."""
        self.leaving = False
        """It finishes what it has and gets nothing new."""
        self.active = 0
        self.waiting = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self.ejected = asyncio.Event()
        self._state = EngineState.LOADING
        self._places = asyncio.Semaphore(contestant.max_concurrent)

    @property
    def state(self) -> EngineState:
        if self.leaving or self.replica in self.contestant.draining:
            return EngineState.DRAINING
        if self._state is not EngineState.READY:
            return self._state
        if not self.breaker.closed:
            return EngineState.EJECTED
        return EngineState.READY if is_resident(self.engine) else EngineState.COLD

    @property
    def usable(self) -> bool:
        """Whether turns that are here may stay."""
        return self.state not in (EngineState.DRAINING, EngineState.FAILED)

    @property
    def report(self) -> ReplicaReport:
        return ReplicaReport(
            id=self.replica,
            contestant=self.contestant.name,
            state=self.state,
            detail=self.detail,
            url=self.url,
            capacity=self.contestant.max_concurrent,
            active=self.active,
            foreign=self.foreign,
        )

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """One of the places of the engine, first come, first served."""
        self.idle.clear()
        self.waiting += 1
        try:
            await self._places.acquire()
            self.active += 1
        finally:
            self.waiting -= 1
            self._note_idle()
        try:
            yield
        finally:
            self.active -= 1
            self._places.release()
            self._note_idle()

    def succeeded(self, now_s: float) -> None:
        self.breaker.succeeded(now_s)

    def failed(self, error: str, now_s: float, chance: float) -> bool:
        """Count a failure; returns whether the replica is ejected for it, until a warm-up proves it."""
        ejected = self.breaker.failed(now_s, chance)
        if ejected:
            self.detail = error
            self.ejected.set()
        return ejected

    def ready(self, now_s: float) -> None:
        self.breaker.close(now_s)
        self.ejected.clear()
        self._state = EngineState.READY
        self.detail = ""

    def down(self, error: str) -> None:
        self._state = EngineState.FAILED
        self.detail = error

    def _note_idle(self) -> None:
        if not self.active and not self.waiting:
            self.idle.set()


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


@dataclass(frozen=True, slots=True)
class PoolSurroundings:
    """What a pool is given."""

    make: EngineFactory
    changed: Callable[[Member], None]
    """Told of each replica whose turns can no longer stay."""
    tell: Callable[[str, str], None]
    """Tells the operator about a contestant, in words."""
    monotonic_s: Callable[[], float]


class EnginePool:
    """Keeps one engine for each replica: one for each server of a contestant, or one that runs here, in `runner`."""

    def __init__(self, runner: str, around: PoolSurroundings) -> None:
        self._runner = runner
        self._around = around
        self._members: dict[str, Member] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._retiring: dict[asyncio.Task[None], Member] = {}
        self._leaving = False

    @property
    def members(self) -> Sequence[Member]:
        """Every replica that has an engine here; of one that is being replaced, the new one."""
        leaving = {member.replica: member for member in self._retiring.values()}
        return list((leaving | self._members).values())

    def get(self, replica: str) -> Member | None:
        """The replica, if it may be given turns."""
        return self._members.get(replica)

    async def match(self, contestants: Sequence[Contestant]) -> None:
        """Start what is new, stop what is gone, replace what is served differently now."""
        wanted = {replica: (contestant, url) for replica, contestant, url in self._replicas(contestants)}
        for replica, member in list(self._members.items()):
            contestant, _ = wanted.get(replica, (None, None))
            if contestant is None or _served_differently(contestant, member.contestant):
                self._retire(await self._withdraw(replica))
            else:
                self._amend(member, contestant)
        for replica, (contestant, url) in wanted.items():
            if replica not in self._members:
                self._add(replica, contestant, url)

    def leave(self) -> None:
        """Have every replica finish what it has and get nothing new."""
        self._leaving = True
        for member in self.members:
            member.leaving = True
            self._around.changed(member)

    async def close(self) -> None:
        """Close every engine, whatever it is doing."""
        for replica in list(self._members):
            member = await self._withdraw(replica)
            await member.engine.close()
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)

    def _replicas(self, contestants: Sequence[Contestant]) -> Iterator[tuple[str, Contestant, str | None]]:
        for contestant in contestants:
            for url in contestant.urls:
                yield replica_id(contestant.name, url), contestant, url
            if not contestant.urls:
                yield replica_id(contestant.name, self._runner), contestant, None

    def _add(self, replica: str, contestant: Contestant, url: str | None) -> None:
        def progress(words: str) -> None:
            member.detail = words

        try:
            engine = self._around.make(contestant, url, progress)
        except AgonError as error:
            engine = _Unusable(error)
        member = Member(replica, contestant, engine, url=url)
        member.leaving = self._leaving
        self._members[replica] = member
        self._tasks[replica] = asyncio.create_task(self._watch(member))

    def _amend(self, member: Member, contestant: Contestant) -> None:
        member.contestant = contestant
        if member.state is EngineState.DRAINING:
            self._around.changed(member)

    async def _withdraw(self, replica: str) -> Member:
        """Take a member out of the pool; it gets no more work."""
        task = self._tasks.pop(replica)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return self._members.pop(replica)

    def _retire(self, member: Member) -> None:
        """Close its engine in the background, once what it is doing is done."""

        async def drain() -> None:
            try:
                async with asyncio.timeout(_DRAIN_S):
                    await member.idle.wait()
            except TimeoutError:
                log.warning("%s is closed in the middle of an answer", member.replica)
            finally:
                await member.engine.close()

        member.leaving = True
        task = asyncio.create_task(drain())
        self._retiring[task] = member
        task.add_done_callback(self._retiring.pop)
        self._around.changed(member)

    async def _watch(self, member: Member) -> None:
        """Warm the engine up, and again whenever it is down or was ejected for long enough."""
        pause_s = _REVIVE_S
        while True:
            if await self._warm_up(member):
                pause_s = _REVIVE_S
                await self._until_probe(member)
            else:
                await asyncio.sleep(pause_s)
                pause_s = min(_REVIVE_MAX_S, pause_s * 1.5)

    async def _until_probe(self, member: Member) -> None:
        await member.ejected.wait()
        self._around.tell(member.contestant.name, f"gets a rest. {member.detail}")
        while not member.breaker.begin_probe(self._around.monotonic_s()):  # noqa: ASYNC110 - until a known time
            await asyncio.sleep(member.breaker.remaining_s(self._around.monotonic_s()))

    async def _warm_up(self, member: Member) -> bool:
        name = member.contestant.name
        try:
            await member.engine.warm_up()
        except AgonError as error:
            self._down(member, error.message)
            return False
        except Exception as error:
            # What nobody thought of is no reason to watch this replica no longer, or to end the runner.
            log.exception("%s cannot be warmed up", member.replica)
            self._down(member, f"It failed in an unknown way ({type(error).__name__}).")
            return False
        member.ready(self._around.monotonic_s())
        self._around.tell(name, "ready")
        return True

    def _down(self, member: Member, reason: str) -> None:
        member.down(reason)
        self._around.changed(member)
        self._around.tell(member.contestant.name, f"not ready. {reason}")


def _served_differently(new: Contestant, old: Contestant) -> bool:
    said = replace(new, weight=old.weight, draining=old.draining, urls=old.urls, state=old.state, origin=old.origin)
    return said != old
