"""Background jobs: Celery on the same Redis. A job only says that there is work; the ledger knows what it is."""

import asyncio
import logging
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from celery import Celery, chain
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from agon.boards.names import REFRESH_JOB
from agon.core.errors import Unavailable
from agon.rounds.names import JOBS
from agon.rounds.pipeline import LONGEST_TASK_S

log = logging.getLogger(__name__)

_QUEUE = "agon"
_VISIBILITY_S = int(2 * LONGEST_TASK_S)
"""From then on a job that nobody has acknowledged is believed to be lost. The ledger's leases find it long before."""
_GATHER_S = 0.05
"""Votes within this time share one job."""


def celery_app(redis_url: str, prefix: str) -> Celery:
    """The Celery application, for those who send jobs and those who run them."""
    options = {
        "global_keyprefix": f"{prefix}:jobs:",
        "visibility_timeout": _VISIBILITY_S,
        # A killed worker's jobs come back within seconds rather than after Celery's minutes.
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        "socket_timeout": 10,
    }
    app = Celery("agon", broker=_broker_url(redis_url), set_as_current=False)
    app.conf.update(
        broker_transport_options=options,
        # Said in each of the places where it is looked for: whichever is asked must not believe in a shorter one.
        result_backend_transport_options={"visibility_timeout": _VISIBILITY_S},
        visibility_timeout=_VISIBILITY_S,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        task_ignore_result=True,
        task_acks_late=True,
        task_default_queue=_QUEUE,
        task_serializer="json",
        accept_content=["json"],
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
    )
    return app


def _broker_url(redis_url: str) -> str:
    """The address as Celery writes it: it has its own word for unix sockets."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={database}"


class RoundJobs:
    """`BatchJobs` on Celery: a chain of the steps that a batch has before it."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    async def send(self, batch: UUID, step: str) -> None:
        try:
            # In a thread: the client blocks while Redis is away.
            await asyncio.to_thread(self._send, str(batch), step)
        except (OperationalError, RedisError, OSError) as error:
            raise Unavailable("The jobs cannot be sent just now.", code="bus_unavailable") from error

    def _send(self, batch: str, step: str) -> None:
        steps = list(JOBS)
        signatures = [
            self._app.signature(JOBS[each], args=(batch,), immutable=True) for each in steps[steps.index(step) :]
        ]
        chain(*signatures, app=self._app).apply_async(retry=False)

    async def waiting(self) -> int:
        """Jobs that no worker has taken. Raises `Unavailable`."""
        try:
            return await asyncio.to_thread(self._waiting)
        except (OperationalError, RedisError, OSError) as error:
            raise Unavailable("The jobs cannot be counted just now.", code="bus_unavailable") from error

    def _waiting(self) -> int:
        with self._app.connection_for_read() as connection:
            channel = cast("Any", connection.default_channel)
            return int(channel.queue_declare(_QUEUE).message_count)


class BoardJobs:
    """Says that votes have come. Never waits and never fails: the worker also looks by itself."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._pending: asyncio.Task[None] | None = None

    def votes_came(self) -> None:
        if self._pending is None or self._pending.done():
            self._pending = asyncio.create_task(self._send_soon())

    async def close(self) -> None:
        if self._pending is not None:
            await self._pending
        await asyncio.to_thread(self._app.close)

    async def _send_soon(self) -> None:
        await asyncio.sleep(_GATHER_S)
        try:
            # In a thread: the client blocks while Redis is away.
            await asyncio.to_thread(self._app.send_task, REFRESH_JOB, expires=10, retry=False)
        except (OperationalError, RedisError, OSError) as error:
            log.warning("the board's job could not be sent: %s", error)
