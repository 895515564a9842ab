"""Boards and their companions as they go over HTTP."""

from datetime import date

from pydantic import BaseModel

from agon.api.schemas import NoteOut
from agon.core.board import Board, History, Matrix, Window
from agon.core.traits import Category


class ViewOut(BaseModel):
    """Which votes are counted, and whether the style of answers is taken out."""

    window: Window
    category: Category | None
    style: bool


class CategoryOut(BaseModel):
    category: Category
    votes: int


class StyleWeightOut(BaseModel):
    """How much a feature sways votes, in points: the advantage of the only answer that has any of it."""

    feature: str
    points: float
    se: float


class BoardRowOut(BaseModel):
    model: str
    rating: float | None
    low: float | None
    high: float | None
    rank: int | None
    battles: int
    """Votes, and forfeits where they count."""
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    elo: float | None
    ttft_median_ms: float | None
    forfeits: int
    """Battles that it has lost by not answering in time."""
    notes: list[NoteOut]


class BoardOut(BaseModel):
    """A board; `rating`, `low`, `high` and `rank` are `null` where the votes do not determine them."""

    name: str
    view: ViewOut
    votes: int
    """Votes of this view, without forfeits."""
    forfeits: int
    """Battles of this view that were decided by forfeit."""
    updated_at: str | None
    min_battles: int
    rows: list[BoardRowOut]
    categories: list[CategoryOut]
    """Votes of every category within the window."""
    style: list[StyleWeightOut]
    """Empty unless style is taken out."""
    notes: list[NoteOut]
    """What to know about the board as a whole."""

    @classmethod
    def of(cls, board: Board) -> "BoardOut":
        return cls.model_validate(board, from_attributes=True)


class MatrixOut(BaseModel):
    """Win rates of each model, by row, against each other one; `null` where none is known.

    A tie and a both-bad count as half. The averages give every opponent the same weight.
    """

    name: str
    view: ViewOut
    votes: int
    updated_at: str | None
    models: list[str]
    """In the order of the board."""
    battles: list[list[int]]
    observed: list[list[float | None]]
    predicted: list[list[float | None]]
    """What the ratings say."""
    average_observed: list[float | None]
    average_predicted: list[float | None]

    @classmethod
    def of(cls, matrix: Matrix) -> "MatrixOut":
        return cls.model_validate(matrix, from_attributes=True)


class SeriesOut(BaseModel):
    """One model through time, a value a day; `null` where the votes did not determine it."""

    model: str
    ratings: list[float | None]
    low: list[float | None]
    high: list[float | None]


class RatingHistoryOut(BaseModel):
    """Ratings at the end of UTC days, each from the votes of the window that ends then."""

    name: str
    view: ViewOut
    updated_at: str | None
    days: list[date]
    """The last may not be over yet; a history of more than half a year skips days."""
    votes: list[int]
    """Votes of each day's window."""
    series: list[SeriesOut]
    """In the order of the board."""

    @classmethod
    def of(cls, history: History) -> "RatingHistoryOut":
        return cls.model_validate(history, from_attributes=True)
