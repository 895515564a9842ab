"""Ranks of rated models, by rules that have names."""

from dataclasses import dataclass

import numpy as np

from agon.ranking.arrays import FloatArray, IntArray
from agon.ranking.bradley_terry import RatedGroup

Z95 = 1.959963984540054
"""Standard errors on either side of a 95 % interval."""
_DRAWS = 4_000
_BLOCK = 2_000_000
"""Differences held at once while simulating (16 MB)."""


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
    return 1 + _ahead(group, z).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class SimultaneousRanks:
    """Best and worst rank of m models, each (m,), that hold for all of them at once with the chance `level`.

    `critical` is how many standard errors of the difference set two models apart.
    """

    best: IntArray
    worst: IntArray
    critical: float
    level: float


def simultaneous_ranks(
    group: RatedGroup, rng: "np.random.Generator", *, level: float = 0.95, draws: int = _DRAWS
) -> SimultaneousRanks:
    """Ranks after a max-t correction for all m(m-1)/2 differences.

    `critical` is the `level` quantile of the largest |difference| / standard error among ratings drawn from their joint
    normal law with the robust covariance; no difference is then called one by chance, but in 1 - `level` of all boards
    (Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for ranks", with a single step). The same generator state
    gives the same ranks.
    """
    size = len(group.places)
    if size < 2:
        ones = np.ones(size, dtype=np.int64)
        return SimultaneousRanks(ones, ones, Z95, level)
    critical = _critical(group.covariance(), rng, level, draws)
    ahead = _ahead(group, critical)
    return SimultaneousRanks(1 + ahead.sum(axis=1), size - ahead.sum(axis=0), critical, level)


def _errors(covariance: FloatArray) -> FloatArray:
    variance = np.diag(covariance)
    return np.sqrt(np.maximum(variance[:, None] + variance - 2.0 * covariance, 0.0))


def _ahead(group: RatedGroup, z: float) -> np.typing.NDArray[np.bool_]:
    """Whether the model of a column rates higher than that of a row by more than chance allows, mxm."""
    ahead = group.ratings[None, :] - group.ratings[:, None] > z * _errors(group.covariance())
    np.fill_diagonal(ahead, False)
    return ahead


def _critical(covariance: FloatArray, rng: "np.random.Generator", level: float, draws: int) -> float:
    first, second = np.triu_indices(len(covariance), 1)
    error = _errors(covariance)[first, second]
    known = error > 0
    if not known.any():
        return Z95
    first, second, weight = first[known], second[known], 1.0 / error[known]
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    largest = np.empty(draws)
    step = max(1, _BLOCK // len(first))
    for start in range(0, draws, step):
        number = min(step, draws - start)
        ratings = root @ rng.standard_normal((len(root), number))
        gaps = np.abs(ratings[first] - ratings[second])
        largest[start : start + number] = (gaps * weight[:, None]).max(axis=0)
    return float(np.quantile(largest, level))
