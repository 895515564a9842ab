"""Servers of engines, to which requests are passed on as they are, over connections that are kept and used again."""

import asyncio
import ssl
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from yarl import URL

from agon.core.errors import EngineTimeout, EngineUnreachable
from agon.engines.openai_http import chat_url, clean_key
from agon.engines.upstream_connection import Connection, Exchange

_CONNECT_S = 5.0
_KEEPALIVE_S = 3.0
"""Under the 5 s after which common servers drop idle connections."""
_ENDING_S = 1.0
"""For the end of a response that nobody reads any further."""
_SWEEP_S = 0.5


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int
    head: bytes
    """Of every request, up to the value of its content's length."""
    context: ssl.SSLContext | None = field(repr=False)

    @classmethod
    def of(cls, url: str, key: str | None) -> "Address":
        """Raises `InvalidInput` for what is no plain HTTP address or key."""
        target: URL = chat_url(url)
        key = clean_key(key)
        assert target.host is not None
        assert target.port is not None
        head = (
            f"POST {target.raw_path} HTTP/1.1\r\nHost: {target.authority}\r\nContent-Type: application/json\r\n"
            "Accept: text/event-stream, application/json\r\nAccept-Encoding: identity\r\nUser-Agent: agon\r\n"
            + (f"Authorization: Bearer {key}\r\n" if key else "")
            + "Content-Length: "
        )
        context = ssl.create_default_context() if target.scheme == "https" else None
        return cls(target.host, target.port, head.encode("latin-1"), context)


class Upstream:
    """One server. At most `limit` exchanges run at a time; further ones wait for their turn."""

    def __init__(self, address: Address, *, limit: int, silence_s: float) -> None:
        self.limit = limit
        self._address = address
        self._silence_s = silence_s
        self._idle: deque[Connection] = deque()
        self._connections: set[Connection] = set()
        self._connecting = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def busy(self) -> int:
        """How many exchanges run."""
        return len(self._connections) - len(self._idle) + self._connecting

    async def post(self, body: bytes) -> Exchange:
        """Send the body of a chat completion; returns when the response has begun. Close what comes back.

        Raises `EngineUnreachable` where none began, `EngineTimeout` where the server was silent for too long.
        """
        request = b"%b%d\r\n\r\n%b" % (self._address.head, len(body), body)
        while self.busy >= self.limit:
            await self._wait()
        while True:
            connection = self._take_idle() or await self._connect()
            exchange = connection.send(request)
            try:
                await exchange.begun()
            except EngineUnreachable:
                # A kept connection that the server has just given up: nothing was lost, a new one will do.
                if not connection.reused:
                    raise
            except BaseException:
                exchange.close()
                raise
            else:
                return exchange

    def sweep(self) -> None:
        """Give up servers that have been silent for too long, and connections that nobody needed for a while."""
        for connection in list(self._connections):
            quiet_s = connection.quiet_s()
            if connection.exchange is None:
                if quiet_s > _KEEPALIVE_S:
                    connection.abort()
            elif connection.exchange.left:
                if quiet_s > _ENDING_S:
                    connection.abort()
            elif self._silence_s and quiet_s > self._silence_s:
                connection.exchange.fail(EngineTimeout(f"The engine was silent for {self._silence_s:.0f} s."))
                connection.abort()

    def close(self) -> None:
        self._closed = True
        for connection in self._connections:
            connection.abort()

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def _connect(self) -> Connection:
        if self._closed:
            raise EngineUnreachable("This engine was closed.", code="engine_closed")
        address = self._address
        self._connecting += 1
        try:
            async with asyncio.timeout(_CONNECT_S):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(self._on_idle, self._on_gone),
                    address.host,
                    address.port,
                    ssl=address.context,
                )
        except BaseException as error:
            self._connecting -= 1
            self._wake_next()
            if isinstance(error, OSError | ValueError):
                raise EngineUnreachable(f"The engine cannot be reached ({type(error).__name__}).") from None
            raise
        self._connecting -= 1
        self._connections.add(connection)
        return connection

    async def _wait(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._wake_next()
            with suppress(ValueError):
                self._waiting.remove(turn)
            raise

    def _wake_next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            # One who gives up in this very turn of the loop is still in the queue.
            if not turn.done():
                turn.set_result(None)
                return

    def _on_idle(self, connection: Connection) -> None:
        self._idle.append(connection)
        self._wake_next()

    def _on_gone(self, connection: Connection) -> None:
        self._connections.discard(connection)
        with suppress(ValueError):
            self._idle.remove(connection)
        self._wake_next()


class Upstreams:
    """All servers that one process passes requests on to. `silence_s` is 0 for any length of silence."""

    def __init__(self, *, silence_s: float) -> None:
        self._silence_s = silence_s
        self._upstreams: dict[tuple[str, str | None], Upstream] = {}
        self._sweeping: asyncio.Task[None] | None = None

    def get(self, url: str, key: str | None, limit: int) -> Upstream:
        """The server at an address. Raises `InvalidInput` for what is no address or key."""
        upstream = self._upstreams.get((url, key))
        if upstream is None:
            upstream = Upstream(Address.of(url, key), limit=limit, silence_s=self._silence_s)
            self._upstreams[url, key] = upstream
            if self._sweeping is None:
                self._sweeping = asyncio.create_task(self._sweep())
        upstream.limit = limit
        return upstream

    async def close(self) -> None:
        for upstream in self._upstreams.values():
            upstream.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            for upstream in list(self._upstreams.values()):
                upstream.sweep()
