"""The server's side of HTTP, with one write a tick: a response's head, its body and its end leave together."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_WAITING_BYTES = 1 << 16
"""More than this is not kept back: the transport has to see it, to say when its reader lags behind."""


class CoalescingTransport:
    """A transport that writes what it was given in one tick of the loop at the end of that tick."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)
        self._size += len(data)
        if self._size > _WAITING_BYTES:
            self.flush()

    def writelines(self, lines: list[bytes]) -> None:
        self.write(b"".join(lines))

    def flush(self) -> None:
        waiting = self._waiting
        if waiting:
            self._transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))
            waiting.clear()
            self._size = 0

    def write_eof(self) -> None:
        self.flush()
        self._transport.write_eof()

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._waiting.clear()
        self._transport.abort()

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's own."""
        return getattr(self._transport, name)


class CoalescingHttp(HttpToolsProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(cast("Any", CoalescingTransport(cast("asyncio.Transport", transport))))
