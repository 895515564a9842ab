"""What becomes of the turns that a runner holds, told to dispatch a few at a time."""

import asyncio
import logging
from collections.abc import Callable

from agon.core.errors import Unavailable
from agon.core.placement import AnswerRef, Placement
from agon.core.ports import Dispatch
from agon.dispatch.holdings import Holdings

log = logging.getLogger(__name__)

_GATHER_S = 0.005


class Clearing:
    """Takes note at once, without waiting, so that it can be told on every way out; `run` does the telling.

    What cannot be told while the bus is away is left to the beats, whose figures are absolute.
    """

    def __init__(self, dispatch: Dispatch, monotonic_s: Callable[[], float]) -> None:
        self.holdings = Holdings()
        self._dispatch = dispatch
        self._monotonic_s = monotonic_s
        self._spoken: set[AnswerRef] = set()
        self._ended: dict[AnswerRef, int | None] = {}
        self._some = asyncio.Event()

    def hold(self, placement: Placement) -> None:
        ref = placement.job.ref
        self._ended.pop(ref, None)
        self._spoken.discard(ref)
        self.holdings.add(placement)

    def spoke(self, ref: AnswerRef) -> None:
        self.holdings.spoke(ref, self._monotonic_s())
        self._spoken.add(ref)
        self._some.set()

    def wrote(self, ref: AnswerRef, tokens: int) -> None:
        self.holdings.wrote(ref, tokens)

    def ended(self, ref: AnswerRef, *, tokens: int | None = None) -> None:
        """The turn is over; `tokens` are what it wrote, if it came to its own end."""
        self.moved(ref)
        self._ended[ref] = tokens
        self._some.set()

    def moved(self, ref: AnswerRef) -> None:
        """Another executor has the turn now."""
        self.holdings.ended(ref, self._monotonic_s())
        self._spoken.discard(ref)

    async def run(self) -> None:
        while True:
            await self._some.wait()
            await asyncio.sleep(_GATHER_S)
            await self.flush()

    async def flush(self) -> None:
        self._some.clear()
        spoken, self._spoken = self._spoken, set()
        ended, self._ended = self._ended, {}
        try:
            if spoken:
                await self._dispatch.speak([*spoken])
            if ended:
                wrote = {ref: tokens for ref, tokens in ended.items() if tokens is not None}
                await self._dispatch.release([*ended], wrote=wrote)
        except Unavailable as error:
            log.warning("%s", error.message)
        except asyncio.CancelledError:
            # Whoever ends flushes once more: what is not told then is run again by others.
            self._ended = ended | self._ended
            raise
