"""Boards of rounds as they go over HTTP."""

from dataclasses import replace

from pydantic import BaseModel

from agon.api.schemas import NoteOut
from agon.core.errors import NotFound
from agon.rounds.board_page import Standings


class FigureOut(BaseModel):
    """A number with its 95 % interval; `null` where the scores do not determine it."""

    value: float | None
    low: float | None
    high: float | None


class RoundRowOut(BaseModel):
    """One contestant, by the questions on which it has a score."""

    contestant: str
    rank: int | None
    """1 + the number of contestants whose mean score's interval lies wholly above its own."""
    paired_rank: int | None
    """1 + the number of contestants that surely score higher on the same questions."""
    score: FigureOut
    """Mean score, with Student's t interval over questions."""
    scored: int
    wins: int
    """Against all rivals, question by question."""
    ties: int
    losses: int
    win_rate: FigureOut
    """Average over its rivals, each counting once; a tie is half a win."""
    rating: FigureOut
    """Bradley-Terry points, with errors clustered by question."""
    rating_rank: int | None
    notes: list[NoteOut]


class AnswerCountsOut(BaseModel):
    """Where a contestant's answers were when the board was made."""

    missing: int
    """Questions to which nobody has sent its answer."""
    pending: int
    answered: int
    scored: int
    abstained: int
    failed: int
    parked: int


class RoundCategoryOut(BaseModel):
    category: str
    questions: int
    """With a score."""
    sparse: bool
    """Whether they are too few for a board of their own."""


class RoundBoardOut(BaseModel):
    """The board of a round, or of one category of its questions."""

    round: str
    scorer: str
    category: str | None
    questions: int
    """Of the bank."""
    scored_questions: int
    """Those of this view that have a score."""
    merged: int
    """Scores in the ledger when this was made, over all categories."""
    made_at: str | None
    """`null` before the first score."""
    rows: list[RoundRowOut]
    """By mean score, the best first; those without one last."""
    answers: dict[str, AnswerCountsOut]
    """By contestant, over all categories."""
    categories: list[RoundCategoryOut]
    """The largest first."""
    notes: list[NoteOut]
    """What to know about the board as a whole."""

    @classmethod
    def of(cls, page: Standings, category: str | None = None) -> "RoundBoardOut":
        """Raises `NotFound` (`category_not_found`) for a category that no scored question has."""
        if category is None:
            return cls.model_validate({**_plain(page), "category": None}, from_attributes=True)
        for each in page.categories:
            if each.category == category:
                part = replace(page, rows=each.rows, notes=each.notes, scored_questions=each.questions)
                return cls.model_validate({**_plain(part), "category": category}, from_attributes=True)
        raise NotFound(
            f"No scored question of this round is in the category {category!r}.",
            code="category_not_found",
            field="category",
        )


class RivalsOut(BaseModel):
    """The best hundred contestants, by row, against each other on questions that both have a score on; `null` if none.

    `low` and `high` are the 95 % interval of the win rate, `gap_low` and `gap_high` that of the mean difference of
    scores, the row's less the column's.
    """

    round: str
    merged: int
    contestants: list[str]
    """In the order of the board."""
    questions: list[list[int]]
    wins: list[list[int]]
    ties: list[list[int]]
    win_rate: list[list[float | None]]
    low: list[list[float | None]]
    high: list[list[float | None]]
    gap: list[list[float | None]]
    gap_low: list[list[float | None]]
    gap_high: list[list[float | None]]

    @classmethod
    def of(cls, page: Standings) -> "RivalsOut":
        names = (name for name in cls.model_fields if name not in {"round", "merged"})
        return cls(round=page.round, merged=page.merged, **{name: getattr(page.rivals, name) for name in names})


def _plain(page: Standings) -> dict[str, object]:
    names = ("round", "scorer", "questions", "scored_questions", "merged", "made_at", "rows", "answers")
    return {name: getattr(page, name) for name in (*names, "categories", "notes")}
