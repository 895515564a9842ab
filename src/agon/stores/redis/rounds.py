"""Boards of rounds: a sorted set and a page for each, in its round's slot, on the server that has the slot."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from hashlib import sha1
from secrets import token_hex
from uuid import UUID

from agon.core.errors import Unavailable
from agon.core.slots import server_of, slot_of, tag_of
from agon.stores.redis.client import Keys, connect, translated
from agon.stores.redis.feeds import Feeds
from agon.stores.redis.slotted import SlottedWire
from agon.stores.redis.wire import RefusedError, Word

# The members were put aside just before, as a set of their own: handing thousands of words to a script costs more than
# all the rest. Nobody sees them until they take the place of those that were there, together with page and version.
_PUBLISH = """
local board, page, version, aside = unpack(KEYS)
local seen = redis.call('GET', version)
if seen and tonumber(string.match(seen, '^%d+')) > tonumber(ARGV[1]) then
  redis.call('UNLINK', aside)
  return 0
end
redis.call('UNLINK', board)
if redis.call('EXISTS', aside) == 1 then
  redis.call('RENAME', aside, board)
  redis.call('PERSIST', board)
end
redis.call('SET', page, ARGV[2])
redis.call('SET', version, ARGV[1] .. ' ' .. redis.call('ZCARD', board) .. ' ' .. redis.sha1hex(ARGV[2]))
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1
"""
_DIGEST = sha1(_PUBLISH.encode(), usedforsecurity=False).hexdigest()
_ASIDE_S = 60
_AT_ONCE = 10_000


class RedisRoundBoards:
    """`RoundBoards` on any number of Redis servers, or clusters by one of their nodes. Bound to the loop that uses it.

    What is on a server that is away cannot be read (`Unavailable`); `there` leaves it out, unless all are away.
    """

    def __init__(self, urls: Sequence[str], *, prefix: str = "agon") -> None:
        keys = Keys(prefix)
        self._servers = {url: _Server(url, keys) for url in urls}
        self._urls = tuple(self._servers)

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    async def publish(self, round_id: UUID, means: Mapping[str, float], page: str, version: int) -> bool:
        return await self._server(round_id).publish(round_id, means, page, version)

    async def page(self, round_id: UUID) -> str | None:
        return await self._server(round_id).page(round_id)

    async def ranked(self, round_id: UUID) -> Sequence[tuple[str, float]]:
        return await self._server(round_id).ranked(round_id)

    async def there(self, rounds: Sequence[UUID]) -> Mapping[UUID, int]:
        shares: dict[_Server, list[UUID]] = {}
        for round_id in rounds:
            shares.setdefault(self._server(round_id), []).append(round_id)
        asked = [server.there(share) for server, share in shares.items()]
        replies = await asyncio.gather(*asked, return_exceptions=True)
        found: dict[UUID, int] = {}
        refusals: list[Unavailable] = []
        for reply in replies:
            if isinstance(reply, Unavailable):
                refusals.append(reply)
            elif isinstance(reply, BaseException):
                raise reply
            else:
                found |= reply
        if refusals and len(refusals) == len(replies):
            raise refusals[0]
        return found

    async def changes(self, round_id: UUID) -> AsyncGenerator[None]:
        async with aclosing(self._server(round_id).feeds.follow(str(round_id))) as states:
            async for _ in states:
                yield

    def _server(self, round_id: UUID) -> "_Server":
        return self._servers[server_of(slot_of(round_id), self._urls)]


class _Server:
    """The boards of the slots that one server has."""

    def __init__(self, url: str, keys: Keys) -> None:
        self._keys = keys
        self._wire = SlottedWire(url)
        self._blocking = connect(url, blocking=True)
        self.feeds = Feeds(self._blocking, keys.round_boards, self._state)

    async def close(self) -> None:
        await self.feeds.close()
        await self._wire.close()
        await self._blocking.aclose()

    async def publish(self, round_id: UUID, means: Mapping[str, float], page: str, version: int) -> bool:
        slot, parts = slot_of(round_id), self._parts(round_id)
        aside = f"{parts[0]}:{token_hex(8)}"
        words = (4, *parts, aside, version, page, self._keys.round_boards, str(round_id))
        with translated():
            try:
                replies = await self._wire.several(slot, *_put(aside, means), ("EVALSHA", _DIGEST, *words))
            except RefusedError as error:
                if error.code != "NOSCRIPT":
                    raise
                replies = await self._wire.several(slot, ("EVAL", _PUBLISH, *words))
        return bool(replies[-1])

    async def page(self, round_id: UUID) -> str | None:
        _, page, _ = self._parts(round_id)
        with translated():
            [text] = await self._wire.several(slot_of(round_id), ("GET", page))
        return text

    async def ranked(self, round_id: UUID) -> Sequence[tuple[str, float]]:
        board, _, _ = self._parts(round_id)
        with translated():
            [words] = await self._wire.several(slot_of(round_id), ("ZREVRANGE", board, 0, -1, "WITHSCORES"))
        return [(member, float(mean)) for member, mean in zip(words[::2], words[1::2], strict=True)]

    async def there(self, rounds: Sequence[UUID]) -> Mapping[UUID, int]:
        shares: dict[int, list[UUID]] = {}
        for round_id in rounds:
            shares.setdefault(slot_of(round_id), []).append(round_id)
        found: dict[UUID, int] = {}
        for part in await asyncio.gather(*(self._there(slot, share) for slot, share in shares.items())):
            found |= part
        return found

    async def _there(self, slot: int, rounds: Sequence[UUID]) -> Mapping[UUID, int]:
        """A board counts as there if all of its parts are."""
        commands: list[tuple[Word, ...]] = []
        for round_id in rounds:
            board, page, version = self._parts(round_id)
            commands += [("GET", version), ("ZCARD", board), ("EXISTS", page)]
        with translated():
            replies = await self._wire.several(slot, *commands)
        found: dict[UUID, int] = {}
        for round_id, version, members, page in zip(rounds, replies[::3], replies[1::3], replies[2::3], strict=True):
            if version is not None and page:
                counted, listed, _ = version.split(" ")
                if int(listed) == members:
                    found[round_id] = int(counted)
        return found

    async def _state(self, key: str) -> str:
        """What differs whenever a board was published that is another one; empty where there is none."""
        round_id = UUID(key)
        with translated():
            [state] = await self._wire.several(slot_of(round_id), ("GET", self._parts(round_id)[2]))
        return state or ""

    def _parts(self, round_id: UUID) -> tuple[str, str, str]:
        tag = tag_of(slot_of(round_id))
        board, page, version = (self._keys.round_board(tag, round_id, part) for part in ("board", "page", "version"))
        return board, page, version


def _put(key: str, means: Mapping[str, float]) -> Sequence[tuple[Word, ...]]:
    """Commands that make a sorted set. In order: each member then finds its place at the end."""
    words = [word for member, mean in sorted(means.items(), key=lambda item: item[1]) for word in (repr(mean), member)]
    parts = [words[at : at + 2 * _AT_ONCE] for at in range(0, len(words), 2 * _AT_ONCE)]
    return [*(("ZADD", key, *part) for part in parts), *([("EXPIRE", key, _ASIDE_S)] if parts else [])]
