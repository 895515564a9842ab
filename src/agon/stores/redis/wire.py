"""A client for the calls that many tasks make at once: one connection, one write for all commands of a loop's tick.

Replies come in the order of the commands, and each has its future in a queue. A caller that is cancelled leaves its
future there, so its reply is dropped when it comes and never handed to the next one.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import hiredis
from redis.asyncio.connection import SSLConnection, UnixDomainSocketConnection, parse_url

Word = str | bytes | int | float
_pack: Callable[[tuple[Word, ...]], bytes] = cast("Any", hiredis).pack_command


def pack(*words: Word) -> bytes:
    """A command as it travels; half characters, which an engine may say, become question marks."""
    try:
        return _pack(words)
    except UnicodeEncodeError:
        return _pack(tuple(word.encode("utf-8", "replace") if isinstance(word, str) else word for word in words))


class RefusedError(Exception):
    """The server has answered with an error. Its first word says which."""

    @property
    def code(self) -> str:
        return str(self).partition(" ")[0]


class BrokenError(OSError):
    """The connection is gone; whether the command was carried out is not known."""


class Wire:
    """Connects at the first call, and again after a loss.

    When no reply comes for `timeout_s` although some are owed, the server counts as dead and everybody waiting is told.
    Replies are text, or bytes where `binary` is set.
    """

    def __init__(self, url: str, *, timeout_s: float = 3.0, binary: bool = False) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._binary = binary
        self._link: _Link | None = None
        self._connecting: asyncio.Task[_Link] | None = None

    async def call(self, *words: Word) -> Any:
        """One command and its reply. Raises `RefusedError`, or an `OSError` without a connection."""
        link = self._link
        if link is None or link.lost:
            link = await self._connect()
        return await link.ask(pack(*words))

    async def call_packed(self, command: bytes) -> Any:
        """As `call`, with a command from `pack` or made up of parts as `pack` makes them."""
        link = self._link
        if link is None or link.lost:
            link = await self._connect()
        return await link.ask(command)

    async def several(self, *commands: tuple[Word, ...]) -> list[Any]:
        """Some commands that leave together and in this order; raises what the first failure raises."""
        link = self._link
        if link is None or link.lost:
            link = await self._connect()
        asked = [link.ask(pack(*words)) for words in commands]
        # All are awaited, so that a second failure is not left unseen.
        replies = await asyncio.gather(*asked, return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return replies

    def post(self, *words: Word) -> None:
        """One command behind those that are under way, whose reply nobody wants; nothing without a connection."""
        if self._link is not None and not self._link.lost:
            self._link.ask(pack(*words)).add_done_callback(_ignore)

    async def close(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            with suppress(asyncio.CancelledError, OSError, RefusedError):
                await self._connecting
        if self._link is not None:
            await self._link.close()

    async def _connect(self) -> "_Link":
        """One attempt for all who wait; one of them being cancelled does not end it."""
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._open())
            self._connecting.add_done_callback(self._connected)
        return await asyncio.shield(self._connecting)

    def _connected(self, task: "asyncio.Task[_Link]") -> None:
        self._connecting = None
        if not task.cancelled() and task.exception() is None:
            self._link = task.result()

    async def _open(self) -> "_Link":
        loop = asyncio.get_running_loop()
        link = _Link(loop, self._timeout_s, binary=self._binary)
        options: dict[str, Any] = cast("dict[str, Any]", parse_url(self._url))
        kind = options.get("connection_class")
        try:
            async with asyncio.timeout(self._timeout_s):
                if kind is UnixDomainSocketConnection:
                    await loop.create_unix_connection(lambda: link, options["path"])
                else:
                    host, port = options.get("host", "localhost"), options.get("port", 6379)
                    secure = _secure(options) if kind is SSLConnection else None
                    await loop.create_connection(lambda: link, host, port, ssl=secure)
                for words in _greeting(options):
                    await link.ask(pack(*words))
        except BaseException:
            await link.close()
            raise
        return link


def _secure(options: dict[str, Any]) -> ssl.SSLContext:
    """As redis-py reads the same URL."""
    context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"), capath=options.get("ssl_ca_path"))
    required = options.get("ssl_cert_reqs", "required")
    if required in {"none", "optional"} or not options.get("ssl_check_hostname", True):
        context.check_hostname = False
    if required != "required":
        context.verify_mode = ssl.CERT_NONE if required == "none" else ssl.CERT_OPTIONAL
    if "ssl_certfile" in options:
        context.load_cert_chain(options["ssl_certfile"], options.get("ssl_keyfile"))
    return context


def _greeting(options: dict[str, Any]) -> list[tuple[Word, ...]]:
    greeting: list[tuple[Word, ...]] = []
    if options.get("password"):
        user = [options["username"]] if options.get("username") else []
        greeting.append(("AUTH", *user, options["password"]))
    if options.get("db"):
        greeting.append(("SELECT", options["db"]))
    return greeting


class _Link(asyncio.Protocol):
    """One connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout_s: float, *, binary: bool) -> None:
        self._loop = loop
        self._timeout_s = timeout_s
        self._reader = hiredis.Reader(
            protocolError=BrokenError,
            replyError=RefusedError,
            encoding=None if binary else "utf-8",
            errors="replace",
        )
        self._owed: deque[asyncio.Future[Any]] = deque()
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._heard_s = 0.0
        self._ended: asyncio.Future[None] = loop.create_future()
        self.lost = False

    def ask(self, command: bytes) -> asyncio.Future[Any]:
        reply: asyncio.Future[Any] = self._loop.create_future()
        if self.lost:
            reply.set_exception(BrokenError("The connection is closed."))
            return reply
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(command)
        if not self._owed:
            self._heard_s = self._loop.time()
            if self._watch is None:
                self._watch = self._loop.call_later(self._timeout_s, self._look)
        self._owed.append(reply)
        return reply

    async def close(self) -> None:
        if self._transport is None:
            self._lose(None)
            return
        self._transport.close()
        await self._ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._heard_s = self._loop.time()
        reader, owed = self._reader, self._owed
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not False:
                self._answer(owed.popleft(), reply)
        except (BrokenError, IndexError) as error:
            # What comes from here on belongs to nobody.
            self._lose(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(exc)
        if not self._ended.done():
            self._ended.set_result(None)

    @staticmethod
    def _answer(future: "asyncio.Future[Any]", reply: Any) -> None:
        if future.done():
            return
        if isinstance(reply, RefusedError):
            future.set_exception(reply)
        else:
            future.set_result(reply)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if unsent and self._transport is not None and not self.lost:
            self._transport.write(b"".join(unsent))

    def _look(self) -> None:
        self._watch = None
        if self.lost or not self._owed:
            return
        left_s = self._heard_s + self._timeout_s - self._loop.time()
        if left_s > 0:
            self._watch = self._loop.call_later(left_s, self._look)
        else:
            self._lose(TimeoutError("The server does not answer."))

    def _lose(self, cause: Exception | None) -> None:
        if self.lost:
            return
        self.lost = True
        self._unsent.clear()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        for future in self._owed:
            if not future.done():
                error = BrokenError("The connection was lost.")
                error.__cause__ = cause
                future.set_exception(error)
        self._owed.clear()
        if self._transport is not None:
            self._transport.abort()


def _ignore(reply: "asyncio.Future[Any]") -> None:
    if not reply.cancelled():
        reply.exception()
