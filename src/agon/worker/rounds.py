"""Rounds in a worker: the tasks of the pipeline, and what goes on beside them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from threading import Event
from typing import Any
from uuid import UUID

from celery import Celery, Task

from agon.bootstrap.pipeline import RoundsParts
from agon.core.errors import AgonError, Unavailable
from agon.rounds.names import BOARD_JOB, MERGE_JOB, SCORE_JOB
from agon.rounds.pipeline import LONGEST_TASK_S
from agon.telemetry import WorkerMetrics
from agon.worker.waiting import waiting

log = logging.getLogger(__name__)

RETRIES = 2
RETRY_S = 1
_TASK_S = LONGEST_TASK_S + 60
"""Whatever else takes this long hangs."""
_REBUILD_S = 2.0
_LOOK_S = 2.0
_LOAD_AGAIN_S = 2.0
_DRIFT_S = 60.0

Run = Callable[[Coroutine[Any, Any, None], float], None]
"""Runs a coroutine in the worker's loop for the thread that waits for it, so many seconds at most."""


def register_rounds(app: Celery, parts: RoundsParts, run: Run) -> None:
    """The steps of a batch. Each is told the batch alone; the ledger knows the rest."""
    pipeline = parts.pipeline

    @app.task(name=SCORE_JOB, bind=True, autoretry_for=(Unavailable,), max_retries=RETRIES, default_retry_delay=RETRY_S)
    def score(task: "Task[Any, Any]", batch: str) -> None:  # pyright: ignore[reportUnusedFunction]
        run(pipeline.score(UUID(batch), last_try=task.request.retries >= RETRIES), _TASK_S)

    @app.task(name=MERGE_JOB, autoretry_for=(Unavailable,), max_retries=RETRIES, default_retry_delay=RETRY_S)
    def merge(batch: str) -> None:  # pyright: ignore[reportUnusedFunction]
        run(pipeline.merge(UUID(batch)), _TASK_S)

    @app.task(name=BOARD_JOB, autoretry_for=(Unavailable,), max_retries=RETRIES, default_retry_delay=RETRY_S)
    def board(batch: str) -> None:  # pyright: ignore[reportUnusedFunction]
        run(pipeline.board(UUID(batch)), _TASK_S)


async def rebuild_boards(parts: RoundsParts) -> None:
    """Make boards that Redis has lost, or that nobody could make when they were due."""
    while True:
        with waiting("the boards of rounds"):
            await parts.boards.rebuild()
        await asyncio.sleep(_REBUILD_S)


async def state_backlog(parts: RoundsParts, metrics: WorkerMetrics) -> None:
    while True:
        with waiting("the figures of rounds"):
            metrics.stated(await parts.ledger.backlog())
        await asyncio.sleep(_LOOK_S)


async def watch_drift(parts: RoundsParts) -> None:
    """The guard knows when it is time to look; here it is only asked."""
    while True:
        await asyncio.sleep(_DRIFT_S)
        with waiting("a look at the drift"):
            await parts.reward.look()


async def load_scorers(parts: RoundsParts, preloaded: tuple[str, ...], ready: Event, metrics: WorkerMetrics) -> None:
    """Load what the rounds at hand need, and be ready then. What is asked for later is loaded when it is."""
    wanted: set[str] | None = None
    while wanted is None or wanted:
        with waiting("loading scorers"):
            if wanted is None:
                wanted = {*preloaded, *await parts.ledger.wanted_scorers()}
            for name in sorted(wanted):
                await _load(parts, name)
                wanted.discard(name)
            continue
        await asyncio.sleep(_LOAD_AGAIN_S)
    metrics.ready.set(1)
    ready.set()
    log.info("the worker is ready")


async def _load(parts: RoundsParts, name: str) -> None:
    """Raises `Unavailable`; a scorer that cannot ever be loaded is no reason to wait."""
    try:
        await parts.scorers.named(name)
    except Unavailable:
        raise
    except AgonError as error:
        log.error("scorer %s: %s", name, error.message)  # noqa: TRY400 - the operator needs no traceback of it
