"""The way over the bus: a model inside a runner is asked, and its packets become an answer of OpenAI's API."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard
from uuid import uuid4

from agon.core.conversation import AnswerState, Side
from agon.core.errors import Busy, EngineError, EngineTimeout, EngineTruncated, Unavailable
from agon.core.events import Event, Fault, Follower, Packet, Settled
from agon.core.placement import AnswerRef, Job
from agon.core.ports import Bus, Dispatch
from agon.dispatch.clearing import Clearing
from agon.relay.answers import Answer, Whole
from agon.relay.asks import Ask
from agon.relay.chunks import DONE, Words
from agon.relay.generations import generation_of

log = logging.getLogger(__name__)

_REASONS = {"stop": "stop", "length": "length", "stopped": "stop"}


class Bused:
    """Has requests answered by runners. `silence_s` is how long one may say nothing; 0 is any time."""

    def __init__(
        self,
        dispatch: Dispatch,
        clearing: Clearing,
        bus: Bus,
        *,
        silence_s: float,
        answer_tokens: int,
        draw_seed: Callable[[], int],
    ) -> None:
        self._dispatch = dispatch
        self._clearing = clearing
        self._bus = bus
        self._silence_s = silence_s
        self._answer_tokens = answer_tokens
        self._draw_seed = draw_seed

    async def answer(self, ask: Ask, seed: int | None) -> Answer:
        """The answer once it has begun. Raises as `reserve`, and `EngineError` where the model could not answer."""
        request = generation_of(ask, seed=self._draw_seed() if seed is None else seed, max_tokens=self._answer_tokens)
        ref = AnswerRef(uuid4(), 1, Side.A, ask.model)
        job = Job(ref, ask.cost(), ask.prefix(), request=request)
        told = Told(ref, self._bus, self._silence_s)
        try:
            await self._hand_over(job, ask.client)
            words = Words(f"chatcmpl-{ref.conversation.hex}", ask.model, int(time.time()))
            if not ask.stream:
                return Whole(await _whole(told, words))
            stream = Packets(told, words, usage=ask.usage)
            await stream.begin()
        except Busy:
            # Nobody has it who would have to be told to stop.
            raise
        except BaseException:
            told.close()
            raise
        return stream

    async def _hand_over(self, job: Job, client: str) -> None:
        try:
            placements = await self._dispatch.reserve([job], client=client)
            self._clearing.hold(placements[0])
            await self._dispatch.send(placements)
        except Busy:
            raise
        except BaseException:
            # Whoever has it by now has it alone; what we still hold is given up.
            self._clearing.ended(job.ref)
            raise
        self._clearing.moved(job.ref)


class Told:
    """What the runner tells of one turn, in order. Close it, whatever happens: then the runner stops."""

    def __init__(self, ref: AnswerRef, bus: Bus, silence_s: float) -> None:
        self._ref = ref
        self._bus = bus
        self._silence_s = silence_s
        self._events = bus.watch(ref.conversation)
        self._follower = Follower()
        self._ready: deque[Packet | Settled] = deque()
        self._length = 0
        self._over = False
        self._closed = False

    async def next(self) -> Packet | Settled:
        """The next packet, going on where the last one ended, or the end of a good answer. Raises `EngineError`."""
        quiet_s = 0
        while not self._ready:
            event = await anext(self._events, None)
            if event is None:
                quiet_s += 1
                if self._silence_s and quiet_s > self._silence_s:
                    raise EngineTimeout("The model said nothing for too long.")
                continue
            quiet_s = 0
            self._ready.extend(sent.event for sent in self._follower.see(event) if _matters(sent.event))
            if self._follower.missing:
                raise EngineTruncated("A part of the answer was lost.")
        return self._checked(self._ready.popleft())

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            task = asyncio.get_running_loop().create_task(self._leave())
            _leaving.add(task)
            task.add_done_callback(_leaving.discard)

    def _checked(self, event: Packet | Settled) -> Packet | Settled:
        if isinstance(event, Packet):
            if event.offset < self._length:
                raise EngineTruncated("The answer began anew after a part of it had been sent.")
            self._length = event.end
            return event
        self._over = True
        if event.state not in (AnswerState.DONE, AnswerState.STOPPED):
            raise _failure(event.fault)
        return event

    async def _leave(self) -> None:
        try:
            if not self._over:
                await self._bus.stop([self._ref])
        except Unavailable as error:
            log.warning("%s", error.message)
        finally:
            await self._events.aclose()


_leaving: set[asyncio.Task[None]] = set()


class Packets:
    """A streamed answer, made of packets."""

    def __init__(self, told: Told, words: Words, *, usage: bool) -> None:
        self._told = told
        self._words = words
        self._usage = usage
        self._ready = b""
        self._over = False

    async def begin(self) -> None:
        """Wait for the first of it. Raises `EngineError`."""
        first = await self._more()
        self._ready = self._words.chunk({"role": "assistant", "content": ""}) + first

    async def next(self) -> bytes:
        if self._ready:
            ready, self._ready = self._ready, b""
            return ready
        return b"" if self._over else await self._more()

    def close(self) -> None:
        self._told.close()

    async def _more(self) -> bytes:
        event = await self._told.next()
        if isinstance(event, Packet):
            return self._words.chunk({"content": event.text}, logprobs=event.logprobs)
        self._over = True
        usage = self._words.usage_chunk(event.usage) if self._usage else b""
        return self._words.chunk({}, reason=_REASONS.get(event.finish_reason or "", "stop")) + usage + DONE


def _matters(event: Event) -> TypeGuard[Packet | Settled]:
    """A packet without words takes back what was said before a failure, which comes next and says more."""
    return isinstance(event, Settled) or (isinstance(event, Packet) and event.text != "")


async def _whole(told: Told, words: Words) -> bytes:
    texts: list[str] = []
    logprobs: list[Mapping[str, Any]] | None = None
    while isinstance(event := await told.next(), Packet):
        texts.append(event.text)
        if event.logprobs is not None:
            logprobs = [*(logprobs or []), *event.logprobs]
    told.close()
    return words.whole("".join(texts), _REASONS.get(event.finish_reason or "", "stop"), event.usage, logprobs)


def _failure(fault: Fault | None) -> EngineError:
    if fault is None:
        return EngineError("The model could not answer.")
    return EngineError(fault.message, code=fault.code)
