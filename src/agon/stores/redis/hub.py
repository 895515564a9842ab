"""One blocking read for all streams that a gateway watches."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from typing import Any, Generic, TypeVar
from uuid import uuid4

from agon.stores.redis.client import Keys
from agon.stores.redis.wire import RefusedError, Wire

log = logging.getLogger(__name__)

T = TypeVar("T")

BLOCK_S = 5.0
_RETRY_S = 0.2
_WAKE_TTL_S = 60
_ENTRIES_AT_ONCE = 1000
_FEW = 50
"""So many streams are read without a pause."""
_PAUSE_S = 10e-6
"""Pause between reads, for each stream: a read costs as much as it has streams, however few of them have news."""
_LONGEST_PAUSE_S = 0.02


class StreamHub(Generic[T]):
    """Reads every watched stream from its start, decodes each entry once and hands it to each watcher.

    A stream that is already being read is first read again from its start for the new watcher; entries that arrive
    twice that way are told apart by their ids. `reader` is for the blocking reads alone.
    """

    def __init__(self, reader: Wire, writer: Wire, keys: Keys, decode: Callable[[str], T]) -> None:
        self._reader = reader
        self._writer = writer
        self._decode = decode
        self._wake = _Stream[T](keys.wake(uuid4().hex))
        self._streams: dict[str, _Stream[T]] = {}
        self._command = _ReadCommand[T]()
        self._changed = True
        """Whether other streams are watched than the command names."""
        self._under_way = False
        self._woken = False
        self._task: asyncio.Task[None] | None = None

    async def watch(self, key: str, quiet_s: float) -> AsyncGenerator[T | None]:
        """Every entry of a stream, from its start; `None` whenever nothing came for `quiet_s`."""
        stream, shared = self._streams.get(key), True
        if stream is None:
            stream, shared = _Stream[T](key), False
            self._streams[key] = stream
            self._changed = True
        inbox = _Inbox[T]()
        stream.inboxes.append(inbox)
        try:
            last = (0, 0)
            if shared:
                for entry, item in await self._history(key):
                    last = _number(entry)
                    yield item
            else:
                await self._have_it_read()
            while True:
                found = await inbox.next(quiet_s)
                if found is None:
                    yield None
                elif last == (0, 0) or _number(found[0]) > last:
                    # What follows is newer still.
                    last = (0, 0)
                    yield found[1]
        finally:
            stream.inboxes.remove(inbox)
            if not stream.inboxes and self._streams.get(key) is stream:
                del self._streams[key]
                self._changed = True

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _have_it_read(self) -> None:
        """End the blocking read that is under way, so that it starts again with the new stream in it."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._read())
        elif self._under_way and not self._woken:
            self._woken = True
            wake = self._wake.key
            with suppress(OSError, RefusedError):
                await self._writer.several(("XADD", wake, "MAXLEN", 1, "*", "d", ""), ("EXPIRE", wake, _WAKE_TTL_S))

    async def _history(self, key: str) -> list[tuple[str, T]]:
        try:
            entries = await self._writer.call("XRANGE", key, "-", "+")
        except (OSError, RefusedError):
            return []
        return self._decoded(entries)

    def _decoded(self, entries: Any) -> list[tuple[str, T]]:
        items: list[tuple[str, T]] = []
        for entry, fields in entries:
            try:
                items.append((entry, self._decode(fields[1])))
            except (ValueError, TypeError):
                # One bad entry, of another version perhaps, must not end the reading of all other streams.
                log.warning("skipped an entry that cannot be read: %.200s", fields)
        return items

    async def _read(self) -> None:
        while self._streams:
            try:
                await self._read_once()
            except (OSError, RefusedError):
                await asyncio.sleep(_RETRY_S)
            if len(self._streams) > _FEW:
                await asyncio.sleep(min(_LONGEST_PAUSE_S, len(self._streams) * _PAUSE_S))

    async def _read_once(self) -> None:
        if self._changed:
            self._command.name([self._wake, *self._streams.values()])
            self._changed = False
        self._under_way, self._woken = True, False
        try:
            replies: Any = await self._reader.call_packed(self._command.packed())
        finally:
            self._under_way = False
        for key, entries in replies or ():
            stream = self._command.streams[key]
            stream.advance(entries[-1][0])
            # One that was left, and perhaps joined again meanwhile, has none to hand to.
            if stream.inboxes:
                items = self._decoded(entries)
                for inbox in stream.inboxes:
                    inbox.put(items)


class _Stream(Generic[T]):
    """A stream, how far it is read, and who wants what comes."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.inboxes: list[_Inbox[T]] = []
        self.position = _packed("0-0")

    def advance(self, entry: str) -> None:
        self.position = _packed(entry)


class _ReadCommand(Generic[T]):
    """XREAD over many streams. The names are put together once, since only positions change from read to read."""

    def __init__(self) -> None:
        self.streams: dict[str, _Stream[T]] = {}
        self._head = b""

    def name(self, streams: Iterable[_Stream[T]]) -> None:
        self.streams = {stream.key: stream for stream in streams}
        words = ("XREAD", "COUNT", str(_ENTRIES_AT_ONCE), "BLOCK", str(int(BLOCK_S * 1000)), "STREAMS", *self.streams)
        self._head = b"*%d\r\n" % (len(words) + len(self.streams)) + b"".join(map(_packed, words))

    def packed(self) -> bytes:
        return self._head + b"".join([stream.position for stream in self.streams.values()])


class _Inbox(Generic[T]):
    """What came for one watcher."""

    def __init__(self) -> None:
        self._items: deque[tuple[str, T]] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, items: Iterable[tuple[str, T]]) -> None:
        self._items.extend(items)
        if self._waiter is not None:
            _finish(self._waiter)

    async def next(self, quiet_s: float) -> tuple[str, T] | None:
        """The next entry; `None` if there is none for so long."""
        if not self._items:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            alarm = loop.call_later(quiet_s, _finish, self._waiter)
            try:
                await self._waiter
            finally:
                alarm.cancel()
                self._waiter = None
        return self._items.popleft() if self._items else None


def _finish(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _packed(word: str) -> bytes:
    """One word of a command as it travels."""
    encoded = word.encode()
    return b"$%d\r\n%b\r\n" % (len(encoded), encoded)


def _number(entry: str) -> tuple[int, int]:
    milliseconds, _, sequence = entry.partition("-")
    return int(milliseconds), int(sequence)
