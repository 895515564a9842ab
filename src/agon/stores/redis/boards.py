"""Boards and their companions as they are shown: one JSON value each, and channels that say what changed or is missing.

A page that somebody asked for is wanted for a minute; while it is wanted, whoever keeps pages also keeps it from
expiring. So a page that is there is no older than its keeper allows, and one that nobody looks at costs nothing.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from agon.core.board import Board, History, Matrix, Page, PageKind, Published, View
from agon.stores.redis.bus import subscription
from agon.stores.redis.client import Keys, connect, translated
from agon.stores.redis.codec import decode_board, decode_history, decode_matrix, encode_published
from agon.stores.redis.feeds import Feeds

# Two workers may publish at once; the one that has seen fewer votes loses.
_PUBLISH = """
local seen = redis.call('HGET', KEYS[1], 'counted')
if seen and tonumber(seen) > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'counted', ARGV[1], 'page', ARGV[2])
if ARGV[4] ~= '0' then redis.call('EXPIRE', KEYS[1], ARGV[4]) end
redis.call('PUBLISH', KEYS[2], ARGV[3])
return 1
"""
_WANT = """
redis.call('ZADD', KEYS[1], redis.call('TIME')[1] + ARGV[2], ARGV[1])
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('PUBLISH', KEYS[1], ARGV[1]) end
"""
_WANTED = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', redis.call('TIME')[1])
return redis.call('ZRANGE', KEYS[1], 0, -1)
"""

_WANTED_S = 60
_UNWANTED_S = 20
"""How long a page stays that nobody keeps; longer than a worker takes to start again."""


class RedisBoards:
    """`BoardStore` on Redis. However many watch a board, it is read once a change."""

    def __init__(self, url: str, *, prefix: str = "agon") -> None:
        self._client = connect(url)
        self._blocking = connect(url, blocking=True)
        self._keys = Keys(prefix)
        self._feeds = Feeds(self._blocking, self._keys.boards, self._read)

    async def close(self) -> None:
        await self._feeds.close()
        await self._client.aclose()
        await self._blocking.aclose()

    async def publish(self, published: Published) -> bool:
        client: Any = self._client
        key = published.page.key
        lasting = isinstance(published, Board) and published.view.plain
        expires_s = 0 if lasting else _UNWANTED_S
        keys = self._keys.board(key), self._keys.boards
        with translated():
            text = encode_published(published)
            return bool(await client.eval(_PUBLISH, 2, *keys, published.counted, text, key, expires_s))

    async def board(self, view: View) -> Board | None:
        text = await self._text(Page(PageKind.BOARD, view))
        return None if text is None else decode_board(text)

    async def matrix(self, view: View) -> Matrix | None:
        text = await self._text(Page(PageKind.MATRIX, view))
        return None if text is None else decode_matrix(text)

    async def history(self, view: View) -> History | None:
        text = await self._text(Page(PageKind.HISTORY, view))
        return None if text is None else decode_history(text)

    async def boards(self, view: View) -> AsyncIterator[Board]:
        async with aclosing(self._feeds.follow(Page(PageKind.BOARD, view).key)) as boards:
            async for board in boards:
                yield board

    async def want(self, page: Page) -> None:
        client: Any = self._client
        with translated():
            await client.eval(_WANT, 2, self._keys.wanted, self._keys.board(page.key), page.key, _WANTED_S)

    async def wanted(self) -> Mapping[Page, bool]:
        client: Any = self._client
        with translated():
            found: list[str] = await client.eval(_WANTED, 1, self._keys.wanted)
            pipe = client.pipeline(transaction=False)
            for key in found:
                pipe.expire(self._keys.board(key), _UNWANTED_S)
            there: list[Any] = await pipe.execute()
        return {Page.of_key(key): bool(each) for key, each in zip(found, there, strict=True)}

    async def wants(self) -> AsyncIterator[None]:
        async for _ in subscription(self._blocking, self._keys.wanted):
            yield None

    async def _text(self, page: Page) -> str | None:
        client: Any = self._client
        with translated():
            text: str | None = await client.hget(self._keys.board(page.key), "page")
        return text

    async def _read(self, key: str) -> Board | None:
        return await self.board(Page.of_key(key).view)
