"""Group commit: what arrives while one commit runs goes into the next, so a commit is shared by all who wait.

No timer: an idle ledger commits a lone item at once, a busy one fills its batches by itself.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from agon.core.errors import AgonError, Unavailable

Item = TypeVar("Item")
Result = TypeVar("Result")


class GroupCommit(Generic[Item, Result]):
    """Runs `commit` over batches of what is submitted, one batch at a time.

    `commit` writes a batch in one transaction and returns a result or an error for each item, in order. It must be
    safe to repeat: when the connection breaks, nobody knows whether the commit went through, and the batch is tried
    again until `patience_s` is over.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Item]], Awaitable[Sequence[Result | AgonError]]],
        *,
        max_batch: int = 512,
        patience_s: float = 8.0,
    ) -> None:
        self._commit = commit
        self._max_batch = max_batch
        self._patience_s = patience_s
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        """Returns after the commit that holds the item."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._drain())
        return await future

    async def close(self) -> None:
        """Let what was submitted finish."""
        if self._worker is not None:
            with suppress(asyncio.CancelledError):
                await self._worker

    async def _drain(self) -> None:
        while self._waiting:
            await self._write([self._waiting.popleft() for _ in range(min(len(self._waiting), self._max_batch))])

    async def _write(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._patiently([item for item, _ in batch])
        except AgonError as error:
            results = [error] * len(batch)
        except Exception as error:  # noqa: BLE001 - a bug is raised to the one who meets it
            if len(batch) == 1:
                _, future = batch[0]
                if not future.done():
                    future.set_exception(error)
                return
            # One item that cannot be written is no reason to lose the others; by halves it is found soon.
            middle = len(batch) // 2
            await self._write(batch[:middle])
            await self._write(batch[middle:])
            return
        for (_, future), result in zip(batch, results, strict=True):
            _resolve(future, result)

    async def _patiently(self, items: Sequence[Item]) -> Sequence[Result | AgonError]:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self._patience_s
        while True:
            try:
                return await self._commit(items)
            except Unavailable:
                if loop.time() > give_up_at:
                    raise
                await asyncio.sleep(0.1)


def _resolve(future: asyncio.Future[Result], result: Result | AgonError) -> None:
    if future.done():
        return  # The one who waited has gone; the item is written all the same.
    if isinstance(result, AgonError):
        future.set_exception(result)
    else:
        future.set_result(result)
