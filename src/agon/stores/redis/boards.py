"""Boards as they are shown, one JSON value each, and a channel that says when one has changed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from agon.core.board import Board
from agon.core.errors import Unavailable
from agon.stores.redis.bus import subscription
from agon.stores.redis.client import Keys, connect, translated
from agon.stores.redis.codec import decode_board, encode_board

# Two workers may publish at once; the one that has counted fewer votes loses.
_PUBLISH = """
local votes = redis.call('HGET', KEYS[1], 'votes')
if votes and tonumber(votes) > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'votes', ARGV[1], 'board', ARGV[2])
redis.call('PUBLISH', KEYS[1], ARGV[1])
return 1
"""


_QUIET_S = 15.0


class _Feed:
    """The newest state of one board, for all who watch it in this process."""

    def __init__(self) -> None:
        self.latest: Board | None = None
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def put(self, board: Board) -> None:
        self.latest = board
        self.changed.set()
        self.changed = asyncio.Event()


class RedisBoards:
    """`BoardStore` on Redis. However many watch a board, it is read once a change."""

    def __init__(self, url: str, *, prefix: str = "agon") -> None:
        self._client = connect(url)
        self._blocking = connect(url, blocking=True)
        self._keys = Keys(prefix)
        self._feeds: dict[str, _Feed] = {}

    async def close(self) -> None:
        for feed in self._feeds.values():
            if feed.task is not None:
                feed.task.cancel()
                with suppress(asyncio.CancelledError):
                    await feed.task
        await self._client.aclose()
        await self._blocking.aclose()

    async def publish(self, board: Board) -> bool:
        client: Any = self._client
        with translated():
            return bool(await client.eval(_PUBLISH, 1, self._keys.board(board.name), board.votes, encode_board(board)))

    async def board(self, name: str) -> Board | None:
        client: Any = self._client
        with translated():
            text: str | None = await client.hget(self._keys.board(name), "board")
        return None if text is None else decode_board(text)

    async def boards(self, name: str) -> AsyncIterator[Board]:
        feed = self._feeds.setdefault(name, _Feed())
        if feed.task is None:
            feed.task = asyncio.create_task(self._fill(name, feed))
        while True:
            changed = feed.changed
            if feed.latest is not None:
                yield feed.latest
            with suppress(TimeoutError):
                async with asyncio.timeout(_QUIET_S):
                    await changed.wait()

    async def _fill(self, name: str, feed: _Feed) -> None:
        async for _ in subscription(self._blocking, self._keys.board(name)):
            with suppress(Unavailable):
                board = await self.board(name)
                if board is not None:
                    feed.put(board)
