"""Puts the worker together: the tasks, and a sweep that needs no job to find work."""

import asyncio
import logging
from contextlib import AsyncExitStack

from celery import Celery

from agon.boards.live import LiveBoard
from agon.boards.names import REFRESH_JOB
from agon.bootstrap.addresses import jobs
from agon.bootstrap.worker import live_board
from agon.config import Settings
from agon.core.errors import Unavailable
from agon.worker.loop import LoopThread

log = logging.getLogger(__name__)

_SWEEP_S = 1.0
_TASK_S = 60.0


class BoardKeeper:
    """The live board of this worker, refreshed by jobs and by a sweep, one at a time."""

    def __init__(self, board: LiveBoard) -> None:
        self._board = board
        self._turn = asyncio.Lock()

    async def refresh(self) -> None:
        async with self._turn:
            await self._board.refresh()

    async def sweep(self) -> None:
        """Look for votes whose job was lost, and for a board that Redis has lost."""
        while True:
            try:
                async with self._turn:
                    await self._board.refresh_if_needed()
            except Unavailable as error:
                log.warning("the board waits: %s", error.message)
            await asyncio.sleep(_SWEEP_S)


def run_worker(settings: Settings) -> None:
    """Work until stopped."""
    loop = LoopThread()
    stack = AsyncExitStack()
    keeper = BoardKeeper(loop.run(stack.enter_async_context(live_board(settings)), timeout_s=_TASK_S))
    app = jobs(settings)
    register_tasks(app, keeper, loop)
    loop.spawn(keeper.sweep())
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
