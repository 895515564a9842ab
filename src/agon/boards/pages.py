"""From votes and a view to the page that is shown. No I/O: the same votes and the same day give the same page."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import cast

import numpy as np

from agon.boards.columns import CATEGORIES, VoteRows
from agon.boards.names import MAIN
from agon.boards.projections import Projections
from agon.core.board import (
    Board,
    BoardNote,
    BoardRow,
    CategoryVotes,
    Cells,
    ForfeitRule,
    History,
    Matrix,
    Page,
    PageKind,
    Published,
    Series,
    StyleWeight,
    View,
)
from agon.core.errors import InvalidInput
from agon.ranking.arrays import Differences, FloatArray, IntArray, Integers, listed
from agon.ranking.battles import CodedBattles
from agon.ranking.bradley_terry import PER_LOG_ODDS
from agon.ranking.categories import MIN_VOTES
from agon.ranking.columns import Coded
from agon.ranking.history import RatingHistory, rating_history
from agon.ranking.leaderboard import Leaderboard, Row, leaderboard
from agon.ranking.matrices import win_matrix
from agon.ranking.methods import BoardOptions, MethodBoard, board_of
from agon.ranking.style import FEATURES, StyleFit

MAX_POINTS = 180
"""Points in time of a history; a longer one skips days."""
STYLE_REASONS = ("style_not_finite", "collinear_style")
"""Errors of the core that leave the plain board standing, and the codes of the notes that say so."""
_EPOCH = date(1970, 1, 1).toordinal()
_NOTHING_NEW = 1e-6
"""Share of a feature's differences that the other features leave, below which it says nothing new."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a page depends on besides the votes."""

    present: frozenset[str]
    """Contestants that are not removed; they stand on the board before their first battle."""
    min_battles: int
    ttft_ms: Mapping[str, float]
    updated_at: str
    today: int
    """The UTC day since the epoch."""


def make_page(page: Page, rows: VoteRows, projections: Projections, setting: Setting) -> Published:
    """The page as it is now."""
    match page.kind:
        case PageKind.BOARD:
            return make_board(page.view, rows, projections, setting)
        case PageKind.MATRIX:
            return make_matrix(page.view, rows, projections, setting)
        case PageKind.HISTORY:
            return make_history(page.view, rows, projections, setting)


def make_board(view: View, rows: VoteRows, projections: Projections, setting: Setting) -> Board:
    if view.style:
        return _styled(view, rows, projections, setting)
    return board_from(view, _standing(view, rows, projections, setting), rows, setting)


def _standing(view: View, rows: VoteRows, projections: Projections, setting: Setting) -> Leaderboard:
    counts = projections.counts(rows, view, setting.today)
    result = leaderboard(counts, min_battles=setting.min_battles, start=projections.last_fit(view))
    projections.keep_fit(view, result.fit)
    return result


def board_from(view: View, result: Leaderboard, rows: VoteRows, setting: Setting) -> Board:
    """A computed board as it is published."""
    forfeits = rows.forfeits(view, setting.today)
    lost = dict(zip(rows.models, listed(np.bincount(rows.losers(forfeits), minlength=len(rows.models))), strict=True))
    votes = result.votes - counted_forfeits(view, rows, setting)
    shown = [row for row in result.rows if row.battles or row.model in setting.present]
    by_category = rows.votes_by_category(view.window, setting.today)
    order = sorted(CATEGORIES, key=lambda category: (-by_category[category], CATEGORIES.index(category)))
    return Board(
        name=MAIN,
        votes=votes,
        updated_at=setting.updated_at,
        min_battles=result.min_battles,
        rows=tuple(board_row(row, setting.ttft_ms.get(row.model), lost.get(row.model, 0)) for row in shown),
        view=view,
        counted=len(rows),
        categories=tuple(CategoryVotes(category, by_category[category]) for category in order),
        notes=tuple(_board_notes(view, result, rows, votes)),
        forfeits=len(forfeits),
    )


def counted_forfeits(view: View, rows: VoteRows, setting: Setting) -> int:
    """How many of the battles that a view counts no vote has decided."""
    return len(rows.forfeits(view, setting.today)) if rows.rule is ForfeitRule.LOSS else 0


def board_row(row: Row, ttft_median_ms: float | None, forfeits: int) -> BoardRow:
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
        forfeits=forfeits,
    )


def _board_notes(view: View, result: Leaderboard, rows: VoteRows, votes: int) -> list[BoardNote]:
    notes: list[BoardNote] = []
    if (view.category is not None or view.style) and rows.described < len(rows):
        missing = len(rows) - rows.described
        notes.append(BoardNote("texts_unread", f"The texts of {missing} votes are still to be read."))
    if view.category is not None and votes < MIN_VOTES:
        text = f"This category has {votes} votes, fewer than {MIN_VOTES}: its order may still change a lot."
        notes.append(BoardNote("sparse_category", text))
    if result.votes and result.fit.main is None:
        notes.append(BoardNote("no_ranking", "These votes do not compare the models with each other."))
    return notes


def _styled(view: View, rows: VoteRows, projections: Projections, setting: Setting) -> Board:
    """The board with style taken out, or the plain one and the reason why it cannot be."""
    battles = coded_battles(rows, rows.chosen(view, setting.today))
    found = _controlled(battles, setting)
    if isinstance(found, BoardNote):
        plain = make_board(replace(view, style=False), rows, projections, setting)
        return replace(plain, view=view, notes=(*plain.notes, found))
    board = board_from(view, found.board, rows, setting)
    return board if found.style is None else replace(board, style=_weights(found.style))


def _controlled(battles: CodedBattles, setting: Setting) -> MethodBoard | BoardNote:
    if len(battles) and not battles.style_names:
        return BoardNote("collinear_style", "Style is not taken out. The answers do not differ in it.")
    try:
        options = BoardOptions(style=True, min_battles=setting.min_battles)
        return board_of(battles.counts(), options, battles=battles)
    except InvalidInput as error:
        if error.code not in STYLE_REASONS:
            raise
        return BoardNote(error.code, f"Style is not taken out. {error.message}")


def _weights(fit: StyleFit) -> tuple[StyleWeight, ...]:
    if not fit.places.size:
        return ()
    points, errors = (PER_LOG_ODDS * values for values in (fit.coefficients, fit.coefficient_se))
    return tuple(StyleWeight(*each) for each in zip(fit.names, points.tolist(), errors.tolist(), strict=True))


def coded_battles(rows: VoteRows, chosen: Integers) -> CodedBattles:
    """Some rows as the ranking core takes them, with the features of style that say something."""
    style = rows.style[chosen]
    telling = telling_features(style)
    return CodedBattles(
        models=rows.models,
        first=rows.first[chosen],
        second=rows.second[chosen],
        winners=rows.winners[chosen],
        rows=np.asarray(chosen, dtype=np.int64),
        sources=Coded(np.zeros(len(chosen), dtype=np.int64), (MAIN,)),
        style=np.asfortranarray(style[:, telling]),
        style_names=tuple(FEATURES[place] for place in telling),
    )


def telling_features(style: Differences) -> list[int]:
    """Columns of VxF differences that say something which those before them do not.

    The others would make the weights ambiguous and change no rating: an answer's headers tell nothing if nobody writes
    any, nor do bold words that stand in every item of a list and nowhere else.
    """
    columns = np.asarray(style, dtype=np.float64)
    kept: list[int] = []
    for place in range(columns.shape[1]):
        basis, column = columns[:, kept], columns[:, place]
        rest = column - basis @ np.linalg.lstsq(basis.T @ basis, basis.T @ column, rcond=None)[0] if kept else column
        if rest @ rest > _NOTHING_NEW * max(float(column @ column), 1.0):
            kept.append(place)
    return kept


def make_matrix(view: View, rows: VoteRows, projections: Projections, setting: Setting) -> Matrix:
    standing = _standing(view, rows, projections, setting)
    counts = projections.counts(rows, view, setting.today)
    order = counts.codes([row.model for row in standing.rows if row.battles])
    found = win_matrix(counts, standing.fit)
    square = np.ix_(order, order)
    battles = cast("list[list[int]]", found.battles[square].tolist())
    return Matrix(
        name=MAIN,
        view=view,
        votes=standing.votes - counted_forfeits(view, rows, setting),
        counted=len(rows),
        updated_at=setting.updated_at,
        models=tuple(found.models[place] for place in listed(order)),
        battles=tuple(tuple(row) for row in battles),
        observed=_cells(found.observed[square]),
        predicted=_cells(found.predicted[square]),
        average_observed=_said(found.observed_average[order]),
        average_predicted=_said(found.average[order]),
    )


def make_history(view: View, rows: VoteRows, projections: Projections, setting: Setting) -> History:
    standing = _standing(view, rows, projections, setting)
    # Every vote that the window of any day reaches, not those of today's alone.
    chosen = rows.chosen(View(category=view.category), setting.today)
    days = rows.days[chosen].astype(np.int64)
    columns = rows.first[chosen], rows.second[chosen], rows.winners[chosen]
    span = int(days.max() - days.min()) + 1 if days.size else 0
    every = max(1, math.ceil(span / MAX_POINTS))
    found = rating_history(rows.models, *columns, days, window_days=view.window.days, every=every)
    places = {model: place for place, model in enumerate(rows.models)}
    votes: list[int] = (found.votes - _forfeits_by(found, rows, view, setting)).tolist()
    # A last step may reach beyond the last vote.
    last = found.days[0] + timedelta(days=span - 1) if found.days else None
    return History(
        name=MAIN,
        view=view,
        counted=len(rows),
        updated_at=setting.updated_at,
        days=tuple(_earlier(day, last).isoformat() for day in found.days),
        votes=tuple(votes),
        series=tuple(
            Series(row.model, *(_said(table[:, places[row.model]]) for table in (found.ratings, found.low, found.high)))
            for row in standing.rows
            if row.battles
        ),
    )


def _forfeits_by(found: RatingHistory, rows: VoteRows, view: View, setting: Setting) -> IntArray:
    """Forfeits among the battles that each point of a history counts."""
    ends = np.array([day.toordinal() - _EPOCH for day in found.days], dtype=np.int64)
    if rows.rule is ForfeitRule.VOID:
        return np.zeros_like(ends)
    days = np.sort(rows.days[rows.forfeits(View(category=view.category), setting.today)])
    upto = np.searchsorted(days, ends, side="right")
    return upto if view.window.days is None else upto - np.searchsorted(days, ends - view.window.days, side="right")


def _earlier(day: date, last: date | None) -> date:
    return day if last is None else min(day, last)


def _cells(table: FloatArray) -> Cells:
    return tuple(_said(row) for row in table)


def _said(values: FloatArray) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(value) else round(value, 4) for value in values.tolist())
