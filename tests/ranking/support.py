"""Votes for the ranking tests: the vectors, and small boards drawn at random."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize

from agon.ranking.arrays import FloatArray, IntArray
from agon.ranking.outcomes import PairCounts

# Its functions have no types; what the tests take from them, they check.
optimize: Any = scipy.optimize

DATA = Path(__file__).parent / "data"
Vector = dict[str, Any]
"""One vector as the file has it; the shape depends on its kind."""

WINNER_CODES = {"model_a": 0, "model_b": 1, "tie": 2, "tie (bothbad)": 3}


def vectors(*kinds: str) -> list[Vector]:
    found: list[Vector] = json.loads((DATA / "vectors.json").read_text())["vectors"]
    return [vector for vector in found if vector["kind"] in kinds]


def vector_id(vector: Vector) -> str:
    return vector["id"]


def by_name(models: Sequence[str], values: FloatArray | IntArray) -> dict[str, float]:
    numbers: list[float] = values.tolist()
    return dict(zip(models, numbers, strict=True))


def counts_of(rows: Sequence[tuple[str, str, int, int, int]]) -> PairCounts:
    """Counts of rows (first, second, wins of first, ties, wins of second)."""
    models = sorted({name for row in rows for name in row[:2]})
    votes = [
        (models.index(a), models.index(b), code, times)
        for a, b, won, tied, lost in rows
        for code, times in ((0, won), (2, tied), (1, lost))
    ]
    first, second, winners, repeats = np.array(votes, dtype=np.int64).T
    return PairCounts.from_codes(models, first, second, winners, repeats)


class Votes:
    """V coded votes among models named m0, m1, …"""

    def __init__(self, size: int, first: IntArray, second: IntArray, winners: IntArray) -> None:
        self.models = tuple(f"m{place}" for place in range(size))
        self.first, self.second, self.winners = first, second, winners

    def counts(self, stop: int | None = None) -> PairCounts:
        return PairCounts.from_codes(self.models, self.first[:stop], self.second[:stop], self.winners[:stop])


def draw_votes(seed: int, strengths: FloatArray, number: int, *, draws: float = 0.4) -> Votes:
    """Votes whose expected scores follow Bradley-Terry. `strengths` are natural log-odds.

    `draws` is the chance of a draw between equals, less between unequals so that the score stays right; half of
    the draws are both-bad.
    """
    rng = np.random.default_rng(seed)
    size = len(strengths)
    first = rng.integers(0, size, number)
    second = (first + rng.integers(1, size, number)) % size
    chance = 1.0 / (1.0 + np.exp(strengths[second] - strengths[first]))
    half = draws * np.minimum(chance, 1.0 - chance)
    drawn = rng.random(number) < 2.0 * half
    won = rng.random(number) < (chance - half) / (1.0 - 2.0 * half)
    winners = np.where(drawn, rng.integers(2, 4, number), np.where(won, 0, 1))
    return Votes(size, first, second, winners)
