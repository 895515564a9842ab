"""Rounds as those see them who watch: how far they are, and their boards."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from agon.core.errors import Unavailable
from agon.core.round_ports import Progress, RoundLedger
from agon.core.rounds import Round
from agon.rounds.board_page import Standings
from agon.rounds.boards import RoundBoardReader

_LOOK_S = 1.0
"""How often progress is looked at, once for all who watch a round in this process."""
_REST_PER_WORK = 10
"""A round whose progress takes long to count is looked at so much more seldom."""
_QUIET_S = 15.0


@dataclass(frozen=True, slots=True)
class RoundState:
    """A round and where its answers are."""

    round: Round
    progress: tuple[Progress, ...]


class RoundWatching:
    """What is new of a round, for everybody who watches it. For one event loop."""

    def __init__(self, ledger: RoundLedger, boards: RoundBoardReader) -> None:
        self._ledger = ledger
        self._boards = boards
        self._looks: dict[UUID, _Look] = {}

    async def state(self, round_id: UUID) -> RoundState:
        """As it is now. Raises `NotFound`."""
        found = await self._ledger.find(round_id)
        return RoundState(found, tuple(await self._ledger.progress(round_id)))

    async def events(self, round_id: UUID) -> AsyncGenerator[RoundState | Standings | None]:
        """Its state and its board, at once and whenever they change; `None` now and then while it is quiet."""
        changed = asyncio.Event()
        following = asyncio.create_task(self._follow(round_id, changed))
        state: RoundState | None = None
        board: Standings | None = None
        spoke_s = time.monotonic()
        try:
            while True:
                looked = await self._look(round_id)
                if looked != state:
                    state, spoke_s = looked, time.monotonic()
                    yield looked
                if following.done():
                    following.result()
                if changed.is_set():
                    changed.clear()
                    found = await self._board(round_id)
                    if found is not None and found != board:
                        board, spoke_s = found, time.monotonic()
                        yield found
                if time.monotonic() - spoke_s > _QUIET_S:
                    spoke_s = time.monotonic()
                    yield None
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), _LOOK_S)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _follow(self, round_id: UUID, changed: asyncio.Event) -> None:
        async for _ in self._boards.changes(round_id):
            changed.set()

    async def _board(self, round_id: UUID) -> Standings | None:
        try:
            return await self._boards.standings(round_id)
        except Unavailable as error:
            if error.code != "board_not_made":
                raise
            return None  # The one who makes it says so.

    async def _look(self, round_id: UUID) -> RoundState:
        """The state as somebody saw it a moment ago."""
        now_s = time.monotonic()
        look = self._looks.get(round_id)
        if look is None or look.stale(now_s):
            self._looks = {each: one for each, one in self._looks.items() if not one.stale(now_s)}
            look = self._looks[round_id] = _Look(now_s, asyncio.create_task(self.state(round_id)))
            look.task.add_done_callback(look.end)
        # Whoever leaves lets the others have it.
        return await asyncio.shield(look.task)


@dataclass(slots=True)
class _Look:
    begun_s: float
    task: asyncio.Task[RoundState]
    fresh_until_s: float = math.inf

    def end(self, task: asyncio.Task[RoundState]) -> None:
        now_s = time.monotonic()
        failed = task.cancelled() or task.exception() is not None
        # A little less than the watchers' pace, or each would see what is one look old.
        rest_s = max(_LOOK_S * 0.8, _REST_PER_WORK * (now_s - self.begun_s))
        self.fresh_until_s = now_s if failed else self.begun_s + rest_s

    def stale(self, now_s: float) -> bool:
        return now_s >= self.fresh_until_s
