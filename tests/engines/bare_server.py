"""Servers that say exactly the bytes they are told, for the client that passes requests on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from agon.engines.upstream import Upstream, Upstreams

Handler = Callable[["Session"], Awaitable[None]]
LIMIT = 1 << 20


@dataclass(slots=True)
class Session:
    """One connection, as the server sees it."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> tuple[bytes, bytes]:
        """Its head and its body."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return head, await self.reader.readexactly(length)

    async def say(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0.005)

    async def closed(self) -> None:
        while await self.reader.read(1024):
            pass


@dataclass(slots=True)
class Server:
    url: str = ""
    sessions: list[Session] = field(default_factory=list[Session])
    open: int = 0


@asynccontextmanager
async def serving(handle: Handler) -> AsyncGenerator[Server]:
    server = Server()

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        one = Session(len(server.sessions), reader, writer)
        server.sessions.append(one)
        server.open += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await handle(one)
        finally:
            server.open -= 1
            writer.close()

    listener = await asyncio.start_server(session, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener:
        yield server
        for one in server.sessions:
            one.writer.transport.abort()


@asynccontextmanager
async def asking(
    handle: Handler, *, limit: int = 64, silence_s: float = 0.0, key: str | None = None
) -> AsyncGenerator[tuple[Upstream, Server]]:
    upstreams = Upstreams(silence_s=silence_s)
    async with serving(handle) as server:
        try:
            yield upstreams.get(server.url, key, limit), server
        finally:
            await upstreams.close()


def forever(*parts: bytes) -> Handler:
    """Answer every request on the connection alike."""

    async def handle(session: Session) -> None:
        while True:
            await session.request()
            await session.say(*parts)

    return handle


def once(*parts: bytes) -> Handler:
    """Answer, and close the connection."""

    async def handle(session: Session) -> None:
        await session.request()
        await session.say(*parts)

    return handle


async def answer(upstream: Upstream, body: bytes = b"{}") -> tuple[int, bytes]:
    exchange = await upstream.post(body)
    return exchange.status, await exchange.whole(LIMIT)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def until(true: Callable[[], bool], within_s: float = 2.0) -> None:
    async with asyncio.timeout(within_s):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
