"""What a request comes to."""

import json
from typing import Protocol

from agon.core.errors import EngineError, EngineRejected
from agon.core.placement import AnswerRef
from agon.dispatch.clearing import Clearing
from agon.relay.cooling import Cooling
from agon.relay.passage import Passage, fields_of
from agon.relay.ports import Exchange


class Refused(EngineRejected):
    """The server found fault with the request itself, and says so to whoever sent it."""

    default_code = "request_refused"

    def __init__(self, message: str, *, status: int, field: str | None = None) -> None:
        super().__init__(message, field=field)
        self.status = status


class Overloaded(EngineRejected):
    """The server has too much to do, and may have said until when."""

    default_code = "engine_busy"

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Answer(Protocol):
    """An answer that has begun. Close it, whatever happens; closing early frees its place at once."""

    async def next(self) -> bytes:
        """More of it, as it goes to the client; empty at its end. Raises `EngineError` where it breaks off."""
        ...

    def close(self) -> None: ...


class Whole:
    """An answer in one piece."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def next(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def close(self) -> None:
        """It was over before it was handed out."""


class StreamTurn:
    """The turn behind a streamed answer: counted as it is written, over exactly once."""

    __slots__ = ("_clearing", "_cooling", "_over", "_ref", "_replica", "_spoke", "_told")

    def __init__(self, ref: AnswerRef, replica: str, clearing: Clearing, cooling: Cooling) -> None:
        self._ref = ref
        self._replica = replica
        self._clearing = clearing
        self._cooling = cooling
        self._spoke = False
        self._over = False
        self._told = 0

    def count(self, passage: Passage) -> None:
        if not passage.spoke:
            return
        if not self._spoke:
            self._spoke = True
            self._cooling.succeeded(self._replica)
            self._clearing.spoke(self._ref)
        self._clearing.wrote(self._ref, passage.tokens - self._told)
        self._told = passage.tokens

    def over(self, passage: Passage, *, whole: bool) -> None:
        if self._over:
            return
        self._over = True
        if passage.used is not None and self._spoke:
            self._clearing.wrote(self._ref, passage.used - self._told)
        self._clearing.ended(self._ref, tokens=(passage.used or passage.tokens) if whole else None)

    def failed(self) -> None:
        self._cooling.failed(self._replica)


class Stream:
    """A streamed answer as it comes from its server."""

    __slots__ = ("_exchange", "_passage", "_ready", "_turn")

    def __init__(self, exchange: Exchange, passage: Passage, turn: StreamTurn) -> None:
        self._exchange = exchange
        self._passage = passage
        self._turn = turn
        self._ready = b""

    async def begin(self) -> None:
        """Wait for the first of it. Raises `EngineError`; then nothing of it has gone to the client."""
        self._ready = await self._more()

    async def next(self) -> bytes:
        if self._ready:
            ready, self._ready = self._ready, b""
            return ready
        try:
            return await self._more()
        except EngineError:
            self._turn.failed()
            raise

    def close(self) -> None:
        self._exchange.close()
        self._turn.over(self._passage, whole=False)

    async def _more(self) -> bytes:
        passage = self._passage
        while not passage.done:
            if passage.fault is not None:
                raise passage.fault
            data = await self._exchange.read()
            if not data:
                if not passage.pending:
                    passage.finish()
                    break
                data = b"\n\n"
            ready = passage.feed(data)
            self._turn.count(passage)
            if ready:
                return ready
        # What follows the last word is not worth waiting for.
        self._exchange.leave()
        self._turn.over(passage, whole=True)
        return b""


def streamed(body: bytes, *, usage: bool) -> bytes:
    """An answer that came in one piece, as the stream that was asked for."""
    fields = fields_of(body)
    head = {"id": fields.get("id"), "object": "chat.completion.chunk", "created": fields.get("created", 0)}
    head["model"] = fields.get("model")
    choices = [
        {**{name: value for name, value in choice.items() if name != "message"}, "delta": choice.get("message")}
        for choice in fields["choices"]
    ]
    chunks = [{**head, "choices": choices}]
    if usage and fields.get("usage"):
        chunks.append({**head, "choices": [], "usage": fields["usage"]})
    lines = [json.dumps(chunk, ensure_ascii=False, separators=(",", ":")) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode("utf-8", "surrogatepass")
