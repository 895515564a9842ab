"""Turns that go on elsewhere: their replica failed, their runner died, or the bus lost them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agon.core.conversation import AnswerState
from agon.core.errors import NotFound, Unavailable
from agon.core.events import Fault, Settled
from agon.core.placement import AnswerRef, Job
from agon.core.ports import AnswerLedger, Bus, Dispatch, Outcome
from agon.dispatch.clearing import Clearing
from agon.dispatch.costs import job_for
from agon.dispatch.endings import SupersededError, settle
from agon.dispatch.measures import Cause, Measures
from agon.dispatch.policy import Policy

log = logging.getLogger(__name__)

_AT_ONCE = 16
_STALE_S = 2.0
_MOST_DEATHS = 3
"""A turn with which so many executors have died may be what they die of."""


@dataclass(frozen=True, slots=True)
class Offices:
    """What turns are moved with."""

    ledger: AnswerLedger
    bus: Bus
    dispatch: Dispatch
    clearing: Clearing
    policy: Policy
    measures: Measures
    monotonic_s: Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Lost:
    """A turn that nobody has any longer."""

    ref: AnswerRef
    cause: Cause
    job: Job | None = None
    attempt: int | None = None
    """The one that is lost, where it is known: by another one somebody has come first."""


class Mover:
    """Gives turns to other replicas, and finds those that nobody has."""

    def __init__(self, offices: Offices) -> None:
        self._offices = offices
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def move(self, job: Job, cause: Cause) -> None:
        """Have a turn run by whoever is best for it now. Raises `Unavailable`; then nobody has it."""
        dispatch = self._offices.dispatch
        self._offices.measures.retried(cause)
        self._offices.clearing.moved(job.ref)
        await dispatch.send(await dispatch.reserve([job]))

    async def reap(self) -> None:
        """Take over what dead executors held."""
        jobs = await self._offices.dispatch.reap()
        await self._rescue_all([_Lost(job.ref, Cause.RUNNER_DIED, replace(job, deaths=job.deaths + 1)) for job in jobs])

    async def sweep(self) -> None:
        """Find answers that nobody works on although the ledger waits for them: the bus has lost them."""
        offices = self._offices
        stale = {answer.ref: answer.attempt for answer in await offices.ledger.stale(_STALE_S)}
        elsewhere = [ref for ref in stale if ref not in offices.clearing.holdings]
        lost = await offices.dispatch.unheld(elsewhere)
        await self._rescue_all([_Lost(ref, Cause.LOST, attempt=stale[ref]) for ref in lost])

    async def give_up(self, job: Job, error: Unavailable) -> None:
        """Nobody can run a turn: its answer has failed."""
        offices, ref = self._offices, job.ref
        if job.request is not None:
            fault = Fault(error.code, error.message)
            settled = Settled(ref.turn, ref.side, job.reruns + 1, AnswerState.FAILED, 0, fault=fault)
            await offices.bus.append(ref.conversation, settled)
        elif (work := await offices.ledger.load(ref)).state is AnswerState.PENDING:
            failed = Outcome(ref, work.attempt, AnswerState.FAILED, "", error=f"{error.code}: {error.message}")
            await settle(failed, offices.ledger, offices.bus)

    async def _rescue_all(self, turns: Sequence[_Lost]) -> None:
        """All of them, some at a time; what cannot be done now is found again later."""

        async def one(lost: _Lost) -> None:
            async with self._gate:
                try:
                    await self._rescue(lost)
                except (NotFound, SupersededError):
                    log.info("a turn was over already")
                except Unavailable as error:
                    log.warning("a turn stays where it is: %s", error.message)

        await asyncio.gather(*map(one, turns))

    async def _rescue(self, lost: _Lost) -> None:
        offices, ref, job = self._offices, lost.ref, lost.job
        if job is not None and job.deaths >= _MOST_DEATHS:
            await self.give_up(job, Unavailable("Its runners died one after the other.", code="engine_unreachable"))
            return
        if job is not None and job.request is not None:
            await self._rescue_request(job, lost.cause)
            return
        work = await offices.ledger.load(ref)
        if work.state is not AnswerState.PENDING or lost.attempt not in {None, work.attempt}:
            return
        if offices.policy.abandons(work.kind, work.age_s):
            late = Outcome(ref, work.attempt, AnswerState.FAILED, "", error="no runner took it in time")
            await settle(late, offices.ledger, offices.bus)
        # Whoever had it may live after all: of two attempts the ledger takes the later one.
        elif await offices.ledger.retry(ref, work.attempt, failed=False) is not None:
            job = job or job_for(ref, work.request)
            await self.move(replace(job, reruns=job.reruns + 1), lost.cause)

    async def _rescue_request(self, job: Job, cause: Cause) -> None:
        try:
            await self.move(replace(job, reruns=job.reruns + 1), cause)
        except Unavailable as error:
            await self.give_up(job, error)
