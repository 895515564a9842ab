"""The live board: follows the ledger's votes and publishes ratings as they move."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import numpy as np

from agon.boards.columns import DAY_S, VoteColumns, VoteRows
from agon.boards.first_tokens import FirstTokens
from agon.boards.pages import Setting, board_from
from agon.boards.projections import Projections
from agon.core.board import Board, ForfeitRule, View
from agon.core.board_ports import BoardStore, RankedVote, VoteSource
from agon.core.errors import Conflict
from agon.core.ports import ContestantLedger
from agon.ranking.elo import EloState, VoteKey, elo_in_order
from agon.ranking.leaderboard import leaderboard

_MAX_AGE_S = 10.0
"""Times to first token and the roster change without votes; the board follows them this often."""


class LiveBoard:
    """Holds every vote so far, as columns and as counts; `refresh` counts the new ones and publishes.

    One call at a time. It starts from nothing, so a new one recounts the ledger; that is also the cure when Redis has
    lost the board.
    """

    def __init__(
        self,
        *,
        votes: VoteSource,
        contestants: ContestantLedger,
        boards: BoardStore,
        min_battles: int,
        now: Callable[[], datetime],
        forfeit: ForfeitRule = ForfeitRule.LOSS,
    ) -> None:
        self._source = votes
        self._contestants = contestants
        self._first_tokens = FirstTokens(votes, now)
        self._boards = boards
        self._min_battles = min_battles
        self._now = now
        self._cursor: str | None = None
        self._projections = Projections()
        self._forfeit = forfeit
        self._elo = EloState()
        self._played = 0
        self._published: Board | None = None
        self._published_at = now()
        self._described = 0
        self.columns = VoteColumns(forfeit)
        self.setting: Setting | None = None
        """What the last board was made with; `None` before the first."""

    async def refresh(self) -> Board:
        """Count what is new and publish the board. Costs the same however many votes were counted before."""
        fresh = await self._read()
        present = [contestant.name for contestant in await self._contestants.contestants()]
        self.columns.know(present)
        rows = self.columns.rows()
        self._play(fresh, rows)
        self._published_at = self._now()
        self.setting = setting_at(self._published_at, present, self._min_battles, await self._first_tokens.medians_ms())
        self._published = self._board(rows, self.setting)
        self._described = rows.described
        await self._boards.publish(self._published)
        return self._published

    async def refresh_if_needed(self) -> None:
        """Refresh if there are new votes, if the board is not the one last published, or if it is getting old."""
        published = await self._boards.board(View())
        page = await self._source.votes_after(self._cursor)
        if page.votes or not _alike(published, self._published) or self._is_old():
            await self.refresh()

    async def _read(self) -> Sequence[RankedVote]:
        """Take in all that is new, a page at a time; the last page, which is mostly the only one."""
        while True:
            page = await self._source.votes_after(self._cursor)
            self.columns.add(page.votes)
            self._cursor = page.cursor
            if not page.more:
                return page.votes

    def _is_old(self) -> bool:
        aged = (self._now() - self._published_at).total_seconds() > _MAX_AGE_S
        return aged or self.columns.rows().described > self._described

    def _play(self, fresh: Sequence[RankedVote], rows: VoteRows) -> None:
        """Take the newest votes into the Elo ratings, or all of them if these are not all that is not played yet."""
        try:
            self._elo = self._followed(fresh) if self._played + len(fresh) == len(rows) else replayed(rows)
        except Conflict:
            # A vote with an earlier time committed later. Elo depends on the order, so play them all again.
            self._elo = replayed(rows)
        self._played = len(rows)

    def _followed(self, fresh: Sequence[RankedVote]) -> EloState:
        elo = self._elo
        for vote in fresh:
            if not vote.forfeit or self._forfeit is ForfeitRule.LOSS:
                key = VoteKey(vote.created_at.timestamp(), _padded(vote.id))
                elo = elo.apply(key, vote.contestant_a, vote.contestant_b, vote.winner)
        return elo

    def _board(self, rows: VoteRows, setting: Setting) -> Board:
        view = View()
        counts = self._projections.counts(rows, view, setting.today)
        start = self._projections.last_fit(view)
        result = leaderboard(counts, elo=self._elo, min_battles=self._min_battles, start=start)
        self._projections.keep_fit(view, result.fit)
        return board_from(view, result, rows, setting)


def setting_at(now: datetime, present: Sequence[str], min_battles: int, ttft_ms: Mapping[str, float]) -> Setting:
    return Setting(frozenset(present), min_battles, ttft_ms, written(now), day_of(now))


def written(now: datetime) -> str:
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def day_of(now: datetime) -> int:
    """The UTC day since the epoch."""
    return int(now.timestamp() // DAY_S)


def replayed(rows: VoteRows) -> EloState:
    """Elo of all rows that count, from the start, in order of time."""
    counted = rows.chosen(View(), today=0)
    # By numbers, for the keys as text would take more memory than all columns together.
    places = counted[np.lexsort((rows.ids[counted], rows.times[counted]))]
    if not places.size:
        return EloState()
    ratings = elo_in_order(rows.models, rows.first[places], rows.second[places], rows.winners[places], whole=True)
    last = int(places[-1])
    return EloState(ratings=ratings, last=VoteKey(float(rows.times[last]), _padded(int(rows.ids[last]))))


def _alike(one: Board | None, other: Board | None) -> bool:
    return one is not None and other is not None and one.rows == other.rows


def _padded(vote: int) -> str:
    # Ids are compared as text, so they are padded to sort as the numbers that they are.
    return f"{vote:020d}"
