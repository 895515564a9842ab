"""A board as it is published: numbers with their meaning, ready to be read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoardNote:
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class BoardRow:
    model: str
    rating: float | None
    """Rating points (scale 400, base 10, mean 1000); `None` where the votes do not determine it."""
    low: float | None
    high: float | None
    rank: int | None
    battles: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    """Share of battles won, a tie and a both-bad counting half."""
    elo: float | None
    """Online Elo; `None` before the first battle."""
    ttft_median_ms: float | None
    """Median time to first token over the last thousand answers in battles."""
    notes: tuple[BoardNote, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    name: str
    votes: int
    """Votes counted; a board never replaces one that has counted more."""
    updated_at: str
    """UTC, ISO 8601."""
    min_battles: int
    rows: tuple[BoardRow, ...]
