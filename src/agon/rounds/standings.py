"""The board of a round, from its scores. Pure: the same scores give the same board, whatever order they come in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agon.core.board import BoardNote, Cells
from agon.core.round_ports import Progress, QuestionScores
from agon.core.rounds import AnswerStage, Round
from agon.ranking.arrays import FloatArray, IntArray, listed
from agon.ranking.bradley_terry import BradleyTerry, fit_bradley_terry
from agon.ranking.leaderboard import NoteCode
from agon.ranking.ranks import overlap_ranks
from agon.rounds.board_page import (
    AnswerCounts,
    CategoryStanding,
    Figure,
    RivalMatrix,
    RoundRow,
    Standings,
)
from agon.rounds.figures import (
    Rivals,
    ScoreTable,
    Spans,
    clustered_se,
    compare,
    mean_scores,
    sure_bounds,
    surely_better,
)
from agon.rounds.student import t95

FEW_QUESTIONS = 30
"""Scored questions below which a place, or a whole board, is marked as unsettled."""
CATEGORY_QUESTIONS = 10
"""Scored questions below which a category has no board."""
MATRIX_CONTESTANTS = 100
"""The best, whose win rates against each other are told pair by pair; a thousand would be a million pairs."""
_DIGITS = 6


def standings(
    of: Round, questions: Sequence[QuestionScores], progress: Sequence[Progress], *, made_at: str | None
) -> Standings:
    """The board of a round's M contestants and what stands beside it, from all scores on its questions.

    Figures go by the scored questions alone, and what is missing is counted and noted: an answer that failed, or that
    the scorer abstained from, is neither good nor bad. `figures` says which intervals these are.
    """
    contestants = list(dict.fromkeys([each.name for each in of.contestants] + _named(questions)))
    table = ScoreTable.of(contestants, questions)
    rivals = compare(table)
    rows, notes = _board(table, rivals)
    return Standings(
        round=str(of.id),
        scorer=of.scorer,
        questions=of.questions,
        scored_questions=len(questions),
        merged=int(table.there.sum()),
        made_at=made_at,
        rows=rows,
        answers=_answers(of, progress),
        rivals=_matrix(table, rivals, [row.contestant for row in rows[:MATRIX_CONTESTANTS]]),
        categories=tuple(_categories(contestants, questions)),
        notes=notes,
    )


def _named(questions: Sequence[QuestionScores]) -> list[str]:
    return sorted({name for each in questions for name in each.scores})


def _answers(of: Round, progress: Sequence[Progress]) -> dict[str, AnswerCounts]:
    return {
        each.contestant: AnswerCounts(
            missing=max(0, of.questions - sum(each.stages.values())),
            **{stage.value: each.stages.get(stage, 0) for stage in AnswerStage},
        )
        for each in progress
    }


def _categories(contestants: Sequence[str], questions: Sequence[QuestionScores]) -> Iterator[CategoryStanding]:
    groups: dict[str, list[QuestionScores]] = {}
    for each in questions:
        groups.setdefault(each.category, []).append(each)
    groups.pop("", None)
    for category, inside in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(inside) < CATEGORY_QUESTIONS:
            yield CategoryStanding(category, len(inside), sparse=True)
            continue
        table = ScoreTable.of(contestants, inside)
        rows, notes = _board(table, compare(table))
        yield CategoryStanding(category, len(inside), sparse=False, rows=rows, notes=notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Ratings:
    spans: Spans
    ranks: Mapping[int, int]
    notes: Mapping[int, tuple[BoardNote, ...]]
    linked: bool
    """Whether the scores compare the contestants with each other."""


def _board(table: ScoreTable, rivals: Rivals) -> tuple[tuple[RoundRow, ...], tuple[BoardNote, ...]]:
    number = table.there.sum(axis=1)
    means = mean_scores(table)
    ranks = _ranks(sure_bounds(means, number))
    better = surely_better(rivals)
    ratings = _ratings(table, rivals)
    rows = [
        RoundRow(
            contestant=name,
            rank=ranks.get(place),
            paired_rank=1 + int(better[place]) if rivals.met[place].any() else None,
            score=_figure(means, place),
            scored=int(number[place]),
            wins=int(rivals.wins[place].sum()),
            ties=int(rivals.ties[place].sum()),
            losses=int(rivals.wins[:, place].sum()),
            win_rate=_figure(rivals.average, place),
            rating=_figure(ratings.spans, place),
            rating_rank=ratings.ranks.get(place),
            notes=(*_notes(number, place, means), *ratings.notes.get(place, ())),
        )
        for place, name in enumerate(table.contestants)
    ]
    rows.sort(key=lambda row: (row.score.value is None, -(row.score.value or 0.0), row.contestant))
    return tuple(rows), tuple(_board_notes(table, number, ratings))


def _ranks(bounds: Spans) -> dict[int, int]:
    known = np.flatnonzero(~np.isnan(bounds.low))
    return dict(zip(listed(known), listed(overlap_ranks(bounds.low[known], bounds.high[known])), strict=True))


def _notes(number: IntArray, place: int, means: Spans) -> Iterator[BoardNote]:
    scored, most = int(number[place]), int(number.max(initial=0))
    if not scored:
        yield BoardNote("no_scores", "None of its answers has a score.")
        return
    if scored < most:
        yield BoardNote(
            "fewer_answers", f"{scored} of its answers have a score, of another {most}: its mean is over fewer."
        )
    if scored < FEW_QUESTIONS <= most:
        yield BoardNote("few_questions", f"Scores on fewer than {FEW_QUESTIONS} questions: its place may still change.")
    if scored > 1 and np.isnan(means.low[place]):
        yield BoardNote("equal_scores", "All its scores are equal, so its mean has no interval.")


def _board_notes(table: ScoreTable, number: IntArray, ratings: _Ratings) -> Iterator[BoardNote]:
    scored = number > 0
    if 0 < number.max(initial=0) < FEW_QUESTIONS:
        yield BoardNote("few_questions", f"Scores on fewer than {FEW_QUESTIONS} questions: the order may still change.")
    if scored.sum() > 1:
        if not np.all(table.there[scored] == table.there[scored][0]):
            text = "Not all contestants have scores on the same questions: compare by win rates, which go by pairs."
            yield BoardNote("questions_differ", text)
        if not ratings.linked:
            yield BoardNote("no_rating", "The outcomes do not compare the contestants with each other by one rating.")


def _ratings(table: ScoreTable, rivals: Rivals) -> _Ratings:
    counts = rivals.counts(table.contestants)
    fit = fit_bradley_terry(counts)
    low, high = (np.full(len(table.contestants), np.nan) for _ in range(2))
    for group in fit.groups:
        se, questions = clustered_se(table, rivals, group)
        half = (t95(questions - 1) if questions > 1 else np.nan) * se
        low[group.places], high[group.places] = group.ratings - half, group.ratings + half
    spans = Spans(fit.ratings, low, high)
    return _Ratings(spans, _rating_ranks(fit, spans), _rating_notes(fit), fit.main is not None)


def _rating_ranks(fit: BradleyTerry, spans: Spans) -> dict[int, int]:
    if fit.main is None:
        return {}
    places = fit.groups[fit.main].places
    if np.isnan(spans.low[places]).any():
        return {}
    return dict(zip(listed(places), listed(overlap_ranks(spans.low[places], spans.high[places])), strict=True))


_SENTENCES = {
    NoteCode.UNBOUNDED_ABOVE: "No other contestant of the rating scored as high on any question: no upper limit.",
    NoteCode.UNBOUNDED_BELOW: "It scored on no question as high as any other of the rating: no lower limit.",
    NoteCode.NOT_COMPARABLE: "No questions link it with the other contestants, so its rating cannot be compared.",
}


def _rating_notes(fit: BradleyTerry) -> dict[int, tuple[BoardNote, ...]]:
    """Why a contestant has no rating, or one that has nothing to do with the others'."""
    main = None if fit.main is None else int(fit.groups[fit.main].places[0])
    islands = [island for island in fit.structure.islands if len(island.members) > 1]
    found: dict[int, NoteCode] = {}
    for island in islands:
        found |= dict.fromkeys(listed(island.above), NoteCode.UNBOUNDED_ABOVE)
        found |= dict.fromkeys(listed(island.below), NoteCode.UNBOUNDED_BELOW)
        cut_off = len(islands) > 1 and (main is None or main not in island.core)
        found |= dict.fromkeys(listed(island.members if cut_off else island.apart), NoteCode.NOT_COMPARABLE)
    return {place: (BoardNote(code.value, _SENTENCES[code]),) for place, code in found.items()}


def _matrix(table: ScoreTable, rivals: Rivals, order: Sequence[str]) -> RivalMatrix:
    place = {name: row for row, name in enumerate(table.contestants)}
    at = np.ix_(*([place[name] for name in order],) * 2)

    def cells(values: FloatArray) -> Cells:
        return tuple(tuple(_said(cell) for cell in row) for row in values[at].tolist())

    def whole(values: IntArray) -> tuple[tuple[int, ...], ...]:
        return tuple(map(tuple, values[at].tolist()))

    rates, gaps = rivals.rates, rivals.gaps
    return RivalMatrix(
        contestants=tuple(order),
        questions=whole(rivals.met),
        wins=whole(rivals.wins),
        ties=whole(rivals.ties),
        win_rate=cells(rates.value),
        low=cells(rates.low),
        high=cells(rates.high),
        gap=cells(gaps.value),
        gap_low=cells(gaps.low),
        gap_high=cells(gaps.high),
    )


def _figure(spans: Spans, place: int) -> Figure:
    return Figure(*(_said(float(values[place])) for values in (spans.value, spans.low, spans.high)))


def _said(value: float) -> float | None:
    return None if value != value else round(value, _DIGITS) + 0.0  # noqa: PLR0124 - only a NaN differs from itself
