"""A lean HTTP/1.1 client on one kept-alive connection, so that the client's own cost stays out of the figures."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Self

_LIMIT_BYTES = 1 << 20


def request_bytes(method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"") -> bytes:
    """A whole request, ready to be written."""
    lines = [f"{method} {path} HTTP/1.1", "Host: benchmark", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json"] if body else []
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpConnection:
    """One connection, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, host: str, port: int) -> Self:
        return cls(*await asyncio.open_connection(host, port, limit=_LIMIT_BYTES))

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def send(self, request: bytes) -> Reply:
        self._writer.write(request)
        status, headers = await self._head()
        if "content-length" in headers:
            return Reply(status, headers, await self._reader.readexactly(int(headers["content-length"])))
        async with aclosing(self._chunks()) as chunks:
            return Reply(status, headers, b"".join([chunk async for chunk in chunks]))

    async def stream(self, request: bytes) -> AsyncGenerator[bytes]:
        """The chunks of a streamed answer as they come. Raises `ConnectionError` if it is not a stream."""
        self._writer.write(request)
        status, headers = await self._head()
        if status != 200 or headers.get("transfer-encoding") != "chunked":
            raise ConnectionError(f"status {status}, no stream")
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _head(self) -> tuple[int, dict[str, str]]:
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        pairs = (line.partition(":") for line in lines if line)
        return int(first.split(" ", 2)[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def _chunks(self) -> AsyncGenerator[bytes]:
        while True:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            chunk = await self._reader.readexactly(size + 2)
            if not size:
                return
            yield chunk[:-2]
