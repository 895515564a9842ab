"""The bus: queues of answers to generate, claims, streams of packets, requests to stop, the state of engines."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast
from uuid import UUID

from redis.exceptions import RedisError, ResponseError

from agon.core.contestants import EngineState, EngineStatus
from agon.core.events import Event, Said, Settled, said_in
from agon.core.placement import AnswerRef
from agon.stores.redis.client import Client, Keys, connect, translated
from agon.stores.redis.codec import (
    decode_event,
    decode_ref,
    decode_status,
    encode_event,
    encode_ref,
    encode_status,
)
from agon.stores.redis.hub import BLOCK_S, StreamHub
from agon.stores.redis.wire import Wire

_GROUP = "runners"
_QUEUED = "queued"
_QUEUED_TTL_MS = 10_000
_CLAIM_TTL_MS = 4_000
_ENGINE_TTL_MS = 5_000
_STREAM_TTL_S = 10 * 60
_SETTLED_TTL_S = 60
_KEEP_S = 20.0
_KEPT_AT_MOST = 10_000
_QUIET_S = 1.0

# A claim is free when it is missing or says that the answer only waits in a queue.
_CLAIM = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""
# Only the holder renews or gives up a claim.
_KEEP = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end"
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class RedisBus:
    """`Bus` on Redis. `runner` names this process as a consumer of queues."""

    def __init__(self, url: str, *, prefix: str = "agon", runner: str = "none") -> None:
        self._wire = Wire(url)
        self._client = connect(url)
        self._blocking = connect(url, blocking=True)
        self._keys = Keys(prefix)
        self._runner = runner
        self._reading = Wire(url, timeout_s=BLOCK_S + 3.0)
        self._hub = StreamHub(self._reading, self._wire, self._keys, decode_event)
        self._kept_s: dict[UUID, float] = {}
        """When this process has last told a stream to stay, while it writes there."""

    async def close(self) -> None:
        await self._hub.close()
        await self._wire.close()
        await self._reading.close()
        await self._client.aclose()
        await self._blocking.aclose()

    async def enqueue(self, refs: Sequence[AnswerRef]) -> None:
        pipe: Any = self._client.pipeline(transaction=False)
        for ref in refs:
            pipe.set(self._keys.claim(ref), _QUEUED, nx=True, px=_QUEUED_TTL_MS)
            pipe.xadd(self._keys.queue(ref.contestant), {"d": encode_ref(ref)})
        with translated():
            await pipe.execute()

    async def take(self, contestant: str, wait_s: float) -> AnswerRef | None:
        queue = self._keys.queue(contestant)
        with translated():
            try:
                reader: Any = self._blocking
                replies: Any = await reader.xreadgroup(
                    _GROUP, self._runner, {queue: ">"}, count=1, block=max(1, int(wait_s * 1000))
                )
            except ResponseError as error:
                if "NOGROUP" not in str(error):
                    raise
                await self._make_group(queue)
                return None
            entries = _entries(replies)
            if not entries:
                return None
            entry, fields = entries[0]
            # Acknowledged at once: what gets lost from here on is found again in the ledger.
            pipe: Any = self._client.pipeline(transaction=False)
            pipe.xack(queue, _GROUP, entry)
            pipe.xdel(queue, entry)
            await pipe.execute()
            return decode_ref(fields["d"])

    async def claim(self, ref: AnswerRef, runner: str) -> bool:
        with translated():
            client: Any = self._client
            return bool(await client.eval(_CLAIM, 1, self._keys.claim(ref), _QUEUED, runner, _CLAIM_TTL_MS))

    async def keep(self, refs: Sequence[AnswerRef], runner: str) -> None:
        pipe: Any = self._client.pipeline(transaction=False)
        for ref in refs:
            pipe.eval(_KEEP, 1, self._keys.claim(ref), runner, _CLAIM_TTL_MS)
        with translated():
            await pipe.execute()

    async def release(self, ref: AnswerRef, runner: str) -> None:
        client: Any = self._client
        with translated():
            await client.eval(_RELEASE, 1, self._keys.claim(ref), runner)

    async def unclaimed(self, refs: Sequence[AnswerRef]) -> Sequence[AnswerRef]:
        if not refs:
            return []
        with translated():
            holders: Any = await self._client.mget([self._keys.claim(ref) for ref in refs])
        return [ref for ref, holder in zip(refs, holders, strict=True) if holder is None]

    async def append(self, conversation: UUID, event: Event) -> None:
        key = self._keys.stream(conversation)
        add = ("XADD", key, "*", "d", encode_event(event))
        now_s = time.monotonic()
        with translated():
            if isinstance(event, Settled):
                # The ledger has it. Whoever still writes the other side has the stream stay longer in time.
                self._kept_s.pop(conversation, None)
                await self._wire.several(add, ("EXPIRE", key, _SETTLED_TTL_S))
            elif now_s - self._kept_s.get(conversation, -_KEEP_S) >= _KEEP_S:
                # Not with every packet: that would be half of all the work here.
                self._keep(conversation, now_s)
                await self._wire.several(add, ("EXPIRE", key, _STREAM_TTL_S))
            else:
                await self._wire.call(*add)

    def _keep(self, conversation: UUID, now_s: float) -> None:
        self._kept_s[conversation] = now_s
        if len(self._kept_s) > _KEPT_AT_MOST:
            self._kept_s = {each: at_s for each, at_s in self._kept_s.items() if now_s - at_s < _KEEP_S}

    async def said(self, ref: AnswerRef) -> Said:
        with translated():
            entries: Any = await self._wire.call("XRANGE", self._keys.stream(ref.conversation), "-", "+")
        return said_in((decode_event(fields[1]) for _, fields in entries), ref.turn, ref.side)

    async def watch(self, conversation: UUID) -> AsyncGenerator[Event | None]:
        async with aclosing(self._hub.watch(self._keys.stream(conversation), _QUIET_S)) as events:
            async for event in events:
                yield event

    async def stop(self, refs: Sequence[AnswerRef]) -> None:
        pipe: Any = self._client.pipeline(transaction=False)
        for ref in refs:
            pipe.publish(self._keys.stops, encode_ref(ref))
        with translated():
            await pipe.execute()

    async def stops(self) -> AsyncIterator[AnswerRef]:
        async for message in subscription(self._blocking, self._keys.stops):
            if message is not None:
                yield decode_ref(message)

    async def announce(self, contestant: str, status: EngineStatus) -> None:
        with translated():
            await self._client.set(self._keys.engine(contestant), encode_status(status), px=_ENGINE_TTL_MS)

    async def engines(self, contestants: Sequence[str]) -> Mapping[str, EngineStatus]:
        pipe: Any = self._client.pipeline(transaction=False)
        for name in contestants:
            pipe.get(self._keys.engine(name))
            pipe.xlen(self._keys.queue(name))
        with translated():
            replies: list[Any] = await pipe.execute()
        pairs = zip(contestants, replies[::2], replies[1::2], strict=True)
        return {
            name: EngineStatus(EngineState.UNKNOWN, waiting=waiting)
            if status is None
            else decode_status(status, waiting=waiting)
            for name, status, waiting in pairs
        }

    async def _make_group(self, queue: str) -> None:
        try:
            await self._client.xgroup_create(queue, _GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise


async def subscription(client: Client, channel: str, quiet_s: float = 15.0) -> AsyncIterator[str | None]:
    """Messages of a channel for ever; `None` when quiet, and after each connection, since some may have been missed."""
    while True:
        pubsub: Any = cast("Any", client).pubsub(ignore_subscribe_messages=True)
        try:
            await pubsub.subscribe(channel)
            yield None
            while True:
                message = await pubsub.get_message(timeout=quiet_s)
                yield None if message is None else message["data"]
        except (RedisError, OSError):
            await asyncio.sleep(0.2)
        finally:
            await pubsub.aclose()


def _entries(replies: Any) -> list[tuple[str, dict[str, str]]]:
    """The entries of the only stream in a reply."""
    if not replies:
        return []
    if isinstance(replies, dict):
        return next(iter(cast("dict[str, Any]", replies).values()))[0]
    return replies[0][1]
