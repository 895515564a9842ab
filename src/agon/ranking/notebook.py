"""One call from three columns to a table."""

from dataclasses import dataclass

import numpy as np

from agon.ranking.battles import CodedBattles
from agon.ranking.cleaning import clean
from agon.ranking.columns import Column
from agon.ranking.leaderboard import Leaderboard, Row
from agon.ranking.matrices import WinMatrix, win_matrix
from agon.ranking.methods import BoardOptions, MethodBoard, board_of
from agon.ranking.outcomes import PairCounts
from agon.ranking.raw import CleaningRules, RawBattles
from agon.ranking.rejects import CleaningReport

_HEADS = ("rank", "model", "rating", "95 % interval", "votes", "win rate", "notes")
_NOTHING = "\N{EN DASH}"
_LEFT = (1, 6)
"""Columns of text; the others are numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A board, what became of every row, and all that is needed to ask more; `print` shows it as a table."""

    board: Leaderboard
    report: CleaningReport
    counts: PairCounts
    battles: CodedBattles | None
    details: MethodBoard

    def matrix(self) -> WinMatrix:
        """Observed and predicted win rates of each pair."""
        return win_matrix(self.counts, self.board.fit)

    def __str__(self) -> str:
        table = [_HEADS, *(_cells(row) for row in self.board.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place in _LEFT else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        return "\n".join((*lines, _summary(self.report)))


def rank(
    model_a: Column,
    model_b: Column,
    winner: Column,
    *,
    vote_id: Column | None = None,
    timestamp: Column | None = None,
    voter: Column | None = None,
    rules: CleaningRules | None = None,
    options: BoardOptions | None = None,
    rng: np.random.Generator | None = None,
) -> Ranking:
    """Cleans and rates V votes: lists, numpy arrays or pandas columns (as `.to_numpy()`), one value a vote.

    `winner` holds the words of `WINNER_SPELLINGS`. A bad row is left out and told in `report`; `rng` is for methods
    that draw at random. Raises as `clean` and `board_of` do.
    """
    raw = RawBattles(model_a, model_b, winner, vote_id=vote_id, timestamp=timestamp, voter=voter)
    return rank_raw(raw, rules=rules, options=options, rng=rng)


def rank_raw(
    raw: RawBattles,
    *,
    rules: CleaningRules | None = None,
    options: BoardOptions | None = None,
    rng: np.random.Generator | None = None,
) -> Ranking:
    """`rank` of columns that are together already, with whatever else is known of the votes."""
    cleaned = clean(raw, rules)
    found = board_of(cleaned.counts, options, battles=cleaned.battles, rng=rng)
    return Ranking(found.board, cleaned.report, cleaned.counts, cleaned.battles, found)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        _NOTHING if row.rank is None else str(row.rank),
        row.model,
        _number(row.rating),
        _NOTHING if row.low is None and row.high is None else f"{_number(row.low)} to {_number(row.high)}",
        str(row.battles),
        _NOTHING if row.win_rate is None else f"{100.0 * row.win_rate:.1f} %",
        ", ".join(note.code for note in row.notes),
    )


def _number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.1f}"


def _summary(report: CleaningReport) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in report.rejected.items())
    return f"{report.kept} votes counted" + (f", {report.rejected_rows} rejected: {reasons}" if reasons else "")
