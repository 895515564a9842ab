"""Ranks of rated models, by rules that have names."""

import numpy as np

from agon.ranking.arrays import FloatArray, IntArray
from agon.ranking.bradley_terry import RatedGroup

Z95 = 1.959963984540054
"""Standard errors on either side of a 95 % interval."""


def overlap_ranks(low: FloatArray, high: FloatArray) -> IntArray:
    """1 + the number of models whose lower bound lies above this one's upper bound.

    `low` and `high`, each (m,), are in points. Models share a rank where intervals overlap, so a rank may be skipped.
    """
    return 1 + len(low) - np.searchsorted(np.sort(low), high, side="right")


def difference_ranks(group: RatedGroup, *, z: float = Z95) -> IntArray:
    """1 + the number of models that rate higher by more than `z` robust standard errors of the difference, (m,).

    Separates more models than `overlap_ranks`, since the error of a difference is smaller than the two errors' sum.
    Each pair is tested on its own: nothing is corrected for the number of pairs.
    """
    covariance = group.covariance()
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2.0 * covariance, 0.0))
    ahead = group.ratings[None, :] - group.ratings[:, None] > z * error
    np.fill_diagonal(ahead, False)
    return 1 + ahead.sum(axis=1)
