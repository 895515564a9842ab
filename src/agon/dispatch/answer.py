"""One attempt at an answer, from a place at its engine to the ledger: text goes to the bus as it comes."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol

from agon.core.conversation import AnswerState
from agon.core.errors import EngineError, EngineTruncated, Unavailable
from agon.core.events import Fault, Packet, Said, Settled, Usage, Waiting
from agon.core.generation import Finish, FinishReason, GenerationRequest, Piece, is_resident
from agon.core.placement import AnswerRef
from agon.core.ports import AnswerLedger, Bus, Outcome, Work
from agon.core.splice import Splice, Stretch
from agon.core.text import storable
from agon.dispatch.endings import settle
from agon.dispatch.measures import Measures
from agon.dispatch.packets import PacketWriter
from agon.dispatch.policy import Policy
from agon.dispatch.pool import Member

_LATE = "deadline"
_LAST_WORDS_S = 2.0
_METERED_TOKENS = 8
"""Told of at once: telling of each would be a fifth of all the work here."""
_LOADING = "The model is being loaded."
_LOADING_TICK_S = 0.25


class MovedError(Exception):
    """The answer is to go on at another replica."""


class Meter(Protocol):
    """Takes note of how far a turn has come."""

    def spoke(self, ref: AnswerRef) -> None: ...

    def wrote(self, ref: AnswerRef, tokens: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every answer needs."""

    ledger: AnswerLedger
    bus: Bus
    policy: Policy
    meter: Meter
    measures: Measures
    monotonic_s: Callable[[], float]


class _Interrupt(Enum):
    STOP = auto()
    LATE = auto()
    MOVE = auto()


class AnswerRun:
    """Generates one answer. `run` returns its outcome once it is settled.

    One that is not `kept` is unknown to the ledger: all there is of it is in the stream.
    """

    def __init__(self, work: Work, member: Member, around: Surroundings, *, kept: bool = True) -> None:
        self._work = work
        self._member = member
        self._around = around
        self._kept = kept
        self._attempt = work.attempt
        self._said = Said()
        self._splice = Splice()
        self._opened = False
        self._finish: Finish | None = None
        self._writing: tuple[PacketWriter, asyncio.Task[None]] | None = None
        self._made_s = around.monotonic_s()
        self._begun_s: float | None = None
        self._spoke_s: float | None = None
        self._tokens = 0
        self._metered = 0
        self._interrupt: _Interrupt | None = None
        self._task: asyncio.Task[Outcome] | None = None
        """The task to interrupt; set only while there is something to be interrupted."""

    @property
    def attempt(self) -> int:
        return self._attempt

    @property
    def begun(self) -> bool:
        """Whether its engine was given it."""
        return self._begun_s is not None

    @property
    def speaking(self) -> bool:
        """Whether its engine is in the midst of it."""
        return self.spoke and self._task is not None

    @property
    def spoke(self) -> bool:
        return self._spoke_s is not None

    @property
    def tokens(self) -> int:
        """What this attempt has written."""
        return self._tokens

    @property
    def gap_s(self) -> float | None:
        """Mean time between two tokens."""
        if self._spoke_s is None or self._tokens < 2:
            return None
        return max(0.0, self.age_s - self._spoke_s) / (self._tokens - 1)

    @property
    def finish(self) -> Finish | None:
        return self._finish

    @property
    def age_s(self) -> float:
        """Since the turn was asked."""
        return self._work.age_s + self._around.monotonic_s() - self._made_s

    def stop(self) -> None:
        """The person wants no more of it."""
        self._interrupt_with(_Interrupt.STOP)

    def move(self) -> None:
        """It is to go on elsewhere."""
        self._interrupt_with(_Interrupt.MOVE)

    async def run(self) -> Outcome:
        """Raises `EngineError` if its engine fails, `MovedError` if it was told to: then it is not settled.

        Raises `SupersededError` if another runner has taken the answer over.
        """
        try:
            try:
                outcome = await self._until_interrupted()
            except EngineError:
                await self._last_words()
                raise
            await self._last_words()
            if outcome is None:
                outcome = self._interrupted()
            await self._conclude(outcome)
        finally:
            if self._writing is not None:
                self._writing[1].cancel()
            # The writer knows this object: apart, both go at once, and not when somebody collects garbage.
            self._writing = None
        return outcome

    async def give_up(self, error: EngineError, *, attempt: int | None = None) -> Outcome:
        """Settle the answer as failed, in the attempt that is the present one."""
        self._attempt = attempt or self._attempt
        outcome = self._outcome(AnswerState.FAILED, error=f"{error.code}: {error.message}")
        await self._conclude(outcome, Fault(error.code, error.message))
        return outcome

    def _interrupt_with(self, interrupt: _Interrupt) -> None:
        if self._interrupt is None:
            self._interrupt = interrupt
            if self._task is not None:
                self._task.cancel()

    async def _until_interrupted(self) -> Outcome | None:
        """The outcome of the generation, or `None` if something ended it early."""
        work, task = self._work, asyncio.current_task()
        assert task is not None
        remaining_s = self._around.policy.remaining_s(work.kind, self.age_s)
        if remaining_s == 0:
            self._interrupt_with(_Interrupt.LATE)
        if self._interrupt is not None:
            return None
        self._task = task
        timer = self._wind_up(remaining_s)
        try:
            async with self._member.place():
                return await self._generate()
        except asyncio.CancelledError:
            # If it came from outside, the runner is shutting down, and the answer stays pending for the next one.
            if self._interrupt is None or task.uncancel() > 0:
                raise
            return None
        finally:
            self._task = None
            if timer is not None:
                timer.cancel()

    def _wind_up(self, remaining_s: float | None) -> asyncio.TimerHandle | None:
        if remaining_s is None:
            return None
        return asyncio.get_running_loop().call_later(remaining_s, self._interrupt_with, _Interrupt.LATE)

    async def _generate(self) -> Outcome:
        if self._attempt > 1:
            await self._go_on()
        writer = PacketWriter(self._send, self._whole)
        self._writing = writer, asyncio.create_task(writer.run())
        loading = None if is_resident(self._member.engine) else asyncio.create_task(self._wait_for_model())
        if loading is None:
            self._begin()
        try:
            self._finish = await self._read(writer)
        finally:
            if loading is not None:
                loading.cancel()
        last = self._splice.close()
        if last is not None:
            writer.add(last)
        return self._done(self._finish)

    async def _go_on(self) -> None:
        """Find out what earlier attempts have sent: it is continued where the engine can, and repeated elsewhere."""
        with suppress(Unavailable):
            self._said = await self._around.bus.said(self._work.ref)
        self._splice = Splice(self._said.text, continues=self._continues)

    @property
    def _continues(self) -> bool:
        return self._member.contestant.prefill and bool(self._said.text)

    def _request(self) -> GenerationRequest:
        work = self._work
        request = replace(work.request, budget_s=self._around.policy.budget_s(work.kind, self.age_s))
        if not self._continues:
            return request
        sampling = replace(request.sampling, max_tokens=self._left)
        return replace(request, said=self._said.text, sampling=sampling)

    @property
    def _left(self) -> int:
        """Tokens that may follow what was said."""
        return max(0, self._work.request.sampling.max_tokens - self._said.tokens)

    async def _read(self, writer: PacketWriter) -> Finish:
        if self._continues and not self._left:
            return Finish(FinishReason.LENGTH)  # It was complete, and only its end is not in the ledger.
        async with aclosing(self._member.engine.generate(self._request())) as stream:
            async for item in stream:
                if isinstance(item, Finish):
                    return item
                self._take(item, writer)
        raise EngineTruncated("The engine's stream ended without saying why.")

    def _take(self, piece: Piece, writer: PacketWriter) -> None:
        if self._spoke_s is None:
            self._speak()
        self._tokens += piece.tokens
        if self._tokens - self._metered >= _METERED_TOKENS:
            self._meter()
        stretch = self._splice.feed(storable(piece.text), piece.tokens)
        if stretch is not None:
            writer.add(replace(stretch, logprobs=piece.logprobs) if piece.logprobs else stretch)

    def _meter(self) -> None:
        self._around.meter.wrote(self._work.ref, self._tokens - self._metered)
        self._metered = self._tokens

    def _begin(self) -> None:
        """From here on the time is the engine's."""
        self._begun_s = self.age_s
        self._around.measures.began(self._work.ref.contestant, waited_s=self._begun_s)

    def _speak(self) -> None:
        if self._begun_s is None:
            self._begin()
        self._spoke_s = self.age_s
        self._around.meter.spoke(self._work.ref)
        if not self._said.text:
            self._around.measures.spoke(self._work.ref.contestant, after_s=self._spoke_s)

    async def _wait_for_model(self) -> None:
        """Tell the watchers that the model has to be loaded first; that time is not the engine's."""
        ref = self._work.ref
        with suppress(Unavailable):
            await self._around.bus.append(ref.conversation, Waiting(ref.turn, ref.side, _LOADING))
        while not is_resident(self._member.engine):  # noqa: ASYNC110 - an engine tells nobody when it is there
            await asyncio.sleep(_LOADING_TICK_S)
        if self._begun_s is None:
            self._begin()

    def _whole(self) -> Stretch:
        return Stretch(0, self._splice.shown)

    @property
    def _shown_tokens(self) -> int:
        if self._continues:
            return self._said.tokens + self._tokens
        # While it only repeats what was said, that is what is shown.
        return self._said.tokens if len(self._splice.text) < len(self._splice.shown) else self._tokens

    async def _send(self, stretch: Stretch) -> None:
        ref, opening = self._work.ref, not self._opened
        if opening and stretch.offset > 0 and self._said.attempt != self._attempt - 1:
            # A watcher takes a later start only from the attempt before; an attempt in between has said nothing.
            stretch = Stretch(0, self._splice.shown[: stretch.offset]) + stretch
        packet = Packet(
            ref.turn,
            ref.side,
            self._attempt,
            stretch.offset,
            stretch.text,
            opening=opening,
            tokens=self._shown_tokens,
            logprobs=stretch.logprobs or None,
        )
        await self._around.bus.append(ref.conversation, packet)
        self._opened = True

    async def _last_words(self) -> None:
        """Tell what is left. If the bus stays away the answer ends all the same: the ledger will tell the watchers."""
        if self._tokens > self._metered:
            self._meter()
        if self._writing is not None:
            writer, writing = self._writing
            writer.finish()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_S):
                    await writing

    def _done(self, finish: Finish) -> Outcome:
        outcome = self._outcome(AnswerState.DONE, finish_reason=finish.reason.value)
        if self._continues:
            return outcome  # No engine has counted the whole of it.
        return replace(outcome, prompt_tokens=finish.prompt_tokens, completion_tokens=finish.completion_tokens)

    def _interrupted(self) -> Outcome:
        if self._interrupt is _Interrupt.MOVE:
            raise MovedError
        if self._interrupt is _Interrupt.STOP:
            return self._outcome(AnswerState.STOPPED, finish_reason="stopped")
        verdict = self._around.policy.late(self._work.kind, begun_s=self._begun_s)
        return self._outcome(verdict.state, error=_LATE)

    async def _conclude(self, outcome: Outcome, fault: Fault | None = None) -> None:
        """Raises `SupersededError`."""
        if self._kept:
            await settle(outcome, self._around.ledger, self._around.bus)
            return
        if fault is None and outcome.error == _LATE:
            fault = Fault(_LATE, "The answer was not complete in time.")
        ref, length = outcome.ref, len(outcome.text)
        settled = Settled(ref.turn, ref.side, outcome.attempt, outcome.state, length, outcome.finish_reason)
        with suppress(Unavailable):
            await self._around.bus.append(ref.conversation, replace(settled, usage=self._usage(outcome), fault=fault))

    def _usage(self, outcome: Outcome) -> Usage:
        cached = None if self._finish is None else self._finish.cached_tokens
        return Usage(outcome.prompt_tokens, outcome.completion_tokens, cached)

    def _outcome(self, state: AnswerState, *, finish_reason: str | None = None, error: str | None = None) -> Outcome:
        return Outcome(
            ref=self._work.ref,
            attempt=self._attempt,
            state=state,
            text=self._splice.shown,
            finish_reason=finish_reason,
            error=error,
            ttft_ms=None if self._spoke_s is None or self._said.text else self._spoke_s * 1000,
            duration_ms=self.age_s * 1000,
        )
