"""One HTTP/1.1 connection to an engine's server, carrying one exchange at a time.

It knows just what passing requests on takes: no redirects, cookies, compression or trailers.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import httptools

from agon.core.errors import EngineError, EngineRejected, EngineTruncated, EngineUnreachable
from agon.engines.answer import error_detail, parse_object
from agon.engines.faults import refused

_HIGH_WATER_BYTES = 1 << 18
"""When so much waits to be read, the server is made to wait as well."""
_MAX_PROBLEM_BYTES = 64 << 10
_WANTED = {12: b"content-type", 11: b"retry-after", 14: b"content-length", 17: b"transfer-encoding"}
"""The headers that are looked at, by their length: most can be told apart from these without a comparison."""


class Exchange:
    """One request and its response. Read it to its end, or close it: then its connection is dropped."""

    __slots__ = (
        "_chunks",
        "_connection",
        "_error",
        "_size",
        "_waiter",
        "_whole",
        "complete",
        "content_type",
        "left",
        "paused",
        "retry_after",
        "status",
    )

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._chunks: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self._whole = False
        self.paused = False
        """Whether the server has to wait until somebody reads."""
        self._error: EngineError | None = None
        self.status = 0
        """0 until the response has begun."""
        self.content_type = b""
        self.retry_after = b""
        self.complete = False
        self.left = False

    async def begun(self) -> None:
        """Wait for the head of the response. Raises `EngineError`."""
        while not self.status:
            if self._error is not None:
                raise self._error
            await self._wait()

    async def read(self) -> bytes:
        """Whatever has come of the body, waiting for the first of it; empty at its end. Raises `EngineError`."""
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self.complete:
                return b""
            await self._wait()
        return self._taken()

    async def whole(self, limit: int) -> bytes:
        """What is left of the body, which is bounded. Raises `EngineError`."""
        self._whole = True
        while not self.complete and self._error is None and self._size <= limit:
            await self._wait()
        if self._error is not None:
            raise self._error
        if self._size > limit:
            self.close()
            raise EngineRejected(f"The engine sent an answer over {limit} bytes.", code="engine_stream_too_large")
        return self._taken()

    async def refused(self, secret: str | None) -> EngineError:
        """What its status means, with the secret kept out of the words. Raises `EngineError` as reading does."""
        try:
            words = error_detail(parse_object(await self.whole(_MAX_PROBLEM_BYTES)), secret=secret)
        except EngineRejected:
            words = ""
        return refused(self.status, words)

    def leave(self) -> None:
        """Nobody reads on. The connection is kept if the response ends in a moment."""
        self.left = True
        self._taken()

    def close(self) -> None:
        """Drop the connection, and with it the work in the engine, unless the response was complete."""
        if not self.complete and not self.left and self._error is None:
            self.fail(EngineUnreachable("The exchange was closed.", code="engine_closed"))
            self._connection.abort()

    def fail(self, error: EngineError) -> None:
        self._error = error
        self.wake()

    def put(self, body: bytes) -> None:
        if self.left:
            return
        self._chunks.append(body)
        self._size += len(body)
        if self._size > _HIGH_WATER_BYTES and not self._whole and not self.paused:
            self.paused = True
            self._connection.pause(paused=True)

    def wake(self) -> None:
        """Resume whoever waits, if there is something for them."""
        waiter = self._waiter
        if waiter is not None and (not self._whole or self.complete or self._error or self._size > _MOST):
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    async def _wait(self) -> None:
        self._waiter = self._connection.loop.create_future()
        await self._waiter

    def _taken(self) -> bytes:
        chunks = self._chunks
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        self._size = 0
        if self.paused:
            self.paused = False
            self._connection.pause(paused=False)
        return body


_MOST = 1 << 22
"""Bytes after which whoever reads the whole body is asked whether that is too much."""


class Connection(asyncio.Protocol):
    """Tells `on_idle` when it can be used again, `on_gone` when it cannot be used any more."""

    def __init__(self, on_idle: "Callable[[Connection], None]", on_gone: "Callable[[Connection], None]") -> None:
        self.loop = asyncio.get_running_loop()
        self.reused = False
        """Whether an exchange before this one has gone well on it."""
        self._stirred = True
        self._quiet_since_s = 0.0
        self._on_idle = on_idle
        self._on_gone = on_gone
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._parser: Any = httptools.HttpResponseParser(self)
        self._framed = False
        self._surplus = False
        self._keeps = False

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def exchange(self) -> Exchange | None:
        return self._exchange

    def send(self, request: bytes) -> Exchange:
        """Begin an exchange. The connection must be usable and idle."""
        assert self._transport is not None
        exchange = self._exchange = Exchange(self)
        self._framed = False
        self._stirred = True
        self._transport.write(request)
        return exchange

    def quiet_s(self) -> float:
        """Seconds since something was sent or came, as far as those who ask now and then can tell."""
        now_s = self.loop.time()
        if self._stirred or (self._exchange is not None and self._exchange.paused):
            self._stirred = False
            self._quiet_since_s = now_s
        return now_s - self._quiet_since_s

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def pause(self, *, paused: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:
            self.abort()
            return
        self._stirred = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not exchange.complete:
                exchange.fail(EngineRejected("The engine does not speak HTTP.", code="engine_garbage"))
            self.abort()
            return
        if exchange.complete:
            self._retire(exchange)
        exchange.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        exchange, self._exchange = self._exchange, None
        self._parser = None
        self._on_gone(self)
        if exchange is None or exchange.complete:
            return
        if exchange.status and not self._framed and exc is None:
            # A response without a length ends with its connection.
            exchange.complete = True
            exchange.wake()
        elif exchange.status:
            exchange.fail(EngineTruncated("The engine's answer broke off."))
        else:
            exchange.fail(EngineUnreachable("The engine closed the connection before it answered."))

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._surplus = self._exchange is not None and self._exchange.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        wanted = _WANTED.get(len(name))
        exchange = self._exchange
        if wanted is None or exchange is None or self._surplus or name.lower() != wanted:
            return
        if wanted == b"content-type":
            exchange.content_type = value.lower()
        elif wanted == b"retry-after":
            exchange.retry_after = value
        else:
            self._framed = True

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._surplus:
            return
        if self._exchange is not None and status >= 200:
            self._exchange.status = status
            self._framed = self._framed or status in {204, 304}
        else:
            self._framed = False

    def on_body(self, body: bytes) -> None:
        if self._exchange is not None and not self._surplus:
            self._exchange.put(body)

    def on_message_complete(self) -> None:
        # An interim response, such as 100 Continue, is a message of its own and no answer yet.
        if self._exchange is not None and self._exchange.status and not self._surplus:
            self._exchange.complete = True
            self._keeps = self._parser.should_keep_alive()

    def _retire(self, exchange: Exchange) -> None:
        """The response is there: the next request may have the connection."""
        self._exchange = None
        if exchange.paused:
            exchange.paused = False
            self.pause(paused=False)
        if self._keeps and not self._surplus and self.usable:
            self.reused = True
            self._on_idle(self)
        else:
            self.abort()
