"""One-sided limits for models that the votes bound on one side only."""

import math

import numpy as np

from agon.ranking.arrays import FloatArray
from agon.ranking.bradley_terry import PER_LOG_ODDS

TAIL = 0.025
"""Chance in each tail that a 95 % interval leaves out."""


def lowest_unbeaten(ratings: FloatArray, battles: FloatArray, *, tail: float = TAIL) -> float:
    """The lowest rating, in points, at which winning all those battles still has a chance of `tail`.

    `ratings` and `battles`, each (k,), are of the rated opponents and count as known exactly; every battle was won.
    Against a single opponent this is the limit of Clopper and Pearson (1934). Returns -inf without battles.
    """
    if not battles.any():
        return -math.inf
    strengths = ratings[battles > 0] / PER_LOG_ODDS
    times = battles[battles > 0]
    # The log-chance rises with the rating: bisect between bounds that hold for the easiest and the hardest opponent.
    single = _logit(tail ** (1.0 / float(times.sum())))
    low, high = float(strengths.min()) + single, float(strengths.max()) + single
    for _ in range(60):
        middle = 0.5 * (low + high)
        log_chance = -float(times @ np.logaddexp(0.0, strengths - middle))
        low, high = (middle, high) if log_chance < math.log(tail) else (low, middle)
    return 0.5 * (low + high) * PER_LOG_ODDS


def highest_winless(ratings: FloatArray, battles: FloatArray, *, tail: float = TAIL) -> float:
    """The highest rating at which losing all those battles still has a chance of `tail`; see `lowest_unbeaten`."""
    return -lowest_unbeaten(-ratings, battles, tail=tail)


def _logit(chance: float) -> float:
    return math.log(chance / (1.0 - chance))
