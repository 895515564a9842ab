"""The bus: streams of packets, and requests to stop."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, cast
from uuid import UUID

from redis.exceptions import RedisError

from agon.core.events import Event, Said, Settled, said_in
from agon.core.placement import AnswerRef
from agon.stores.redis.client import Client, Keys, connect, translated
from agon.stores.redis.codec import decode_event, encode_event
from agon.stores.redis.hub import BLOCK_S, StreamHub
from agon.stores.redis.jobs import decode_turn, encode_turn
from agon.stores.redis.wire import Wire

log = logging.getLogger(__name__)

_STREAM_TTL_S = 10 * 60
_SETTLED_TTL_S = 60
_KEEP_S = 20.0
_KEPT_AT_MOST = 10_000
_QUIET_S = 1.0


class RedisBus:
    """`Bus` on Redis."""

    def __init__(self, url: str, *, prefix: str = "agon") -> None:
        self._wire = Wire(url)
        self._blocking = connect(url, blocking=True)
        self._keys = Keys(prefix)
        self._reading = Wire(url, timeout_s=BLOCK_S + 3.0)
        self._hub = StreamHub(self._reading, self._wire, self._keys, decode_event)
        self._kept_s: dict[UUID, float] = {}
        """When this process has last told a stream to stay, while it writes there."""

    async def close(self) -> None:
        await self._hub.close()
        await self._wire.close()
        await self._reading.close()
        await self._blocking.aclose()

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

    async def clear(self, conversation: UUID) -> None:
        with translated():
            # Trimmed and not deleted: its ids go on, so that whoever reads behind the last one misses nothing.
            await self._wire.call("XTRIM", self._keys.stream(conversation), "MAXLEN", 0)

    async def watch(self, conversation: UUID) -> AsyncGenerator[Event | None]:
        async with aclosing(self._hub.watch(self._keys.stream(conversation), _QUIET_S)) as events:
            async for event in events:
                yield event

    async def stop(self, refs: Sequence[AnswerRef]) -> None:
        if refs:
            with translated():
                await self._wire.several(*(("PUBLISH", self._keys.stops, encode_turn(ref)) for ref in refs))

    async def stops(self) -> AsyncGenerator[AnswerRef]:
        async with aclosing(subscription(self._blocking, self._keys.stops)) as messages:
            async for message in messages:
                try:
                    if message is not None:
                        yield decode_turn(message)
                except ValueError:
                    log.warning("skipped a request to stop that cannot be read: %.200s", message)


async def subscription(
    client: Client, channel: str, quiet_s: float = 15.0, connected: Callable[[], None] | None = None
) -> AsyncGenerator[str | None]:
    """Messages of a channel for ever; `None` when quiet, and after each connection, since some may have been missed.

    `connected` is called before the `None` of a connection, for those who must tell it from silence.
    """
    while True:
        pubsub: Any = cast("Any", client).pubsub(ignore_subscribe_messages=True)
        try:
            await pubsub.subscribe(channel)
            if connected is not None:
                connected()
            yield None
            while True:
                message = await pubsub.get_message(timeout=quiet_s)
                yield None if message is None else message["data"]
        except (RedisError, OSError):
            await asyncio.sleep(0.2)
        finally:
            await pubsub.aclose()
