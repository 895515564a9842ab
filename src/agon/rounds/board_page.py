"""The board of a round as it is published: numbers with their meaning, and the JSON that they are kept as."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agon.core.board import BoardNote, Cells


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its 95 % interval; `None` where the scores do not determine it."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """Where a contestant's answers are."""

    missing: int = 0
    """Questions to which nobody has sent its answer."""
    pending: int = 0
    answered: int = 0
    scored: int = 0
    abstained: int = 0
    failed: int = 0
    parked: int = 0


@dataclass(frozen=True, slots=True)
class RoundRow:
    contestant: str
    rank: int | None
    """1 + the number of contestants whose mean score's interval lies wholly above its own."""
    paired_rank: int | None
    """1 + the number of contestants that surely score higher on the same questions."""
    score: Figure
    """Mean score."""
    scored: int
    wins: int
    """Against all rivals, question by question."""
    ties: int
    losses: int
    win_rate: Figure
    """Average over its rivals, each counting once; a tie is half a win."""
    rating: Figure
    """Bradley-Terry points from the outcomes of all pairs (scale 400, base 10, mean 1000)."""
    rating_rank: int | None
    notes: tuple[BoardNote, ...] = ()


@dataclass(frozen=True, slots=True)
class CategoryStanding:
    category: str
    questions: int
    """With a score."""
    sparse: bool
    """Whether they are too few for a board."""
    rows: tuple[RoundRow, ...] = ()
    notes: tuple[BoardNote, ...] = ()


@dataclass(frozen=True, slots=True)
class RivalMatrix:
    """The best, by row, against each other on the questions that both have a score on; in the board's order."""

    contestants: tuple[str, ...]
    questions: tuple[tuple[int, ...], ...]
    wins: tuple[tuple[int, ...], ...]
    ties: tuple[tuple[int, ...], ...]
    win_rate: Cells
    low: Cells
    high: Cells
    gap: Cells
    """Mean difference of scores, the row's less the column's."""
    gap_low: Cells
    gap_high: Cells


@dataclass(frozen=True, slots=True)
class Standings:
    round: str
    scorer: str
    questions: int
    """Of the bank."""
    scored_questions: int
    merged: int
    """Answers that this was made from."""
    made_at: str | None
    """UTC, ISO 8601; `None` for a round without scores."""
    rows: tuple[RoundRow, ...]
    """By mean score, the best first; those without one last."""
    answers: Mapping[str, AnswerCounts]
    rivals: RivalMatrix
    categories: tuple[CategoryStanding, ...]
    """The largest first."""
    notes: tuple[BoardNote, ...] = ()


def encode(page: Standings) -> str:
    return json.dumps(asdict(page), ensure_ascii=False, separators=(",", ":"))


def decode(text: str) -> Standings:
    raw: dict[str, Any] = json.loads(text)
    return _standings(**raw)


def _standings(
    *,
    rows: list[dict[str, Any]],
    answers: dict[str, dict[str, int]],
    rivals: dict[str, list[Any]],
    categories: list[dict[str, Any]],
    notes: list[dict[str, str]],
    **fields: Any,
) -> Standings:
    return Standings(
        **fields,
        rows=_rows(rows),
        answers={name: AnswerCounts(**counts) for name, counts in answers.items()},
        rivals=RivalMatrix(**{name: _tuples(value) for name, value in rivals.items()}),
        categories=tuple(_category(**each) for each in categories),
        notes=_notes(notes),
    )


def _category(*, rows: list[dict[str, Any]], notes: list[dict[str, str]], **fields: Any) -> CategoryStanding:
    return CategoryStanding(**fields, rows=_rows(rows), notes=_notes(notes))


def _rows(raw: list[dict[str, Any]]) -> tuple[RoundRow, ...]:
    return tuple(_row(**row) for row in raw)


def _row(
    *, score: dict[str, Any], win_rate: dict[str, Any], rating: dict[str, Any], notes: list[Any], **fields: Any
) -> RoundRow:
    return RoundRow(
        **fields, score=Figure(**score), win_rate=Figure(**win_rate), rating=Figure(**rating), notes=_notes(notes)
    )


def _notes(raw: list[dict[str, str]]) -> tuple[BoardNote, ...]:
    return tuple(BoardNote(**note) for note in raw)


def _tuples(value: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(each) if isinstance(each, list) else each for each in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
