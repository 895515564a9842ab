"""What is followed in this process: read once a change, however many follow it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

from agon.core.errors import Unavailable
from agon.stores.redis.bus import subscription
from agon.stores.redis.client import Client

T = TypeVar("T")

_QUIET_S = 15.0


class _Feed(Generic[T]):
    """The newest state of one thing, for all who follow it."""

    def __init__(self) -> None:
        self.latest: T | None = None
        self.changed = asyncio.Event()
        self.followers = 0

    def put(self, state: T) -> None:
        self.latest = state
        self.changed.set()
        self.changed = asyncio.Event()


class Feeds(Generic[T]):
    """Follows things whose keys a channel names when they change. `read` gives a thing's state, if it is there."""

    def __init__(self, client: Client, channel: str, read: Callable[[str], Awaitable[T | None]]) -> None:
        self._client = client
        self._channel = channel
        self._read_state = read
        self._feeds: dict[str, _Feed[T]] = {}
        self._filling: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._filling is not None:
            self._filling.cancel()
            with suppress(asyncio.CancelledError):
                await self._filling

    async def follow(self, key: str) -> AsyncGenerator[T]:
        """The state each time it changes, and now and then without a change; the present one first, if there is one."""
        feed = self._feeds.setdefault(key, _Feed())
        feed.followers += 1
        if self._filling is None:
            self._filling = asyncio.create_task(self._fill())
        try:
            if feed.latest is None:
                await self._read(key, feed)
            while True:
                changed = feed.changed
                if feed.latest is not None:
                    yield feed.latest
                with suppress(TimeoutError):
                    async with asyncio.timeout(_QUIET_S):
                        await changed.wait()
        finally:
            feed.followers -= 1
            # Nobody follows it from here on, so what it holds would grow old.
            if not feed.followers and self._feeds.get(key) is feed:
                del self._feeds[key]

    async def _fill(self) -> None:
        async for changed in subscription(self._client, self._channel):
            # After a silence or a new connection anything may have changed unheard.
            for key in list(self._feeds) if changed is None else [changed]:
                if (feed := self._feeds.get(key)) is not None:
                    with suppress(Unavailable):
                        await self._read(key, feed)

    async def _read(self, key: str, feed: _Feed[T]) -> None:
        state = await self._read_state(key)
        if state is not None and state != feed.latest:
            feed.put(state)
