"""The board: one row a model, and a plain reason wherever the votes leave something open."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from agon.ranking.arrays import FloatArray, IntArray, listed
from agon.ranking.bradley_terry import Anchor, BradleyTerry, fit_bradley_terry
from agon.ranking.elo import EloState
from agon.ranking.limits import highest_winless, lowest_unbeaten
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95, overlap_ranks
from agon.ranking.structure import Island

MIN_BATTLES = 30
"""Battles below which a row is marked as having few."""


class NoteCode(StrEnum):
    FEW_BATTLES = "few_battles"
    UNBOUNDED_ABOVE = "unbounded_above"
    UNBOUNDED_BELOW = "unbounded_below"
    NOT_COMPARABLE = "not_comparable"
    NO_BATTLES = "no_battles"


_SENTENCES = {
    NoteCode.UNBOUNDED_ABOVE: "Nobody in the ranking has scored against it yet, so its rating has no upper limit.",
    NoteCode.UNBOUNDED_BELOW: "It has not scored against anybody in the ranking yet, so its rating has no lower limit.",
    NoteCode.NOT_COMPARABLE: "The votes do not link it to the rest of the board, so it cannot be compared with it.",
    NoteCode.NO_BATTLES: "It has not battled yet.",
}


@dataclass(frozen=True, slots=True)
class Note:
    """`code` is stable; `sentence` is for people."""

    code: NoteCode
    sentence: str


@dataclass(frozen=True, slots=True)
class Row:
    """One model. Points for `rating`, `low`, `high`, `se` and `elo`; votes for the counts.

    `low` and `high` are the 95 % interval; a model unbounded on one side may have the limit of the other side alone.
    `rank` goes by overlapping intervals among the models of the ranking; a model rated on an island of its own has a
    rating, relative to that island, and no rank. `win_rate` counts a tie and a both-bad as half. None means: the votes
    do not say.
    """

    model: str
    rating: float | None
    low: float | None
    high: float | None
    se: float | None
    rank: int | None
    battles: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    elo: float | None
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Rows by rating: the ranking first, then models rated on islands, then the unrated; and the fit behind them."""

    rows: tuple[Row, ...]
    votes: int
    min_battles: int
    fit: BradleyTerry


def leaderboard(
    counts: PairCounts,
    *,
    elo: EloState | None = None,
    min_battles: int = MIN_BATTLES,
    anchor: Anchor | None = None,
    start: BradleyTerry | None = None,
    drop_ties: bool = False,
) -> Leaderboard:
    """The board of M models; `start`, the fit of a former board, makes it quick. Raises as `fit_bradley_terry` does.

    With `drop_ties` the ratings rest on decided battles alone; the rows still tell all of them.
    """
    rated = counts.decided() if drop_ties else counts
    fit = fit_bradley_terry(rated, anchor=anchor, start=start)
    spans = _spans(rated, fit)
    ranks = _ranks(fit, spans)
    notes = _notes(counts, fit, min_battles)
    tallies = _tallies(counts)
    elos: Mapping[str, float] = elo.ratings if elo else {}
    columns = (_said(values) for values in (fit.ratings, spans.low, spans.high, fit.se))
    rows = [
        _row(model, numbers, ranks.get(place), tallies[place], elo=elos.get(model), notes=notes[place])
        for place, (model, *numbers) in enumerate(zip(fit.models, *columns, strict=True))
    ]
    return Leaderboard(ordered(fit, rows), counts.votes(), min_battles, fit)


@dataclass(frozen=True, slots=True)
class _Tally:
    wins: int
    losses: int
    ties: int
    both_bad: int

    @property
    def battles(self) -> int:
        return self.wins + self.losses + self.ties + self.both_bad

    @property
    def win_rate(self) -> float | None:
        return (self.wins + 0.5 * (self.ties + self.both_bad)) / self.battles if self.battles else None


def _tallies(counts: PairCounts) -> list[_Tally]:
    columns = (counts.wins.sum(axis=1), counts.wins.sum(axis=0), counts.ties.sum(axis=1), counts.both_bad.sum(axis=1))
    return [_Tally(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Spans:
    """Ends of the 95 % intervals, each (M,), in points; NaN where there is none."""

    low: FloatArray
    high: FloatArray


def _spans(counts: PairCounts, fit: BradleyTerry) -> _Spans:
    low, high = fit.ratings - Z95 * fit.se, fit.ratings + Z95 * fit.se
    for island in fit.structure.islands:
        if island.core.size:
            ratings = fit.ratings[island.core]
            for place in island.above:
                low[place] = _finite(lowest_unbeaten(ratings, _against(counts.wins[place], island)))
            for place in island.below:
                high[place] = _finite(highest_winless(ratings, _against(counts.wins[:, place], island)))
    return _Spans(low, high)


def _against(battles: IntArray, island: Island) -> FloatArray:
    return battles[island.core].astype(np.float64)


def _finite(value: float) -> float:
    return value if np.isfinite(value) else np.nan


def _ranks(fit: BradleyTerry, spans: _Spans) -> dict[int, int]:
    if fit.main is None:
        return {}
    places = fit.groups[fit.main].places
    return dict(zip(places.tolist(), overlap_ranks(spans.low[places], spans.high[places]).tolist(), strict=True))


def _notes(counts: PairCounts, fit: BradleyTerry, min_battles: int) -> list[list[Note]]:
    notes: list[list[Note]] = [[] for _ in fit.models]
    battles = counts.met().sum(axis=1)
    for place, mark in _marks(fit):
        # Where ties are dropped, a model may have battles of which none is left.
        code = NoteCode.NOT_COMPARABLE if mark is NoteCode.NO_BATTLES and battles[place] else mark
        notes[place].append(Note(code, _SENTENCES[code]))
    few = Note(NoteCode.FEW_BATTLES, f"It has fewer than {min_battles} battles, so its place may still change a lot.")
    for place in np.flatnonzero((battles > 0) & (battles < min_battles)).tolist():
        notes[place].append(few)
    return notes


def _marks(fit: BradleyTerry) -> Iterator[tuple[int, NoteCode]]:
    islands = [island for island in fit.structure.islands if len(island.members) > 1]
    main = None if fit.main is None else int(fit.groups[fit.main].places[0])
    for island in fit.structure.islands:
        if len(island.members) == 1:
            yield int(island.members[0]), NoteCode.NO_BATTLES
            continue
        marked = ((NoteCode.UNBOUNDED_ABOVE, island.above), (NoteCode.UNBOUNDED_BELOW, island.below))
        for code, places in marked:
            yield from ((place, code) for place in places.tolist())
        cut_off = len(islands) > 1 and (main is None or main not in island.core)
        strangers = island.members if cut_off else island.apart
        yield from ((place, NoteCode.NOT_COMPARABLE) for place in strangers.tolist())


def _row(
    model: str, numbers: list[float | None], rank: int | None, tally: _Tally, *, elo: float | None, notes: list[Note]
) -> Row:
    rating, low, high, se = numbers
    return Row(
        model=model,
        rating=rating,
        low=low,
        high=high,
        se=se,
        rank=rank,
        battles=tally.battles,
        wins=tally.wins,
        losses=tally.losses,
        ties=tally.ties,
        both_bad=tally.both_bad,
        win_rate=tally.win_rate,
        elo=elo,
        notes=tuple(notes),
    )


def _said(values: FloatArray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def ordered(fit: BradleyTerry, rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rows in the order of a board: the ranking by rating, then models rated on islands, then the unrated."""
    home: dict[str, str] = {}
    for group in fit.groups:
        names = [fit.models[place] for place in listed(group.places)]
        home.update(dict.fromkeys(names, min(names)))

    def standing(row: Row) -> tuple[int, str, float, int, str]:
        tier = 0 if row.rank is not None else 1 if row.rating is not None else 2
        # Rounded, so that what differs by arithmetic noise alone is ordered by name.
        height = 0.0 if row.rating is None else -round(row.rating, 6)
        return tier, home.get(row.model, ""), height, -row.battles, row.model

    return tuple(sorted(rows, key=standing))
