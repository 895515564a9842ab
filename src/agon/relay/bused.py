"""The way over the bus: a model inside a runner is asked, and its packets become an answer of OpenAI's API."""

import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from agon.core.conversation import Side
from agon.core.errors import Busy
from agon.core.events import Packet
from agon.core.placement import AnswerRef, Job
from agon.core.ports import Bus, Dispatch
from agon.dispatch.clearing import Clearing
from agon.dispatch.told import Told, hand_over
from agon.relay.answers import Answer, Whole
from agon.relay.asks import Ask
from agon.relay.chunks import DONE, Words
from agon.relay.generations import generation_of

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
            await hand_over(job, self._dispatch, self._clearing, client=ask.client)
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


async def _whole(told: Told, words: Words) -> bytes:
    texts: list[str] = []
    logprobs: list[Mapping[str, Any]] | None = None
    while isinstance(event := await told.next(), Packet):
        texts.append(event.text)
        if event.logprobs is not None:
            logprobs = [*(logprobs or []), *event.logprobs]
    told.close()
    return words.whole("".join(texts), _REASONS.get(event.finish_reason or "", "stop"), event.usage, logprobs)
