"""Says through Redis that answers came, so that the pipeline need not wait until it looks by itself. Best effort."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from agon.core.errors import Unavailable
from agon.stores.redis.bus import subscription
from agon.stores.redis.client import Keys, connect, translated

log = logging.getLogger(__name__)

_GATHER_S = 0.02
"""Answers within this time share one word."""


class AnswerNews:
    """Both ends: whoever writes answers calls `came`, workers follow `heard`. Bound to the loop that uses it."""

    def __init__(self, url: str, *, prefix: str = "agon") -> None:
        self._client = connect(url)
        self._blocking = connect(url, blocking=True)
        self._channel = Keys(prefix).answers
        self._telling: asyncio.Task[None] | None = None

    def came(self) -> None:
        """Never waits and never fails: workers also look by themselves."""
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_soon())

    async def heard(self) -> AsyncGenerator[None]:
        """Each time somebody says so, and whenever somebody may have."""
        async with aclosing(subscription(self._blocking, self._channel)) as messages:
            async for _ in messages:
                yield

    async def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            with suppress(asyncio.CancelledError):
                await self._telling
        await self._client.aclose()
        await self._blocking.aclose()

    async def _tell_soon(self) -> None:
        await asyncio.sleep(_GATHER_S)
        try:
            with translated():
                await self._client.publish(self._channel, "came")  # pyright: ignore[reportUnknownMemberType]
        except Unavailable as error:
            log.warning("that answers came was not told: %s", error.message)
