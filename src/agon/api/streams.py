"""Events as people are pushed them: over server-sent events and WebSocket alike."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, nullcontext, suppress
from typing import Any

from starlette.responses import StreamingResponse

from agon.api.leaving import departure, while_there
from agon.api.middleware import Receive, Scope, Send
from agon.arena.watching import Seat
from agon.core.conversation import AnswerState
from agon.core.errors import Unavailable
from agon.core.events import Event, Packet, Sent, Settled, Waiting
from agon.telemetry import Metrics

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
FAILED_MESSAGE = "This answer could not be completed."
FORFEITED_MESSAGE = "Model {side} ran out of time and loses this battle by forfeit."


def named(event: Event) -> tuple[str, dict[str, Any]]:
    """The event's public name and data. Nothing in it tells which model speaks."""
    if isinstance(event, Packet):
        return "packet", {
            "turn": event.turn,
            "side": event.side.value,
            "text": event.text,
            "offset": event.offset,
        }
    if isinstance(event, Settled):
        where = {"turn": event.turn, "side": event.side.value}
        if event.state is AnswerState.FAILED:
            return "failed", {**where, "message": FAILED_MESSAGE}
        if event.state is AnswerState.FORFEITED:
            return "forfeited", {**where, "message": FORFEITED_MESSAGE.format(side=event.side.value.upper())}
        return "done", {**where, "finish_reason": event.finish_reason}
    if isinstance(event, Waiting):
        return "waiting", {"turn": event.turn, "side": event.side.value, "message": event.words}
    return "void", {"reason": event.reason}


def encode(name: str, data: object, event_id: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if event_id is None else f"event: {name}\nid: {event_id}\n"
    return f"{head}data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


class EventStream(StreamingResponse):
    """Frames of server-sent events. One who goes away leaves their seat at once, also while nothing is written."""

    def __init__(self, frames: AsyncGenerator[bytes], metrics: Metrics, seat: Seat | None = None) -> None:
        super().__init__(frames, media_type="text/event-stream", headers=HEADERS)
        self._frames = frames
        self._metrics = metrics
        self._seat = seat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        self._metrics.streams.inc()
        try:
            async with self._seat or nullcontext() as seat:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                if not await while_there(departure(receive), self._write(send)) and seat is not None:
                    seat.went()
        finally:
            self._metrics.streams.dec()

    async def _write(self, send: Send) -> None:
        # When a store is away the headers are out already: the stream ends, and the client comes back with its last
        # event id.
        with suppress(Unavailable):
            async with aclosing(self._frames) as frames:
                async for frame in frames:
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def conversation_frames(sent: AsyncIterator[Sent | None]) -> AsyncGenerator[bytes]:
    """The frames of a conversation; a comment whenever it is quiet, so that proxies keep it open."""
    yield b": hello\n\n"
    async for item in sent:
        if item is None:
            yield b": quiet\n\n"
        else:
            name, data = named(item.event)
            yield encode(name, data, item.position.encode())
