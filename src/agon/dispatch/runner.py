"""The runner: the one loop that owns engines and the answers they are generating."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from agon.core.contestants import EngineState
from agon.core.conversation import AnswerState
from agon.core.errors import AgonError, NotFound, Unavailable
from agon.core.placement import AnswerRef
from agon.core.ports import AnswerLedger, Bus, ContestantLedger, Outcome, Work
from agon.dispatch.answer import AnswerRun, SupersededError, Surroundings
from agon.dispatch.policy import Policy
from agon.dispatch.pool import EngineFactory, EnginePool, Member

log = logging.getLogger(__name__)

_TICK_S = 1.0
_TAKE_WAIT_S = 1.0
_TAKERS = 4
"""Takes under way for each contestant: each waits for the bus twice, and alone it would hold up a crowd."""
_STALE_S = 2.0
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    name: str
    """Unique among the runners that share a bus."""
    policy: Policy
    tell: Callable[[str, str], None]
    """Tells the operator about a contestant, in words."""


class Runner:
    """Serves the queues of every contestant whose engine is up, until cancelled."""

    def __init__(
        self,
        settings: RunnerSettings,
        *,
        answers: AnswerLedger,
        contestants: ContestantLedger,
        bus: Bus,
        make_engine: EngineFactory,
        monotonic_s: Callable[[], float],
    ) -> None:
        self._name = settings.name
        self._policy = settings.policy
        self._answers = answers
        self._contestants = contestants
        self._bus = bus
        self._around = Surroundings(answers, bus, settings.policy, monotonic_s)
        self._pool = EnginePool(make_engine, on_ready=self._serve_in_background, tell=settings.tell)
        self._runs: dict[AnswerRef, AnswerRun] = {}
        self._claimed: set[AnswerRef] = set()
        self._stopped_early: set[AnswerRef] = set()
        """Asked to stop between the claim and the first step."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until cancelled; what is being generated then stays pending for the next runner."""
        loops = [self._match, self._announce, self._keep, self._sweep]
        try:
            async with asyncio.TaskGroup() as group:
                for step in loops:
                    group.create_task(self._every_tick(step))
                group.create_task(self._listen())
        finally:
            await self._shut_down()

    async def _every_tick(self, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except Unavailable as error:
                log.warning("%s", error.message)
            await asyncio.sleep(_TICK_S)

    async def _match(self) -> None:
        await self._pool.match([*await self._contestants.contestants()])

    async def _announce(self) -> None:
        for member in self._pool.members:
            await self._bus.announce(member.contestant.name, member.status)

    async def _keep(self) -> None:
        await self._bus.keep(list(self._claimed), self._name)

    async def _listen(self) -> None:
        async for ref in self._bus.stops():
            run = self._runs.get(ref)
            if run is not None:
                run.stop()
            elif ref in self._claimed:
                self._stopped_early.add(ref)

    async def _sweep(self) -> None:
        """Find answers that nobody works on: their runner died, or the bus lost them."""
        stale = {answer.ref: answer for answer in await self._answers.stale(_STALE_S)}
        for ref in await self._bus.unclaimed([ref for ref in stale if ref not in self._claimed]):
            answer = stale[ref]
            if self._policy.abandons(answer.kind, answer.age_s):
                failed = Outcome(ref, answer.attempt, AnswerState.FAILED, "", error="no runner took it in time")
                await self._answers.settle(failed)
            elif await self._answers.retry(ref, answer.attempt, failed=False) is not None:
                await self._bus.enqueue([ref])

    def _serve_in_background(self, member: Member) -> None:
        for _ in range(_TAKERS):
            self._spawn(self._serve(member))

    async def _serve(self, member: Member) -> None:
        """Take answers from the contestant's queue while there is a place for one."""
        while self._pool.holds(member):
            if member.state is not EngineState.READY:
                await asyncio.sleep(_PAUSE_S)
                continue
            await member.places.acquire()
            ref = None
            try:
                ref = await self._bus.take(member.contestant.name, _TAKE_WAIT_S)
            except Unavailable:
                await asyncio.sleep(_PAUSE_S)
            finally:
                if ref is None:
                    member.places.release()
            if ref is not None:
                self._spawn(self._answer(member, ref))

    async def _answer(self, member: Member, ref: AnswerRef) -> None:
        member.begin()
        try:
            await self._claim_and_generate(member, ref)
        except (SupersededError, NotFound):
            log.info("another runner has %s", ref)
        except Unavailable as error:
            log.warning("%s stays pending: %s", ref, error.message)
        finally:
            member.end()

    async def _claim_and_generate(self, member: Member, ref: AnswerRef) -> None:
        if ref in self._claimed:
            return
        self._claimed.add(ref)
        try:
            if await self._bus.claim(ref, self._name):
                await self._generate_claimed(member, ref)
        finally:
            self._claimed.discard(ref)
            self._stopped_early.discard(ref)

    async def _generate_claimed(self, member: Member, ref: AnswerRef) -> None:
        try:
            work = await self._answers.load(ref)
            if work.state is AnswerState.PENDING:
                await self._generate(member, work)
        finally:
            self._runs.pop(ref, None)
            with suppress(Unavailable):
                await self._bus.release(ref, self._name)

    async def _generate(self, member: Member, work: Work) -> None:
        run = AnswerRun(work, member.engine, self._around)
        self._runs[work.ref] = run
        if work.ref in self._stopped_early:
            run.stop()
        outcome = await run.run()
        if outcome.state is AnswerState.FAILED:
            log.warning("%s failed to answer: %s", member.contestant.name, outcome.error)
            member.failed(outcome.error or "")
        elif outcome.state is AnswerState.DONE:
            member.succeeded()

    def _spawn(self, work: Awaitable[None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except AgonError:
                log.exception("an answer was lost to an error of ours; it stays pending")

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _shut_down(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._pool.close()
