"""The second level of a cache, what processes tell each other about it, and who makes what: all of it may vanish."""

import asyncio
import base64
import logging
from binascii import hexlify
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from itertools import chain
from random import SystemRandom
from secrets import token_hex

from agon.core.bloom import HASHED_BYTES
from agon.core.errors import Unavailable
from agon.rounds.messages import seal, unseal
from agon.stores.redis.bus import subscription
from agon.stores.redis.client import Keys, connect, translated
from agon.stores.redis.wire import RefusedError, Wire, Word

log = logging.getLogger(__name__)

_NAMED_BYTES = 8
"""So much of a digest names its entry: the whole of it lies inside, so a collision is a miss."""
_TIMEOUT_S = 0.5
_PROBE_S = 0.5
_JITTER = 0.2
_END = b"\r\n"
_AT_ONCE = 512
_UNTOLD_MOST = 100_000
_MISSED = "missed"
"""Told instead of keys where there were too many to keep while the server was away."""
_GIVE_BACK = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"
_draw = SystemRandom()


class RedisCache:
    """`Level`, `News` and `Leases` of one cache on Redis. Bound to the loop that uses it.

    A server that does not answer within half a second is away. From then on everything goes on without it at once,
    until a probe in the background finds it again.
    """

    def __init__(self, url: str, *, prefix: str = "agon", name: str, ttl_s: float = 3600.0) -> None:
        self._wire = Wire(url, timeout_s=_TIMEOUT_S, binary=True)
        self._blocking = connect(url, blocking=True)
        self._keys = Keys(prefix)
        self._name = name
        self._start = self._keys.cached(name, "").encode()
        # All names are of one length, so the beginning of a GET is always the same.
        self._get = b"*2\r\n$3\r\nGET\r\n$%d\r\n%b" % (len(self._start) + 2 * _NAMED_BYTES, self._start)
        self._channel = self._keys.made(name)
        self._holder = token_hex(8)
        self._ttl_s = ttl_s
        self._probing: asyncio.Task[None] | None = None
        self._untold: list[bytes] = []
        self._missed = False
        self._returned = False
        """Whether the server was away since news were heard last: some may be missing though no connection broke."""

    @property
    def away(self) -> bool:
        return self._probing is not None

    async def close(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
            with suppress(asyncio.CancelledError):
                await self._probing
        await self._wire.close()
        await self._blocking.aclose()

    # --- the level ----------------------------------------------------------------------------------------------------

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        if self._probing is not None or not keys:
            return {}
        try:
            with translated():
                if len(keys) == 1:
                    return _opened(
                        keys[0], await self._wire.call_packed(self._get + hexlify(keys[0][:_NAMED_BYTES]) + _END)
                    )
                parts = [keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE)]
                replies = await self._wire.several(*(("MGET", *map(self.place, part)) for part in parts))
        except Unavailable as error:
            self._failed(error)
            return {}
        found: dict[bytes, bytes] = {}
        for key, entry in zip(keys, chain.from_iterable(replies), strict=True):
            if entry is not None and (value := unseal(key, entry)) is not None:
                found[key] = value
        return found

    async def keep(self, values: Mapping[bytes, bytes]) -> None:
        commands: list[tuple[Word, ...]] = []
        for key, value in values.items():
            # Not all at the same moment: what was kept together would have to be made again together.
            lasts_ms = int(self._ttl_s * 1000 * (1 - _JITTER * _draw.random()))
            commands.append(("SET", self.place(key), seal(key, value), "PX", lasts_ms))
        await self._try(*commands)

    def place(self, key: bytes) -> bytes:
        """The name of a key's entry."""
        return self._start + hexlify(key[:_NAMED_BYTES])

    # --- news ---------------------------------------------------------------------------------------------------------

    async def tell(self, keys: Sequence[bytes]) -> None:
        digests = [key[:HASHED_BYTES] for key in keys]
        parts = [digests[at : at + _AT_ONCE] for at in range(0, len(digests), _AT_ONCE)]
        if not await self._try(*(("PUBLISH", self._channel, _told(part)) for part in parts)):
            self._missed = self._missed or len(self._untold) + len(digests) > _UNTOLD_MOST
            self._untold = [] if self._missed else [*self._untold, *digests]

    async def heard(self) -> AsyncGenerator[Sequence[bytes] | None]:
        fresh = False

        def connected() -> None:
            nonlocal fresh
            fresh = True

        async with aclosing(subscription(self._blocking, self._channel, connected=connected)) as messages:
            async for message in messages:
                if message == _MISSED or fresh or self._returned:
                    fresh = self._returned = False
                    yield None
                if message is not None and (keys := _heard(message)):
                    yield keys

    # --- leases -------------------------------------------------------------------------------------------------------

    async def take(self, keys: Sequence[bytes], for_s: float) -> Collection[bytes]:
        if self._probing is not None:
            return keys
        lasts_ms = int(for_s * 1000)
        commands = [("SET", self._lease(key), self._holder, "NX", "PX", lasts_ms) for key in keys]
        try:
            with translated():
                replies = await self._wire.several(*commands)
        except Unavailable as error:
            self._failed(error)
            return keys
        return frozenset(key for key, reply in zip(keys, replies, strict=True) if reply is not None)

    async def give_back(self, keys: Collection[bytes]) -> None:
        await self._try(*(("EVAL", _GIVE_BACK, 1, self._lease(key), self._holder) for key in keys))

    def _lease(self, key: bytes) -> str:
        return self._keys.making(self._name, key[:HASHED_BYTES].hex())

    # --- the server ---------------------------------------------------------------------------------------------------

    async def _try(self, *commands: tuple[Word, ...]) -> bool:
        if self._probing is not None:
            return False
        try:
            with translated():
                await self._wire.several(*commands)
        except Unavailable as error:
            self._failed(error)
            return False
        return True

    def _failed(self, error: Unavailable) -> None:
        # One that refuses is not away: it may be full, or just be reading its data; either is told without delay.
        if self._probing is None and not isinstance(error.__cause__, RefusedError):
            log.warning("the cache of %s goes on without Redis", self._name)
            self._probing = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        while True:
            await asyncio.sleep(_PROBE_S)
            with suppress(Unavailable):
                while await self._pay():
                    pass
                break
        self._probing = None
        self._returned = True
        log.info("the cache of %s has Redis again", self._name)

    async def _pay(self) -> bool:
        """Tell the others what they have not heard, which also proves the server; whether there is more by then."""
        untold, missed = self._untold, self._missed
        self._untold, self._missed = [], False
        news = [_MISSED] if missed else [_told(untold)] if untold else []
        try:
            with translated():
                await self._wire.several(("PING",), *(("PUBLISH", self._channel, each) for each in news))
        except Unavailable:
            self._untold, self._missed = untold + self._untold, missed or self._missed
            raise
        return bool(self._untold) or self._missed


def _opened(key: bytes, entry: bytes | None) -> Mapping[bytes, bytes]:
    value = None if entry is None else unseal(key, entry)
    return {} if value is None else {key: value}


def _told(digests: Sequence[bytes]) -> str:
    return base64.b64encode(b"".join(digests)).decode()


def _heard(message: str) -> Sequence[bytes]:
    """Keys as they were told; none where it is no message of ours."""
    try:
        raw = base64.b64decode(message, validate=True)
    except ValueError:
        return ()
    return [raw[at : at + HASHED_BYTES] for at in range(0, len(raw) - HASHED_BYTES + 1, HASHED_BYTES)]
