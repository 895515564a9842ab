"""Work that goes on for as long as the process does."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

log = logging.getLogger(__name__)

_PAUSE_S = 0.2


@asynccontextmanager
async def in_background(*loops: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    """Run loops while the block does; one that fails is begun anew, for without it everybody would wait for ever."""
    tasks = [asyncio.create_task(_kept_up(loop)) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _kept_up(loop: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await loop()
        except Exception:
            log.exception("work in the background failed, and is begun anew")
        await asyncio.sleep(_PAUSE_S)
