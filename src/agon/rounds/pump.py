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
_REST_RATIO = 9.0
_LONGEST_REST_S = 5.0
"""A look that found nothing is followed by a rest of so many times its length, this long at most: where very many
answers wait for an anchor's, looking must not keep the ledger busy."""


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
        loop = asyncio.get_running_loop()
        while True:
            rest_s, begun_s = _GATHER_S, loop.time()
            try:
                if not await self.turn():
                    rest_s = rest_after(loop.time() - begun_s)
            except Unavailable as error:
                log.warning("the pipeline of rounds waits: %s", error.message)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._stirred.wait()
            await asyncio.sleep(rest_s)
            self._stirred.clear()

    async def turn(self) -> int:
        """One look; returns how many batches were sent on.

        A batch whose job cannot be sent is found again when its lease is over.
        """
        sent = 0
        lease_s = self._settings.lease_s
        for batch, step in await self._ledger.overdue(lease_s):
            log.info("batch %s is taken up again, to %s", batch, step)
            await self._jobs.send(batch, step)
            self._measures.sent(again=True)
            sent += 1
        opened = await self._ledger.open_batches(
            in_flight=self._settings.in_flight, size=self._settings.batch_answers, lease_s=lease_s
        )
        for batch in opened:
            await self._jobs.send(batch, "score")
            self._measures.sent(again=False)
            sent += 1
        return sent


def rest_after(look_s: float) -> float:
    """Seconds to rest after a look of this length that found nothing."""
    return max(_GATHER_S, min(_LONGEST_REST_S, _REST_RATIO * look_s))
