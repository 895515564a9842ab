"""Puts the worker together: tasks, what goes on without any, and what it says of itself."""

import logging
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack, ExitStack
from typing import Any

from celery import Celery

from agon.boards.names import REFRESH_JOB
from agon.bootstrap.addresses import jobs
from agon.bootstrap.pipeline import rounds_parts
from agon.bootstrap.scorers import REWARD
from agon.bootstrap.worker import board_parts
from agon.config import Settings
from agon.core.errors import Unavailable
from agon.telemetry import CacheMetrics, WorkerMetrics
from agon.worker.boards import BoardKeeper
from agon.worker.endpoint import serve_state
from agon.worker.loop import LoopThread
from agon.worker.rounds import Run, load_scorers, rebuild_boards, register_rounds, state_backlog, watch_drift
from agon.worker.stall import Running, end_when_stalled

_TASK_S = 60.0
_CLOSE_S = 5.0


def run_worker(settings: Settings) -> None:
    """Work until stopped."""
    loop, running, ready = LoopThread(), Running(), threading.Event()
    parts, app, metrics = AsyncExitStack(), jobs(settings), WorkerMetrics()
    with ExitStack() as stack:
        stack.callback(loop.close)
        stack.callback(lambda: loop.run(parts.aclose(), timeout_s=_CLOSE_S))
        keeper = BoardKeeper(loop.run(parts.enter_async_context(board_parts(settings)), timeout_s=_TASK_S))
        rounds = loop.run(
            parts.enter_async_context(rounds_parts(settings, app, metrics=metrics, caches=CacheMetrics())),
            timeout_s=_TASK_S,
        )

        def run(work: Coroutine[Any, Any, None], timeout_s: float) -> None:
            with running.one():
                loop.run(work, timeout_s=timeout_s)

        _register_boards(app, keeper, run)
        register_rounds(app, rounds, run)
        preloaded = (REWARD,) if settings.scoring.preload else ()
        for work in (
            keeper.sweep(),
            keeper.listen(),
            keeper.keep_pages(),
            rebuild_boards(rounds),
            state_backlog(rounds, metrics),
            watch_drift(rounds),
            load_scorers(rounds, preloaded, ready, metrics),
            end_when_stalled(running, rounds.jobs.waiting, metrics.stall_s.set),
        ):
            loop.spawn(work)
        if settings.server.worker_metrics_port:
            host, port = settings.server.worker_metrics_host, settings.server.worker_metrics_port
            stack.enter_context(serve_state(host, port, metrics.registry, ready))
        # A line for each job would say nothing, thousands of times; what goes wrong is said all the same.
        for name in ("celery.worker.strategy", "celery.app.trace"):
            logging.getLogger(name).setLevel(logging.WARNING)
        # Threads: the model that scores answers is shared by all of them. One more than batches, for the live board.
        options = ["--pool", "threads", "--concurrency", str(settings.rounds.in_flight + 1)]
        quiet = ["--without-gossip", "--without-mingle", "--loglevel", settings.log_level]
        app.worker_main(["worker", *options, *quiet])


def _register_boards(app: Celery, keeper: BoardKeeper, run: Run) -> None:
    @app.task(name=REFRESH_JOB, autoretry_for=(Unavailable,), max_retries=2, default_retry_delay=1)
    def refresh_board() -> None:  # pyright: ignore[reportUnusedFunction]
        run(keeper.refresh(), _TASK_S)
