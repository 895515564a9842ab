"""Quantiles of Student's t, for whole degrees of freedom."""

import math
from functools import lru_cache

from agon.ranking.ranks import Z95

_HALVINGS = 60
_LARGE = 400
"""Degrees of freedom from which on the first terms of an expansion are exact to nine digits."""


@lru_cache(maxsize=1024)
def t95(freedom: int) -> float:
    """How many standard errors lie on either side of a 95 % interval. Raises `ValueError` below one degree."""
    if freedom < 1:
        raise ValueError("an interval needs at least two values")
    if freedom >= _LARGE:
        return _expanded(freedom)
    low, high = Z95, 13.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _within(middle, freedom) < 0.95 else (low, middle)
    return 0.5 * (low + high)


def _within(t: float, freedom: int) -> float:
    """P(-t < T < t), by the finite series for whole degrees (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine2, odd = math.cos(angle) ** 2, freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for place in range(2 + odd, freedom - 1, 2):
        term *= cosine2 * (place - 1) / place
        total += term
    if odd:
        return 2.0 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def _expanded(freedom: int) -> float:
    """The expansion in 1/freedom about the normal quantile (Abramowitz and Stegun 26.7.5)."""
    z = Z95
    return (
        z
        + (z**3 + z) / (4.0 * freedom)
        + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)
        + (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / (384.0 * freedom**3)
    )
