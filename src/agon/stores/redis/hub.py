"""One blocking read for all streams that a gateway watches."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any, cast
from uuid import uuid4

from redis.exceptions import RedisError

from agon.stores.redis.client import Client, Keys

_BLOCK_MS = 5_000
_RETRY_S = 0.2
_WAKE_TTL_S = 60


class StreamHub:
    """Reads every watched stream from its start and hands each watcher what comes.

    A stream that is already being read is first read again from its start for the new watcher; entries that arrive
    twice that way are told apart by their ids.
    """

    def __init__(self, reader: Client, writer: Client, keys: Keys) -> None:
        self._reader = reader
        self._writer = writer
        self._wake = keys.wake(uuid4().hex)
        self._positions: dict[str, str] = {}
        self._watchers: dict[str, set[asyncio.Queue[tuple[str, str]]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def watch(self, key: str, quiet_s: float) -> AsyncGenerator[str | None]:
        """The data of every entry of a stream, from its start; `None` whenever nothing came for `quiet_s`."""
        queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        shared = key in self._watchers
        self._watchers.setdefault(key, set()).add(queue)
        self._positions.setdefault(key, "0-0")
        try:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._read())
            else:
                await self._nudge()
            last = (0, 0)
            if shared:
                for entry, data in await self._history(key):
                    last = _number(entry)
                    yield data
            async for entry, data in _drain(queue, quiet_s):
                if entry is None:
                    yield None
                elif _number(entry) > last:
                    yield data
        finally:
            self._forget(key, queue)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _forget(self, key: str, queue: asyncio.Queue[tuple[str, str]]) -> None:
        watchers = self._watchers[key]
        watchers.discard(queue)
        if not watchers:
            del self._watchers[key]
            del self._positions[key]

    async def _nudge(self) -> None:
        """End the blocking read that is under way, so that it starts again with the new stream in it."""
        with suppress(RedisError, OSError):
            pipe: Any = self._writer.pipeline(transaction=False)
            pipe.xadd(self._wake, {"d": ""}, maxlen=1)
            pipe.expire(self._wake, _WAKE_TTL_S)
            await pipe.execute()

    async def _history(self, key: str) -> list[tuple[str, str]]:
        try:
            entries: Any = await self._writer.xrange(key)
        except (RedisError, OSError):
            return []
        return [(entry, fields["d"]) for entry, fields in entries]

    async def _read(self) -> None:
        wake_position = "$"
        while self._watchers:
            streams = {**self._positions, self._wake: wake_position}
            try:
                reader: Any = self._reader
                replies: Any = await reader.xread(streams, count=1000, block=_BLOCK_MS)
            except (RedisError, OSError):
                await asyncio.sleep(_RETRY_S)
                continue
            for key, entries in by_stream(replies):
                if key == self._wake:
                    wake_position = entries[-1][0]
                elif self._positions.get(key) == streams[key]:
                    # Otherwise the stream was left and joined again meanwhile, and must be read from its start.
                    self._hand_out(key, entries)

    def _hand_out(self, key: str, entries: list[tuple[str, dict[str, str]]]) -> None:
        self._positions[key] = entries[-1][0]
        for entry, fields in entries:
            for queue in self._watchers[key]:
                queue.put_nowait((entry, fields["d"]))


async def _drain(queue: asyncio.Queue[tuple[str, str]], quiet_s: float) -> AsyncIterator[tuple[str | None, str]]:
    while True:
        try:
            async with asyncio.timeout(quiet_s):
                item = await queue.get()
        except TimeoutError:
            yield None, ""
            continue
        yield item


def by_stream(replies: Any) -> list[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Streams and their entries in what XREAD answers: pairs on RESP2, a dict of lists of lists on RESP3."""
    if not replies:
        return []
    if not isinstance(replies, dict):
        return replies
    return [(key, batches[0]) for key, batches in cast("Any", replies).items()]


def _number(entry: str) -> tuple[int, int]:
    milliseconds, _, sequence = entry.partition("-")
    return int(milliseconds), int(sequence)
