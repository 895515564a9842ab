"""Feeds the pipeline from the ledger: what was answered, and what somebody has left lying."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from agon.core.errors import Unavailable
from agon.core.round_ports import ScoringLedger

log = logging.getLogger(__name__)

LOOK_S = 0.5
_GATHER_S = 0.02
"""What comes within this time shares a look at the ledger."""


class BatchJobs(Protocol):
    async def send(self, batch: UUID, step: str) -> None:
        """Have a batch go on from a step, to its end. Never blocks the loop. Raises `Unavailable`."""
        ...


class PumpMeasures(Protocol):
    def sent(self, *, again: bool) -> None:
        """A batch's job was sent, for the first time or once more."""
        ...


@dataclass(frozen=True, slots=True)
class PumpSettings:
    in_flight: int = 3
    batch_answers: int = 256
    lease_s: float = 10.0


class Pump:
    """Opens batches and sends their jobs. Any number of workers may have one: the ledger bounds what is open."""

    def __init__(
        self, *, ledger: ScoringLedger, jobs: BatchJobs, settings: PumpSettings, measures: PumpMeasures
    ) -> None:
        self._ledger = ledger
        self._jobs = jobs
        self._settings = settings
        self._measures = measures
        self._stirred = asyncio.Event()

    def stir(self) -> None:
        """There may be something to do. Call it in the pump's loop."""
        self._stirred.set()

    async def run(self) -> None:
        """Until cancelled. It needs no stirring to find its work, only to find it at once."""
        while True:
            try:
                await self.turn()
            except Unavailable as error:
                log.warning("the pipeline of rounds waits: %s", error.message)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._stirred.wait()
            await asyncio.sleep(_GATHER_S)
            self._stirred.clear()

    async def turn(self) -> None:
        """One look. A batch whose job cannot be sent is found again when its lease is over."""
        lease_s = self._settings.lease_s
        for batch, step in await self._ledger.overdue(lease_s):
            log.info("batch %s is taken up again, to %s", batch, step)
            await self._jobs.send(batch, step)
            self._measures.sent(again=True)
        opened = await self._ledger.open_batches(
            in_flight=self._settings.in_flight, size=self._settings.batch_answers, lease_s=lease_s
        )
        for batch in opened:
            await self._jobs.send(batch, "score")
            self._measures.sent(again=False)
