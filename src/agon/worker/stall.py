"""A worker that takes no jobs though there are some, as can happen after Redis was restarted, has to be begun anew.

The client library may go on as if nothing were wrong and never read its queue again (celery/celery#10205).
"""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

from agon.core.errors import Unavailable

log = logging.getLogger(__name__)

STALL_S = 15.0
EXIT_STALLED = 70
_LOOK_S = 1.0


class Stall:
    """How long jobs have waited while this process had nothing to do. Time is passed in."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._taken = 0

    def look(self, now: float, *, waiting: int, running: int, taken: int) -> float:
        """Seconds; `taken` counts all jobs that were ever begun here."""
        if not waiting or running or taken != self._taken or self._since is None:
            self._since = now if waiting and not running else None
        self._taken = taken
        return 0.0 if self._since is None else now - self._since


class Running:
    """Jobs that run in this process, counted by the threads that run them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.running = 0
        self.taken = 0

    @contextmanager
    def one(self) -> Generator[None]:
        with self._lock:
            self.running += 1
            self.taken += 1
        try:
            yield
        finally:
            with self._lock:
                self.running -= 1


async def end_when_stalled(
    running: Running, waiting: Callable[[], Awaitable[int]], tell: Callable[[float], None]
) -> None:
    """Watch, and end the process in the hope that somebody begins it anew, as supervisors do."""
    stall, clock = Stall(), asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(_LOOK_S)
        try:
            count = await waiting()
        except Unavailable:
            continue
        stalled_s = stall.look(clock(), waiting=count, running=running.running, taken=running.taken)
        tell(stalled_s)
        if stalled_s > STALL_S:
            log.critical("%d jobs have waited for %.0f s and none is taken: this worker ends", count, stalled_s)
            logging.shutdown()
            os._exit(EXIT_STALLED)
