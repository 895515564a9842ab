"""Median times to first token, which cost more to find than a board and move slowly."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from agon.core.board_ports import VoteSource
from agon.core.errors import Unavailable

_REST_PER_WORK = 20
"""Finding them takes at most a twentieth of the time."""
_BRIEF = timedelta(seconds=0.05)
"""A board waits for medians that are found as quickly as this."""


class FirstTokens:
    """Looks at the ledger now and then, and mostly without anybody waiting for it."""

    def __init__(self, source: VoteSource, now: Callable[[], datetime]) -> None:
        self._source = source
        self._now = now
        self._found: Mapping[str, float] | None = None
        self._took = timedelta()
        self._again = now()
        self._looking: asyncio.Task[None] | None = None

    async def medians_ms(self) -> Mapping[str, float]:
        """The latest medians by contestant; the first call waits for them."""
        if self._found is None or (self._now() >= self._again and self._took <= _BRIEF):
            return await self._look()
        if self._now() >= self._again and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_meanwhile())
        return self._found

    async def _look(self) -> Mapping[str, float]:
        begun = self._now()
        found = await self._source.ttft_medians_ms()
        done = self._now()
        self._took = done - begun
        self._again = done + _REST_PER_WORK * self._took
        self._found = found
        return found

    async def _look_meanwhile(self) -> None:
        with suppress(Unavailable):  # The next board asks again.
            await self._look()
