"""Notices that a client has gone away before it has its answer."""

import asyncio
from types import TracebackType
from typing import Self

from agon.api.middleware import Receive

_PATIENCE_S = 0.03
"""Most answers begin and many end within this; a watch for each of those would cost more than it saves."""


class Departure:
    """Cancels the work inside it when the client goes, and swallows that cancellation at its end."""

    __slots__ = ("_gone", "_receive", "_task", "_timer", "_watch")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False
        self._watch: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_S, self._begin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._gone and kind is asyncio.CancelledError:
            self._task.uncancel()
            return True
        return False

    def _begin(self) -> None:
        self._watch = asyncio.get_running_loop().create_task(self._wait())

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self._task.cancel()
