"""One answer from claim to ledger: text to the bus as it comes, one retry, then the end."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from agon.core.conversation import AnswerState
from agon.core.errors import EngineError, EngineTruncated, Unavailable
from agon.core.events import Packet, Settled, Void
from agon.core.generation import Engine, Finish
from agon.core.ports import AnswerLedger, Bus, Outcome, Work
from agon.core.splice import Splice, Stretch
from agon.core.text import storable
from agon.dispatch.packets import PacketWriter
from agon.dispatch.policy import Policy

_RETRY_DELAY_S = 0.2
_LAST_WORDS_S = 2.0


class SupersededError(Exception):
    """Another runner has taken the answer over; whatever this one has is stale."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every answer needs."""

    ledger: AnswerLedger
    bus: Bus
    policy: Policy
    monotonic_s: Callable[[], float]


class AnswerRun:
    """Generates one answer. `run` returns its outcome after the ledger has it."""

    def __init__(self, work: Work, engine: Engine, around: Surroundings) -> None:
        self._work = work
        self._engine = engine
        self._around = around
        self._attempt = work.attempt
        self._failures = work.failures
        self._text = ""
        self._opened = 0
        self._begun_s = around.monotonic_s()
        self._first_token_ms: float | None = None
        self._stopped = False
        self._generation: asyncio.Task[Outcome] | None = None

    def stop(self) -> None:
        """The person wants no more of it."""
        self._stopped = True
        if self._generation is not None:
            self._generation.cancel()

    async def run(self) -> Outcome:
        """Raises `SupersededError` if another runner has taken the answer over."""
        self._generation = asyncio.create_task(self._attempts())
        if self._stopped:
            self._generation.cancel()
        try:
            async with asyncio.timeout(self._around.policy.remaining_s(self._work.kind, self._work.age_s)):
                outcome = await self._generation
        except TimeoutError:
            outcome = self._outcome(AnswerState.FAILED, error="deadline")
        except asyncio.CancelledError:
            if not self._stopped:
                raise  # The runner is shutting down; the answer stays pending for the next one.
            outcome = self._outcome(AnswerState.STOPPED, finish_reason="stopped")
        await self._conclude(outcome)
        return outcome

    async def _attempts(self) -> Outcome:
        while True:
            try:
                finish = await self._attempt_once()
            except EngineError as error:
                self._failures += 1
                if not self._around.policy.retries(self._failures):
                    return self._outcome(AnswerState.FAILED, error=f"{error.code}: {error.message}")
                await self._next_attempt()
                continue
            return replace(
                self._outcome(AnswerState.DONE, finish_reason=finish.reason.value),
                prompt_tokens=finish.prompt_tokens,
                completion_tokens=finish.completion_tokens,
            )

    async def _attempt_once(self) -> Finish:
        splice = Splice(self._text)
        writer = PacketWriter(self._send, lambda: self._text)
        writing = asyncio.create_task(writer.run())
        try:
            finish = await self._generate(splice, writer)
            last = splice.close()
            self._text = splice.text
            if last is not None:
                writer.add(last, 1)
        except EngineError:
            await _last_words(writer, writing)
            raise
        else:
            await _last_words(writer, writing)
            return finish
        finally:
            writing.cancel()

    async def _generate(self, splice: Splice, writer: PacketWriter) -> Finish:
        budget_s = self._around.policy.budget_s(self._work.kind, self._age_ms() / 1000)
        stream = self._engine.generate(replace(self._work.request, budget_s=budget_s))
        async with aclosing(stream):
            async for item in stream:
                if isinstance(item, Finish):
                    return item
                if self._first_token_ms is None:
                    self._first_token_ms = self._age_ms()
                stretch = splice.feed(storable(item.text))
                if stretch is not None:
                    self._text = self._text[: stretch.offset] + stretch.text
                    writer.add(stretch, item.tokens)
        raise EngineTruncated("The engine's stream ended without saying why.")

    async def _next_attempt(self) -> None:
        attempt = await self._around.ledger.retry(self._work.ref, self._attempt, failed=True)
        if attempt is None:
            raise SupersededError
        self._attempt = attempt
        await asyncio.sleep(_RETRY_DELAY_S)

    async def _send(self, stretch: Stretch) -> None:
        ref = self._work.ref
        opening = self._opened != self._attempt
        packet = Packet(ref.turn, ref.side, self._attempt, stretch.offset, stretch.text, opening=opening)
        await self._around.bus.append(ref.conversation, packet)
        self._opened = self._attempt

    async def _conclude(self, outcome: Outcome) -> None:
        """The ledger first; then whoever watches is told. Raises `SupersededError`."""
        settlement = await self._around.ledger.settle(outcome)
        if not settlement.written:
            raise SupersededError
        ref = outcome.ref
        settled = Settled(ref.turn, ref.side, outcome.attempt, outcome.state, len(outcome.text), outcome.finish_reason)
        with suppress(Unavailable):  # Without the bus the watchers find it in the ledger.
            if settlement.void_reason is not None:
                # Before the end of the side: a watcher may leave when every side has ended.
                await self._around.bus.append(ref.conversation, Void(settlement.void_reason))
            await self._around.bus.append(ref.conversation, settled)

    def _outcome(self, state: AnswerState, *, finish_reason: str | None = None, error: str | None = None) -> Outcome:
        return Outcome(
            ref=self._work.ref,
            attempt=self._attempt,
            state=state,
            text=self._text,
            finish_reason=finish_reason,
            error=error,
            ttft_ms=self._first_token_ms,
            duration_ms=self._age_ms(),
        )

    def _age_ms(self) -> float:
        return (self._work.age_s + self._around.monotonic_s() - self._begun_s) * 1000


async def _last_words(writer: PacketWriter, writing: asyncio.Task[None]) -> None:
    """Send what is left. If the bus stays away the answer ends all the same: the ledger will tell the watchers."""
    writer.finish()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS_S):
            await writing
