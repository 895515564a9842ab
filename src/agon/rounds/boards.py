"""Boards of rounds: made from the ledger, kept in Redis, and read there."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from uuid import UUID

from agon.core.errors import Unavailable
from agon.core.round_ports import RoundBoards, RoundLedger, StandingsSource
from agon.core.scoring import SCORE_UNIT
from agon.rounds.board_page import Standings, decode, encode
from agon.rounds.standings import standings

log = logging.getLogger(__name__)

_REST_S = 0.25
"""How long a board stands at least before it is made anew."""
_REST_PER_WORK = 4
"""A board that takes long to make is made so much more seldom: while a round runs it uses a fifth of a processor."""
_AWAY_S = 2.0
"""How long nothing is made for a server that was away."""
_LOOK_S = 0.1
_PAGES = 32


class RoundBoard:
    """Makes the boards of rounds. What was scored since a board was made is in the ledger, so `rebuild` finds it.

    It works in one loop; several processes may each have one.
    """

    def __init__(
        self, *, rounds: RoundLedger, source: StandingsSource, boards: RoundBoards, now: Callable[[], datetime]
    ) -> None:
        self._rounds = rounds
        self._source = source
        self._boards = boards
        self._now = now
        self._rest_until: dict[UUID, float] = {}
        self._soon: dict[UUID, asyncio.Task[None]] = {}
        self._away_until: dict[UUID, float] = {}

    async def publish(self, round_id: UUID) -> None:
        """The round's scores have changed: make its board now, or in a moment if it was made just now."""
        if round_id in self._soon:
            return
        now = asyncio.get_running_loop().time()
        wait = self._rest_until.get(round_id, 0.0) - now
        if wait > 0:
            self._soon[round_id] = asyncio.create_task(self._make_soon(round_id, wait))
            return
        self._rest_until = {each: until for each, until in self._rest_until.items() if until > now}
        # Whoever comes while it is being made has scores that may not be in it.
        self._rest_until[round_id] = now + _REST_S
        await self.make(round_id)

    async def make(self, round_id: UUID) -> bool:
        """Make the board at once; False if one of a later version is there. Raises `NotFound`."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        # In this order, so that a board of some version holds at least as many scores as the version says.
        totals = await self._source.totals(round_id)
        scores = await self._source.scores(round_id)
        of, progress = await self._rounds.find(round_id), await self._rounds.progress(round_id)
        page = await asyncio.to_thread(lambda: encode(standings(of, scores, progress, made_at=_written(self._now()))))
        means = {total.contestant: total.score / (total.scored * SCORE_UNIT) for total in totals if total.scored}
        version = sum(total.scored for total in totals)
        done = clock()
        self._rest_until[round_id] = done + max(_REST_S, _REST_PER_WORK * (done - begun))
        return await self._boards.publish(round_id, means, page, version)

    async def rebuild(self) -> int:
        """Make the boards that are lost or that lag behind the ledger, and say how many there were."""
        merged = await self._source.scored_rounds()
        there = await self._boards.there(tuple(merged))
        now = asyncio.get_running_loop().time()
        waiting = {*self._soon, *(each for each, until in self._away_until.items() if until > now)}
        due = [each for each, count in merged.items() if there.get(each, -1) < count and each not in waiting]
        return sum([await self._made(each) for each in due])

    async def close(self) -> None:
        """Make what is due at once."""
        due, self._soon = self._soon, {}
        for round_id, task in due.items():
            task.cancel()
            await self._made(round_id)

    async def _make_soon(self, round_id: UUID, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        # From here on what is scored is due anew.
        self._soon.pop(round_id, None)
        await self._made(round_id)

    async def _made(self, round_id: UUID) -> bool:
        """Make the board, unless the server that has it is away: the others' boards do not wait for that."""
        try:
            await self.make(round_id)
        except Unavailable as error:
            log.warning("the board of round %s waits: %s", round_id, error.message)
            self._away_until[round_id] = asyncio.get_running_loop().time() + _AWAY_S
            return False
        self._away_until.pop(round_id, None)
        return True


class RoundBoardReader:
    """Reads boards for those who ask, each page parsed once."""

    def __init__(
        self, *, rounds: RoundLedger, source: StandingsSource, boards: RoundBoards, patience_s: float = 2.0
    ) -> None:
        """The patience is for boards that are just being made."""
        self._patience_s = patience_s
        self._rounds = rounds
        self._source = source
        self._boards = boards
        self._pages: OrderedDict[UUID, tuple[str, Standings]] = OrderedDict()

    async def standings(self, round_id: UUID) -> Standings:
        """The board as it is now; before the first score, one without numbers.

        Raises `NotFound`, and `Unavailable` (`board_not_made`) while a lost board is being made anew.
        """
        page = await self._boards.page(round_id)
        if page is not None:
            return self._parsed(round_id, page)
        of, progress = await self._rounds.find(round_id), await self._rounds.progress(round_id)
        if any(total.scored for total in await self._source.totals(round_id)):
            return await self._awaited(round_id)
        return standings(of, (), progress, made_at=None)

    def changes(self, round_id: UUID) -> AsyncIterator[None]:
        """At once, each time the board changes, and now and then without a change."""
        return self._boards.changes(round_id)

    async def _awaited(self, round_id: UUID) -> Standings:
        for _ in range(round(self._patience_s / _LOOK_S)):
            await asyncio.sleep(_LOOK_S)
            page = await self._boards.page(round_id)
            if page is not None:
                return self._parsed(round_id, page)
        raise Unavailable("This board is just being made; ask again soon.", code="board_not_made")

    def _parsed(self, round_id: UUID, page: str) -> Standings:
        known = self._pages.get(round_id)
        if known is None or known[0] != page:
            known = self._pages[round_id] = (page, decode(page))
        self._pages.move_to_end(round_id)
        while len(self._pages) > _PAGES:
            self._pages.popitem(last=False)
        return known[1]


def _written(now: datetime) -> str:
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
