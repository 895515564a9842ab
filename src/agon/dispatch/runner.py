"""The runner: the one loop that owns engines and the answers they are generating."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agon.core.errors import Unavailable
from agon.core.ports import AnswerLedger, Bus, ContestantLedger, Dispatch
from agon.dispatch.clearing import Clearing
from agon.dispatch.foreign import ForeignLoad
from agon.dispatch.measures import Measures, ReplicaFigures
from agon.dispatch.moving import Mover, Offices
from agon.dispatch.policy import Policy
from agon.dispatch.pool import EngineFactory, EnginePool, Member, PoolSurroundings
from agon.dispatch.turns import Turns

log = logging.getLogger(__name__)

BEAT_S = 0.4
_REAP_S = 0.3
_TICK_S = 1.0
_TAKE_WAIT_S = 1.0
_PAUSE_S = 0.2
_HAND_OVER_S = 1.5
"""For what is not done when a runner has to leave: it goes on elsewhere."""


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    name: str
    """Unique among the executors that share a bus."""
    policy: Policy
    drain_s: float
    """How long what runs may go on once the runner is told to leave."""
    tell: Callable[[str, str], None]
    """Tells the operator about a contestant, in words."""


@dataclass(frozen=True, slots=True)
class RunnerParts:
    """What a runner is made of."""

    answers: AnswerLedger
    contestants: ContestantLedger
    bus: Bus
    dispatch: Dispatch
    make_engine: EngineFactory
    measures: Measures
    monotonic_s: Callable[[], float]
    chance: Callable[[], float]
    """Draws from [0, 1)."""


class Runner:
    """Serves the replicas of every contestant until it is drained or cancelled."""

    def __init__(self, settings: RunnerSettings, parts: RunnerParts) -> None:
        self._settings = settings
        self._parts = parts
        self._clearing = Clearing(parts.dispatch, parts.monotonic_s)
        offices = Offices(
            ledger=parts.answers,
            bus=parts.bus,
            dispatch=parts.dispatch,
            clearing=self._clearing,
            policy=settings.policy,
            measures=parts.measures,
            monotonic_s=parts.monotonic_s,
        )
        self._mover = Mover(offices)
        self._pool = EnginePool(
            settings.name,
            PoolSurroundings(
                make=parts.make_engine,
                changed=self._leave,
                tell=settings.tell,
                monotonic_s=parts.monotonic_s,
            ),
        )
        self._turns = Turns(offices, self._pool, self._mover, parts.chance)
        self._foreign = ForeignLoad(parts.dispatch)
        self._told_to_leave = asyncio.Event()

    @property
    def members(self) -> Sequence[Member]:
        """The replicas that have an engine here."""
        return self._pool.members

    @property
    def turns(self) -> int:
        """How many turns are here, running, waiting or on their way to another replica."""
        return len(self._turns)

    def drain(self) -> None:
        """Take nothing new, hand on what waits, finish what runs, then end `run`."""
        self._told_to_leave.set()

    async def run(self) -> None:
        """Serve until drained. When cancelled, what is being generated stays pending for other runners."""
        loops = [
            self._every(BEAT_S, self._beat),
            self._every(_REAP_S, self._mover.reap),
            self._every(_TICK_S, self._match),
            self._every(_TICK_S, self._look_at_others),
            self._every(_TICK_S, self._mover.sweep),
            self._take(),
            self._listen(),
            self._clearing.run(),
        ]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(loop) for loop in loops]
                await self._told_to_leave.wait()
                await self._drain()
                for task in tasks:
                    task.cancel()
        finally:
            await self._turns.close()
            with suppress(Unavailable):
                await self._clearing.flush()
                await self._parts.dispatch.leave()
            await self._pool.close()

    async def _every(self, period_s: float, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except Unavailable as error:
                log.warning("%s", error.message)
            except Exception:
                # What nobody thought of is no reason to drop every answer that is being written.
                log.exception("a step of the runner failed, and is tried again")
            await asyncio.sleep(period_s)

    async def _match(self) -> None:
        self._turns.forget_stops()
        self._turns.leave_the_silent(_TICK_S)
        await self._pool.match([*await self._parts.contestants.contestants()])

    def _leave(self, member: Member) -> None:
        self._turns.leave(member)

    async def _look_at_others(self) -> None:
        await self._foreign.look(self._pool.members)

    async def _beat(self) -> None:
        members = self._pool.members
        holdings = self._clearing.holdings
        beat = holdings.beat([member.report for member in members], self._parts.monotonic_s())
        outstanding = Counter[str]()
        for replica, prompt, output in beat.held.values():
            outstanding[replica] += prompt + output
        self._parts.measures.stated(
            [
                ReplicaFigures(report, member.breaker.state, member.waiting, outstanding[report.id])
                for report, member in zip(beat.replicas, members, strict=True)
            ]
        )
        await self._parts.dispatch.beat(beat)

    async def _take(self) -> None:
        while True:
            try:
                for placement in await self._parts.dispatch.take(_TAKE_WAIT_S):
                    self._turns.take(placement)
            except Unavailable:
                await asyncio.sleep(_PAUSE_S)

    async def _listen(self) -> None:
        async for ref in self._parts.bus.stops():
            self._turns.stop(ref)

    async def _drain(self) -> None:
        log.info("the runner leaves; %d turns are here", len(self._turns))
        self._pool.leave()
        with suppress(Unavailable):
            await self._beat()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.drain_s):
                await self._turns.idle()
                return
        self._turns.leave_all()
        with suppress(TimeoutError):
            async with asyncio.timeout(_HAND_OVER_S):
                await self._turns.idle()
