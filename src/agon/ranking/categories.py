"""Boards of the categories that votes belong to."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from agon.ranking.arrays import BoolArray
from agon.ranking.battles import CodedBattles
from agon.ranking.columns import Coded
from agon.ranking.leaderboard import MIN_BATTLES, Leaderboard, leaderboard

MIN_VOTES = 300
"""Votes below which a category is marked as sparse."""


@dataclass(frozen=True, slots=True)
class CategoryBoard:
    """The board of one category. `sparse` is a plain sentence where the votes are too few to trust its order."""

    name: str
    votes: int
    board: Leaderboard
    sparse: str | None


def category_boards(
    battles: CodedBattles, *, min_votes: int = MIN_VOTES, min_battles: int = MIN_BATTLES
) -> tuple[CategoryBoard, ...]:
    """A board for each category among the votes, in order of votes; a vote counts in each category it belongs to."""
    column = battles.categories
    if column is None:
        return ()
    boards = [_board(battles, column, name, min_votes, min_battles) for name in category_names(column)]
    return tuple(sorted(boards, key=lambda board: (-board.votes, board.name)))


def category_names(column: Coded) -> tuple[str, ...]:
    """Names of all categories that some vote belongs to, in order of name."""
    used = np.unique(column.codes[column.codes >= 0]).tolist()
    return tuple(sorted({name for code in used for name in _members(column.values[code])}))


def in_category(column: Coded, name: str) -> BoolArray:
    """Which of V votes belong to a category, (V,)."""
    table = np.array([*(name in _members(value) for value in column.values), False], dtype=np.bool_)
    return table[column.codes]


def _members(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    return tuple(map(str, value)) if isinstance(value, Collection) else ()  # pyright: ignore[reportUnknownArgumentType]


def _board(battles: CodedBattles, column: Coded, name: str, min_votes: int, min_battles: int) -> CategoryBoard:
    chosen = battles.where(in_category(column, name)).tidied()
    board = leaderboard(chosen.counts(), min_battles=min_battles)
    return CategoryBoard(name, board.votes, board, _sparse(board, min_votes))


def _sparse(board: Leaderboard, min_votes: int) -> str | None:
    if board.votes < min_votes:
        return f"It has {board.votes} votes, fewer than {min_votes}, so its order may still change a lot."
    if board.fit.main is None:
        return "Its votes do not compare the models with each other."
    return None
