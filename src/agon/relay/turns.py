"""The turns that this process runs itself: told to the balance at once, without anybody waiting for it."""

import asyncio
import logging
from collections.abc import Callable

from agon.core.errors import Unavailable
from agon.core.placement import AnswerRef, Placement
from agon.core.ports import Dispatch
from agon.dispatch.holdings import Holdings

log = logging.getLogger(__name__)


class Turns:
    """Keeps `holdings`, of which beats are made, and tells `dispatch`, all of one moment in one call.

    What cannot be told because Redis is away is not told again: the next beat states what is held, and all else drops.
    """

    def __init__(self, dispatch: Dispatch, holdings: Holdings, monotonic_s: Callable[[], float]) -> None:
        self._dispatch = dispatch
        self._holdings = holdings
        self._monotonic_s = monotonic_s
        self._spoke: list[AnswerRef] = []
        self._over: dict[AnswerRef, int | None] = {}
        self._telling: asyncio.Task[None] | None = None

    def now_s(self) -> float:
        return self._monotonic_s()

    def hold(self, placement: Placement, max_tokens: int | None) -> None:
        """A turn was counted for us."""
        self._holdings.add(placement)
        if max_tokens is not None:
            self._holdings.bound(placement.job.ref, max_tokens)

    def spoke(self, ref: AnswerRef) -> None:
        """Its first token is there."""
        self._holdings.spoke(ref, self._monotonic_s())
        self._spoke.append(ref)
        self._tell_soon()

    def wrote(self, ref: AnswerRef, tokens: int) -> None:
        self._holdings.wrote(ref, tokens)

    def over(self, ref: AnswerRef, *, wrote: int | None = None, since_s: float | None = None) -> None:
        """It has ended, or may never have been counted; `wrote` are the tokens of one that came to its own end.

        `since_s` is when one began whose tokens came all at once.
        """
        if wrote is not None and since_s is not None:
            self._holdings.spoke(ref, since_s)
            self._holdings.wrote(ref, wrote)
        self._holdings.ended(ref, self._monotonic_s())
        self._over[ref] = wrote
        self._tell_soon()

    def passed_on(self, ref: AnswerRef) -> None:
        """Another executor holds it now."""
        self._holdings.ended(ref, self._monotonic_s())

    async def close(self) -> None:
        """Tell what is left to be told."""
        while self._telling is not None:
            await self._telling

    def _tell_soon(self) -> None:
        if self._telling is None:
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        try:
            while self._spoke or self._over:
                spoke, self._spoke = self._spoke, []
                over, self._over = self._over, {}
                wrote = {ref: tokens for ref, tokens in over.items() if tokens is not None}
                speaking = [ref for ref in spoke if ref not in over]
                if speaking:
                    await self._dispatch.speak(speaking)
                if over:
                    await self._dispatch.release(list(over), wrote=wrote)
        except Unavailable as error:
            log.warning("%s", error.message)
        finally:
            self._telling = None
