"""Incremental parser of server-sent events, by the WHATWG standard."""

import re
from dataclasses import dataclass

from agon.core.errors import EngineRejected

MAX_LINE_BYTES = 1 << 20
MAX_EVENT_BYTES = 4 << 20

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class SseEvent:
    data: str
    event: str = "message"
    id: str = ""
    """The last event id seen up to and including this event."""


class SseParser:
    """Bytes in, whole events out, however the bytes were cut.

    An event is whole at its blank line; what follows the last blank line when the stream ends is dropped, as the
    standard says. Invalid UTF-8 becomes U+FFFD. A line or an event over its bound raises `EngineRejected` with the
    code `engine_stream_too_large`, and the parser must not be fed again.
    """

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._max_event_bytes = max_event_bytes
        self._partial = bytearray()
        self._skip_lf = False
        self._at_start = True
        self._data: list[str] = []
        self._data_bytes = 0
        self._event = ""
        self._id = ""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes of the stream and return the events they complete."""
        if not chunk:
            return []
        if self._skip_lf:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        # A CR ends its line at once; an LF that the next chunk may start with belongs to the same line end.
        self._skip_lf = chunk.endswith(b"\r")
        *complete, rest = _LINE_END.split(chunk)
        events: list[SseEvent] = []
        for piece in complete:
            self._extend_line(piece)
            event = self._take_line(bytes(self._partial))
            self._partial.clear()
            if event is not None:
                events.append(event)
        self._extend_line(rest)
        return events

    def _extend_line(self, piece: bytes) -> None:
        if len(self._partial) + len(piece) > self._max_line_bytes:
            raise _too_large("line", self._max_line_bytes)
        self._partial += piece

    def _take_line(self, line: bytes) -> SseEvent | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        self._take_field(name, value.removeprefix(b" "))
        return None

    def _take_field(self, name: bytes, value: bytes) -> None:
        match name:
            case b"data":
                self._data_bytes += len(value) + 1
                if self._data_bytes > self._max_event_bytes:
                    raise _too_large("event", self._max_event_bytes)
                self._data.append(_decode(value))
            case b"event":
                self._event = _decode(value)
            case b"id" if b"\0" not in value:
                self._id = _decode(value)
            case _:  # nobody comes back to an answer that broke off; comments and unknown fields are to be ignored
                pass

    def _dispatch(self) -> SseEvent | None:
        data, event = self._data, self._event
        self._data, self._data_bytes, self._event = [], 0, ""
        if not data:
            return None
        return SseEvent(data="\n".join(data), event=event or "message", id=self._id)


def _decode(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


def _too_large(what: str, limit: int) -> EngineRejected:
    return EngineRejected(f"The engine sent a {what} over {limit} bytes.", code="engine_stream_too_large")
