"""An event loop in a thread: the use cases are asynchronous, Celery's tasks are not."""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines for threads that wait for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agon-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result], timeout_s: float | None = None) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run in the background; an error that it lets out is a bug, and is logged."""
        asyncio.run_coroutine_threadsafe(work, self._loop).add_done_callback(_log_bug)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)


def _log_bug(done: Future[None]) -> None:
    if not done.cancelled() and done.exception() is not None:
        log.error("background work ended with an error", exc_info=done.exception())
