"""Noticing that a client has gone away, also while there is nothing to write."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from agon.api.middleware import Receive


async def departure(receive: Receive) -> None:
    """Return when the client of a request whose body has been read is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def while_there(gone: Coroutine[Any, Any, object], work: Coroutine[Any, Any, None]) -> bool:
    """Do the work, unless `gone` ends before it; then it is cancelled. Whether it was done."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(gone)
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        done = working.done()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
    if done:
        working.result()
    return done
