"""Puts the worker together: the tasks, and a sweep that needs no job to find work."""

import asyncio
import logging
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager

from celery import Celery

from agon.boards.names import REFRESH_JOB
from agon.bootstrap.addresses import jobs
from agon.bootstrap.worker import BoardParts, board_parts
from agon.config import Settings
from agon.core.errors import Unavailable
from agon.worker.loop import LoopThread

log = logging.getLogger(__name__)

_SWEEP_S = 1.0
_TASK_S = 60.0


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
            with _waiting("the board"):
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
            with _waiting("a page"):
                if await self._parts.pages.read_texts():
                    self._stirred.set()
                await self._parts.pages.keep()


@contextmanager
def _waiting(what: str) -> Generator[None]:
    try:
        yield
    except Unavailable as error:
        log.warning("%s waits: %s", what, error.message)


def run_worker(settings: Settings) -> None:
    """Work until stopped."""
    loop = LoopThread()
    stack = AsyncExitStack()
    keeper = BoardKeeper(loop.run(stack.enter_async_context(board_parts(settings)), timeout_s=_TASK_S))
    app = jobs(settings)
    register_tasks(app, keeper, loop)
    for work in (keeper.sweep(), keeper.listen(), keeper.keep_pages()):
        loop.spawn(work)
    # Threads: the model that scores answers will be shared by all of them.
    options = ["--pool", "threads", "--concurrency", "2", "--without-gossip", "--without-mingle"]
    try:
        app.worker_main(["worker", *options, "--loglevel", settings.log_level])
    finally:
        loop.run(stack.aclose(), timeout_s=5)
        loop.close()


def register_tasks(app: Celery, keeper: BoardKeeper, loop: LoopThread) -> None:
    @app.task(name=REFRESH_JOB, autoretry_for=(Unavailable,), max_retries=2, default_retry_delay=1)
    def refresh_board() -> None:  # pyright: ignore[reportUnusedFunction]
        loop.run(keeper.refresh(), timeout_s=_TASK_S)
