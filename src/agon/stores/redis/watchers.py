"""Leases of gateways on the turns that somebody watches on them."""

from collections.abc import Mapping
from typing import Any

from agon.core.ports import TurnRef
from agon.stores.redis.client import Keys, connect, translated

# A lease is over at its score, in milliseconds of the server's clock: those of all gateways are compared.
_NOW = "local t = redis.call('TIME'); local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
_HOLD = (
    _NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if tonumber(ARGV[2]) > 0 then
    redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
    local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
    redis.call('PEXPIREAT', KEYS[1], string.format('%d', last[2]))
else
    redis.call('ZREM', KEYS[1], ARGV[1])
end
"""
)
_HELD = _NOW + "return redis.call('ZCOUNT', KEYS[1], now + 1, '+inf')"


class RedisWatchers:
    """`Watchers` on Redis."""

    def __init__(self, url: str, *, prefix: str = "agon") -> None:
        self._client = connect(url)
        self._keys = Keys(prefix)
        client: Any = self._client
        self._hold = client.register_script(_HOLD)
        self._held = client.register_script(_HELD)

    async def close(self) -> None:
        await self._client.aclose()

    async def hold(self, leases: Mapping[TurnRef, float], holder: str) -> None:
        pipe: Any = self._client.pipeline(transaction=False)
        for turn, for_s in leases.items():
            await self._hold(keys=[self._key(turn)], args=[holder, int(for_s * 1000)], client=pipe)
        with translated():
            await pipe.execute()

    async def held(self, turn: TurnRef) -> bool:
        with translated():
            return bool(await self._held(keys=[self._key(turn)]))

    def _key(self, turn: TurnRef) -> str:
        return self._keys.watched(turn.conversation, turn.number)
