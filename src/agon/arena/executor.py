"""How this gateway reserves turns and hands them on."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager

from agon.core.errors import Busy, Unavailable
from agon.core.placement import AnswerRef, Job, Placement
from agon.core.ports import Dispatch
from agon.dispatch.clearing import Clearing

log = logging.getLogger(__name__)

_LAST_WORK_S = 2.0


class Executor:
    """Holds what this gateway has reserved. Whatever happens to the caller, nothing stays counted that is not run."""

    def __init__(self, dispatch: Dispatch, clearing: Clearing) -> None:
        self.dispatch = dispatch
        self._clearing = clearing
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Finish what is being handed on."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_WORK_S)

    def release(self, refs: Sequence[AnswerRef]) -> None:
        """Take turns off that are held here or may be."""
        for ref in refs:
            self._clearing.ended(ref)

    @asynccontextmanager
    async def reservation(self) -> AsyncGenerator["Reservation"]:
        """A reservation that is released at the end of the block unless it was sent."""
        reservation = Reservation(self)
        try:
            yield reservation
        finally:
            self.release(reservation.unsent)

    async def reserve(self, jobs: Sequence[Job], client: str) -> Sequence[Placement]:
        placements = await self.dispatch.reserve(jobs, client=client)
        for placement in placements:
            self._clearing.hold(placement)
        return placements

    async def send(self, placements: Sequence[Placement]) -> None:
        """Hand turns on that the ledger has. It goes on when the caller is cancelled; without Redis they are left."""
        await asyncio.shield(self._spawn(self._send(placements)))

    async def _send(self, placements: Sequence[Placement]) -> None:
        refs = [placement.job.ref for placement in placements]
        for ref in refs:
            self._clearing.moved(ref)
        try:
            await self.dispatch.send(placements)
        except Unavailable as error:
            # The ledger has the turns: a runner finds there what nobody holds.
            log.warning("%d turns were not handed on: %s", len(refs), error.message)
            self.release(refs)

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class Reservation:
    """Turns that are counted on replicas, before the ledger knows them."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._placements: Sequence[Placement] = ()
        self.unsent: Sequence[AnswerRef] = ()

    async def reserve(self, jobs: Sequence[Job], *, client: str) -> None:
        # Noted before: if the answer does not reach us they may be counted all the same.
        self.unsent = [job.ref for job in jobs]
        try:
            self._placements = await self._executor.reserve(jobs, client)
        except Busy:
            self.unsent = ()
            raise

    async def send(self) -> bool:
        """Send them, after the commit; false if there were none."""
        placements, self._placements, self.unsent = self._placements, (), ()
        if placements:
            await self._executor.send(placements)
        return bool(placements)
