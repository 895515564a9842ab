"""Keeps the live board of a worker, and behind it the other pages."""

import asyncio

from agon.bootstrap.worker import BoardParts
from agon.worker.waiting import waiting

_SWEEP_S = 1.0


class BoardKeeper:
    """The live board of this worker, refreshed by jobs and by a sweep, one at a time; and behind it the other pages."""

    def __init__(self, parts: BoardParts) -> None:
        self._parts = parts
        self._turn = asyncio.Lock()
        self._stirred = asyncio.Event()

    async def refresh(self) -> None:
        async with self._turn:
            await self._parts.live.refresh()
        self._stirred.set()

    async def sweep(self) -> None:
        """Look for votes whose job was lost, and for a board that Redis has lost."""
        while True:
            with waiting("the board"):
                async with self._turn:
                    await self._parts.live.refresh_if_needed()
            self._stirred.set()
            await asyncio.sleep(_SWEEP_S)

    async def listen(self) -> None:
        """Hear at once that somebody wants a page that is not there."""
        async for _ in self._parts.boards.wants():
            self._stirred.set()

    async def keep_pages(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            with waiting("a page"):
                if await self._parts.pages.read_texts():
                    self._stirred.set()
                await self._parts.pages.keep()
