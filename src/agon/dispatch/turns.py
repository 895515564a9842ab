"""The turns of one runner, from their arrival to their end or to another replica."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace

from agon.core.contestants import EngineState
from agon.core.conversation import AnswerState, Kind
from agon.core.errors import AgonError, EngineError, NotFound, Unavailable
from agon.core.placement import AnswerRef, Job, Placement
from agon.core.ports import Outcome, Work
from agon.dispatch.answer import AnswerRun, MovedError, Surroundings
from agon.dispatch.budget import RetryBudget
from agon.dispatch.endings import SupersededError
from agon.dispatch.measures import Cause
from agon.dispatch.moving import Mover, Offices
from agon.dispatch.policy import Verdict, blames_request, is_backpressure
from agon.dispatch.pool import EnginePool, Member

log = logging.getLogger(__name__)

_STOPS_KEPT_S = 10.0
_MOST_AVOIDED = 8
_NOBODY = "model_not_ready"


@dataclass(slots=True, eq=False)
class _Turn:
    """A turn that is here."""

    job: Job
    member: Member
    run: AnswerRun | None = None
    stopped: bool = False
    moving: bool = False
    heard: int = 0
    """Tokens that it had written when that was last looked at."""
    silent_s: float = 0.0
    """How long it has written no more than that."""
    silence_s: float | None = None
    """How long it may."""
    tokens: int | None = None
    """What it wrote, if it came to its own end."""
    task: asyncio.Task[None] | None = None

    def hangs(self, passed_s: float) -> bool:
        """Look at it after so much time; returns whether it has been silent for too long."""
        if self.run is None or self.silence_s is None or not self.run.speaking:
            return False
        self.silent_s = self.silent_s + passed_s if self.run.tokens == self.heard else 0.0
        self.heard = self.run.tokens
        return self.silent_s > self.silence_s


@dataclass(frozen=True, slots=True)
class _Move:
    job: Job
    cause: Cause
    pause_s: float = 0.0


class Turns:
    """Runs what is sent to this runner. `chance` draws from [0, 1)."""

    def __init__(self, offices: Offices, pool: EnginePool, mover: Mover, chance: Callable[[], float]) -> None:
        self._offices = offices
        self._pool = pool
        self._mover = mover
        self._chance = chance
        self._around = Surroundings(
            ledger=offices.ledger,
            bus=offices.bus,
            policy=offices.policy,
            meter=offices.clearing,
            measures=offices.measures,
            monotonic_s=offices.monotonic_s,
        )
        self._budget = RetryBudget()
        self._turns: dict[AnswerRef, _Turn] = {}
        self._stops: dict[AnswerRef, float] = {}
        """Of turns that are not here, or not yet: a stop may overtake its turn."""
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def take(self, placement: Placement) -> None:
        """Run a turn that was sent here, or move it on."""
        job = placement.job
        before = self._turns.get(job.ref)
        if before is not None and before.run is not None:
            self._spawn(self._take_again(placement, before, before.run))
        else:
            self._begin(placement)

    async def _take_again(self, placement: Placement, before: _Turn, run: AnswerRun) -> None:
        """A turn that runs here has come once more."""
        with suppress(NotFound, Unavailable):
            if (await self._load(placement.job)).attempt > run.attempt:
                # It was given out while this runner seemed dead.
                self._begin(placement)
                return
        # Redis came back from its disk, and has forgotten that it was taken.
        if self._turns.get(placement.job.ref) is not before:
            self._offices.clearing.ended(placement.job.ref)

    def _begin(self, placement: Placement) -> None:
        job = placement.job
        before = self._turns.pop(job.ref, None)
        if before is not None and before.task is not None:
            before.task.cancel()
        self._offices.clearing.hold(placement)
        member = self._pool.get(placement.replica)
        if member is None or not member.usable:
            self._spawn(self._move_on(_Move(_avoiding(job, placement.replica), Cause.MOVED)))
            return
        turn = _Turn(job, member)
        self._turns[job.ref] = turn
        turn.task = self._spawn(self._work(turn))

    def stop(self, ref: AnswerRef) -> None:
        """The person wants no more of it."""
        turn = self._turns.get(ref)
        if turn is None:
            self._stops[ref] = self._offices.monotonic_s()
        else:
            turn.stopped = True
            if turn.run is not None:
                turn.run.stop()

    def forget_stops(self) -> None:
        """Drop stops of turns that never came."""
        oldest_s = self._offices.monotonic_s() - _STOPS_KEPT_S
        self._stops = {ref: at_s for ref, at_s in self._stops.items() if at_s > oldest_s}

    def leave(self, member: Member) -> None:
        """Its replica can no longer be waited for: what has not begun there goes elsewhere."""
        for turn in self._turns.values():
            if turn.member is member and not (turn.run is not None and turn.run.begun):
                _move(turn)

    def leave_the_silent(self, passed_s: float) -> None:
        """What hangs in the midst of an answer goes on at another replica, if one is ready.

        Called after each `passed_s`, by which silence is measured: while this runner stands still, it hears nothing.
        """
        now_s = self._offices.monotonic_s()
        for turn in self._turns.values():
            if turn.moving or not turn.hangs(passed_s) or not self._has_other(turn.member):
                continue
            if self._budget.take(now_s):
                _move(turn)
                if turn.member.failed("It has fallen silent in the midst of an answer.", now_s, self._chance()):
                    self.leave(turn.member)

    def _has_other(self, member: Member) -> bool:
        name = member.contestant.name
        return any(
            other is not member and other.contestant.name == name and other.state is EngineState.READY
            for other in self._pool.members
        )

    def leave_all(self) -> None:
        """Everything goes on elsewhere, from where it is."""
        for turn in self._turns.values():
            _move(turn)

    async def idle(self) -> None:
        """Wait until nothing is here any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Drop everything; it stays pending for whoever finds it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an answer was lost to an error of ours; it stays pending", exc_info=error)

    async def _work(self, turn: _Turn) -> None:
        ref, move, is_here = turn.job.ref, None, False
        over = True
        try:
            move = await self._answer(turn)
        except (SupersededError, NotFound):
            log.info("another runner has %s", ref)
        except Unavailable as error:
            log.warning("%s stays pending: %s", ref, error.message)
        except asyncio.CancelledError:
            over = False  # The runner ends, and whoever finds it dead takes the turn over.
            raise
        finally:
            is_here = self._turns.get(ref) is turn
            if is_here:
                del self._turns[ref]
                if move is None and over:
                    self._offices.clearing.ended(ref, tokens=turn.tokens)
        if move is not None and is_here:
            await self._move_on(move)

    async def _move_on(self, move: _Move) -> None:
        job = move.job
        try:
            if move.pause_s:
                await asyncio.sleep(move.pause_s)
            await self._mover.move(job, move.cause)
        except Unavailable as error:
            self._offices.clearing.ended(job.ref)
            log.warning("%s cannot go on elsewhere: %s", job.ref, error.message)
            # If it was no failure, the turn stays pending until there is somebody again, or its time is over.
            if job.request is not None or (error.code == _NOBODY and move.cause is Cause.FAILED):
                await self._give_up(job, error)

    async def _give_up(self, job: Job, error: Unavailable) -> None:
        try:
            await self._mover.give_up(job, error)
        except SupersededError:
            log.info("another runner has %s", job.ref)
        except AgonError as worse:
            log.warning("%s stays pending: %s", job.ref, worse.message)

    async def _answer(self, turn: _Turn) -> _Move | None:
        """Run a turn to its end; returns where it goes on if that is not here."""
        job = turn.job
        work = await self._load(job)
        if work.state is not AnswerState.PENDING:
            return None
        self._offices.clearing.holdings.bound(job.ref, work.request.sampling.max_tokens)
        run = AnswerRun(work, turn.member, self._around, kept=job.request is None)
        turn.run, turn.silence_s = run, self._offices.policy.silence_s(work.kind)
        if turn.stopped or self._was_stopped(work, kept=job.request is None):
            run.stop()
        if turn.moving:
            run.move()
        if not job.reruns:
            self._budget.began()
        try:
            outcome = await run.run()
        except MovedError:
            return await self._moved(turn, work, run)
        except EngineError as error:
            return await self._failed(turn, work, run, error)
        self._ended(turn, run, outcome)
        return None

    async def _load(self, job: Job) -> Work:
        if job.request is None:
            return await self._offices.ledger.load(job.ref)
        return Work(
            ref=job.ref,
            kind=Kind.CHAT,
            attempt=job.reruns + 1,
            failures=job.reruns,
            state=AnswerState.PENDING,
            request=job.request,
            age_s=0.0,
        )

    def _was_stopped(self, work: Work, *, kept: bool) -> bool:
        """Whether it was stopped before it came here, and since it was asked for."""
        stopped_s = self._stops.pop(work.ref, None)
        if stopped_s is None:
            return False
        return not kept or self._offices.monotonic_s() - stopped_s < work.age_s

    async def _moved(self, turn: _Turn, work: Work, run: AnswerRun) -> _Move:
        if run.begun:
            await self._begin_attempt(turn.job, work, failed=False)
        job = _avoiding(turn.job, turn.member.replica)
        return _Move(replace(job, reruns=job.reruns + run.begun), Cause.MOVED)

    async def _failed(self, turn: _Turn, work: Work, run: AnswerRun, error: EngineError) -> _Move | None:
        offices, member, now_s = self._offices, turn.member, self._offices.monotonic_s()
        is_again = member.replica in turn.job.avoid
        job = _avoiding(turn.job, member.replica)
        job = replace(job, reruns=job.reruns + 1)
        if is_backpressure(error):
            if offices.policy.verdict(work.kind, age_s=run.age_s, begun_s=None) is Verdict.IN_TIME:
                await self._begin_attempt(job, work, failed=False)
                return _Move(job, Cause.BUSY, offices.policy.pause_s(turn.job.reruns))
        else:
            blameless = blames_request(error, ours=job.request is None)
            if not blameless and member.failed(f"{error.code}: {error.message}", now_s, self._chance()):
                self.leave(member)
            failures = work.failures + 1
            goes_on = offices.policy.reruns(work.kind, error, failures=failures, age_s=run.age_s, again=is_again)
            if goes_on and not turn.stopped and self._budget.take(now_s):
                await self._begin_attempt(job, work, failed=True)
                return _Move(job, Cause.FAILED)
        self._ended(turn, run, await run.give_up(error))
        return None

    async def _begin_attempt(self, job: Job, work: Work, *, failed: bool) -> None:
        """What was sent is stale from now on, wherever it goes on. Raises `SupersededError`."""
        if job.request is None:
            attempt = await self._offices.ledger.retry(job.ref, work.attempt, failed=failed)
            if attempt is None:
                raise SupersededError

    def _ended(self, turn: _Turn, run: AnswerRun, outcome: Outcome) -> None:
        offices, contestant = self._offices, turn.job.ref.contestant
        offices.measures.ended(contestant, outcome.state, gap_s=run.gap_s)
        match outcome.state:
            case AnswerState.DONE:
                turn.member.succeeded(offices.monotonic_s())
                turn.tokens = run.tokens
                if run.finish is not None:
                    offices.measures.finished(contestant, run.finish)
            case AnswerState.FAILED:
                log.warning("%s failed to answer: %s", contestant, outcome.error)
            case AnswerState.FORFEITED if not run.spoke:
                silent = "it has not said a word until the deadline"
                if turn.member.failed(silent, offices.monotonic_s(), self._chance()):
                    self.leave(turn.member)
            case _:
                pass
        if run.begun and outcome.state is not AnswerState.DONE:
            offices.measures.cancelled(contestant)


def _move(turn: _Turn) -> None:
    turn.moving = True
    if turn.run is not None:
        turn.run.move()


def _avoiding(job: Job, replica: str) -> Job:
    return replace(job, avoid=(*(each for each in job.avoid if each != replica), replica)[-_MOST_AVOIDED:])
