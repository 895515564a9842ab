"""The live board: follows the ledger's votes and publishes ratings as they move."""

from collections.abc import Callable, Sequence
from datetime import datetime

from agon.boards.names import MAIN
from agon.core.board import Board, BoardNote, BoardRow
from agon.core.errors import Conflict
from agon.core.ports import BoardStore, ContestantLedger, RankedVote, VoteSource
from agon.ranking.bradley_terry import BradleyTerry
from agon.ranking.elo import EloRules, EloState, VoteKey, elo_pass
from agon.ranking.leaderboard import Leaderboard, Row, leaderboard
from agon.ranking.outcomes import PairCounts, winner_codes

_MAX_AGE_S = 10.0
"""Times to first token and the roster change without votes; the board follows them this often."""


class LiveBoard:
    """Holds the counts of every vote so far; `refresh` counts the new ones and publishes.

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
    ) -> None:
        self._source = votes
        self._contestants = contestants
        self._boards = boards
        self._min_battles = min_battles
        self._now = now
        self._cursor: str | None = None
        self._counts = PairCounts.empty()
        self._elo = EloState()
        self._fit: BradleyTerry | None = None
        self._published: Board | None = None
        self._published_at = now()

    async def refresh(self) -> Board:
        """Count what is new and publish the board. Costs the same however many votes were counted before."""
        page = await self._source.votes_after(self._cursor)
        await self._count(page.votes)
        self._cursor = page.cursor
        present = [contestant.name for contestant in await self._contestants.contestants()]
        self._counts = self._counts.with_models(present)
        result = leaderboard(self._counts, elo=self._elo, min_battles=self._min_battles, start=self._fit)
        self._fit = result.fit
        self._published_at = self._now()
        self._published = await self._board(result, set(present))
        await self._boards.publish(self._published)
        return self._published

    async def refresh_if_needed(self) -> None:
        """Refresh if there are new votes, if the board is not the one last published, or if it is getting old."""
        published = await self._boards.board(MAIN)
        page = await self._source.votes_after(self._cursor)
        if page.votes or not _alike(published, self._published) or self._age_s() > _MAX_AGE_S:
            await self.refresh()

    def _age_s(self) -> float:
        return (self._now() - self._published_at).total_seconds()

    async def _count(self, votes: Sequence[RankedVote]) -> None:
        if not votes:
            return
        self._counts = counted(self._counts, votes)
        try:
            for vote in votes:
                self._elo = self._elo.apply(_key(vote), vote.contestant_a, vote.contestant_b, vote.winner)
        except Conflict:
            # A vote with an earlier time committed later. Elo depends on the order, so play them all again.
            everything = await self._source.votes_after(None)
            self._elo = replayed(everything.votes)
            self._counts = counted(PairCounts.empty(), everything.votes)
            self._cursor = everything.cursor

    async def _board(self, result: Leaderboard, present: set[str]) -> Board:
        ttft_ms = await self._source.ttft_medians_ms()
        rows = [row for row in result.rows if row.battles or row.model in present]
        return Board(
            name=MAIN,
            votes=result.votes,
            updated_at=self._published_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            min_battles=result.min_battles,
            rows=tuple(_row(row, ttft_ms.get(row.model)) for row in rows),
        )


def _alike(one: Board | None, other: Board | None) -> bool:
    return one is not None and other is not None and one.rows == other.rows


def counted(counts: PairCounts, votes: Sequence[RankedVote]) -> PairCounts:
    """The counts and some more votes; models that are new to them are added."""
    first = [vote.contestant_a for vote in votes]
    second = [vote.contestant_b for vote in votes]
    grown = counts.with_models([*first, *second])
    return grown.with_votes(grown.codes(first), grown.codes(second), winner_codes(vote.winner for vote in votes))


def replayed(votes: Sequence[RankedVote]) -> EloState:
    """Elo of these votes from the start."""
    names = sorted({name for vote in votes for name in (vote.contestant_a, vote.contestant_b)})
    counts = PairCounts.empty(names)
    return elo_pass(
        names,
        counts.codes([vote.contestant_a for vote in votes]),
        counts.codes([vote.contestant_b for vote in votes]),
        winner_codes(vote.winner for vote in votes),
        timestamps=[vote.created_at.timestamp() for vote in votes],
        vote_ids=[_key(vote).vote_id for vote in votes],
        rules=EloRules(),
    )


def _key(vote: RankedVote) -> VoteKey:
    # Ids are compared as text, so they are padded to sort as the numbers that they are.
    return VoteKey(vote.created_at.timestamp(), f"{vote.id:020d}")


def _row(row: Row, ttft_median_ms: float | None) -> BoardRow:
    return BoardRow(
        model=row.model,
        rating=row.rating,
        low=row.low,
        high=row.high,
        rank=row.rank,
        battles=row.battles,
        wins=row.wins,
        losses=row.losses,
        ties=row.ties,
        both_bad=row.both_bad,
        win_rate=row.win_rate,
        elo=row.elo,
        ttft_median_ms=ttft_median_ms,
        notes=tuple(BoardNote(note.code.value, note.sentence) for note in row.notes),
    )
