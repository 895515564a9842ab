"""Boards of rounds: a sorted set and a page for each, in its round's slot, on the server that has the slot."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from hashlib import sha1
from itertools import chain
from uuid import UUID

from agon.core.errors import Unavailable
from agon.core.slots import server_of, slot_of, tag_of
from agon.stores.redis.client import Keys, connect, translated
from agon.stores.redis.feeds import Feeds
from agon.stores.redis.wire import RefusedError, Wire, Word

# Values are absolute, so it may be repeated. Members are only added to what is there, which costs next to nothing for
# those that have not changed; if the set is then larger than the board, somebody is in it who is not on the board.
_PUBLISH = """
local seen = redis.call('GET', KEYS[3])
if seen and tonumber(string.match(seen, '^%d+')) > tonumber(ARGV[1]) then return 0 end
local function put()
  for at = 5, #ARGV, 2000 do redis.call('ZADD', KEYS[1], unpack(ARGV, at, math.min(at + 1999, #ARGV))) end
  return redis.call('ZCARD', KEYS[1])
end
local members = (#ARGV - 4) / 2
if put() ~= members then
  redis.call('DEL', KEYS[1])
  put()
end
redis.call('SET', KEYS[2], ARGV[2])
redis.call('SET', KEYS[3], ARGV[1] .. ' ' .. members .. ' ' .. redis.sha1hex(ARGV[2]))
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1
"""
_DIGEST = sha1(_PUBLISH.encode(), usedforsecurity=False).hexdigest()


class RedisRoundBoards:
    """`RoundBoards` on any number of Redis servers. Bound to the loop that uses it.

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
        async with aclosing(self._server(round_id).feeds.follow(str(round_id))) as versions:
            async for _ in versions:
                yield

    def _server(self, round_id: UUID) -> "_Server":
        return self._servers[server_of(slot_of(round_id), self._urls)]


class _Server:
    """The boards of the slots that one server has."""

    def __init__(self, url: str, keys: Keys) -> None:
        self._keys = keys
        self._wire = Wire(url)
        self._blocking = connect(url, blocking=True)
        self.feeds = Feeds(self._blocking, keys.round_boards, self._state)

    async def close(self) -> None:
        await self.feeds.close()
        await self._wire.close()
        await self._blocking.aclose()

    async def publish(self, round_id: UUID, means: Mapping[str, float], page: str, version: int) -> bool:
        scores = chain.from_iterable((repr(mean), member) for member, mean in means.items())
        words = (3, *self._parts(round_id), version, page, self._keys.round_boards, str(round_id), *scores)
        with translated():
            try:
                return bool(await self._wire.call("EVALSHA", _DIGEST, *words))
            except RefusedError as error:
                if error.code != "NOSCRIPT":
                    raise
                return bool(await self._wire.call("EVAL", _PUBLISH, *words))

    async def page(self, round_id: UUID) -> str | None:
        _, page, _ = self._parts(round_id)
        with translated():
            text: str | None = await self._wire.call("GET", page)
        return text

    async def ranked(self, round_id: UUID) -> Sequence[tuple[str, float]]:
        board, _, _ = self._parts(round_id)
        with translated():
            words: list[str] = await self._wire.call("ZREVRANGE", board, 0, -1, "WITHSCORES")
        return [(member, float(mean)) for member, mean in zip(words[::2], words[1::2], strict=True)]

    async def there(self, rounds: Sequence[UUID]) -> Mapping[UUID, int]:
        """A board counts as there if all of its parts are."""
        commands: list[tuple[Word, ...]] = []
        for round_id in rounds:
            board, page, version = self._parts(round_id)
            commands += [("GET", version), ("ZCARD", board), ("EXISTS", page)]
        with translated():
            replies = await self._wire.several(*commands)
        found: dict[UUID, int] = {}
        for round_id, version, members, page in zip(rounds, replies[::3], replies[1::3], replies[2::3], strict=True):
            if version is not None and page:
                counted, listed, _ = version.split(" ")
                if int(listed) == members:
                    found[round_id] = int(counted)
        return found

    async def _state(self, key: str) -> str:
        """What differs whenever a board was published that is another one; empty where there is none."""
        with translated():
            state: str | None = await self._wire.call("GET", self._parts(UUID(key))[2])
        return state or ""

    def _parts(self, round_id: UUID) -> tuple[str, str, str]:
        tag = tag_of(slot_of(round_id))
        board, page, version = (self._keys.round_board(tag, round_id, part) for part in ("board", "page", "version"))
        return board, page, version
