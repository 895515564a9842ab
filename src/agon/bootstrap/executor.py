"""A gateway as an executor: it holds turns while it places them, and those that it passes straight on to a server."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from agon.bootstrap.background import in_background
from agon.core.errors import Unavailable
from agon.core.placement import ReplicaReport
from agon.core.ports import Dispatch
from agon.dispatch.clearing import Clearing

log = logging.getLogger(__name__)

_BEAT_S = 0.4

Reports = Callable[[], Sequence[ReplicaReport]]


@asynccontextmanager
async def executing(dispatch: Dispatch, clearing: Clearing, reports: Reports) -> AsyncGenerator[None]:
    """Tell dispatch, while the block runs, that this process lives, what it holds and what it has measured."""
    try:
        async with in_background(clearing.run, partial(_beat, dispatch, clearing, reports)):
            yield
    finally:
        await clearing.flush()
        with suppress(Unavailable):
            await dispatch.leave()


async def _beat(dispatch: Dispatch, clearing: Clearing, reports: Reports) -> None:
    while True:
        try:
            await dispatch.beat(clearing.holdings.beat(reports(), time.monotonic()))
        except Unavailable as error:
            log.warning("%s", error.message)
        await asyncio.sleep(_BEAT_S)
