"""Bradley-Terry on many tables of scores at once, all near one solution."""

from dataclasses import dataclass

import numpy as np

from agon.ranking.arrays import BoolArray, FloatArray, IntArray
from agon.ranking.bradley_terry import RatedGroup

_CHORDS = 12
_NEWTONS = 30
_SETTLED = 1e-9
"""Longest last step, in log-odds, of a round that settled."""
_FARTHEST = 30.0
_LONGEST = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class BatchSolver:
    """Bradley-Terry on many tables of scores at once, all begun at one solution."""

    strengths: FloatArray
    inverse: FloatArray

    @classmethod
    def of(cls, group: RatedGroup) -> "BatchSolver":
        return cls(group.strengths, group.inverse)

    def solve(self, score: FloatArray) -> FloatArray:
        """Strengths, Rxm, of R tables Rxmxm; NaN where they have no limit."""
        met = score + score.transpose(0, 2, 1)
        total = score.sum(axis=2)
        strengths = np.tile(self.strengths, (len(score), 1))
        moved = np.full(len(score), np.inf)
        # Steps with the H⁺ of all votes cost m² each and gain tenfold or so, if votes are many.
        for _ in range(_CHORDS):
            move = (total - _expected(strengths, met)) @ self.inverse
            now = np.abs(move).max(axis=1)
            good = now < 0.5 * moved
            strengths[good] += move[good]
            moved = np.where(good, now, moved)
            if not good.any() or (moved < _SETTLED).all():
                break
        left = np.flatnonzero(moved >= _SETTLED)
        if left.size:
            strengths[left] = self._newton(strengths[left], met[left], total[left])
        return strengths

    def _newton(self, strengths: FloatArray, met: FloatArray, total: FloatArray) -> FloatArray:
        found = np.full_like(strengths, np.nan)
        size = strengths.shape[1]
        open_: IntArray = np.arange(len(strengths))
        strengths = np.where(np.abs(strengths) < _FARTHEST, strengths, self.strengths)
        for _ in range(_NEWTONS):
            move = _newton_moves(strengths, met, total)
            longest = np.abs(move).max(axis=1)
            strengths = strengths + move * np.minimum(1.0, _LONGEST / np.maximum(longest, _LONGEST))[:, None]
            settled = longest < _SETTLED
            found[open_[settled]] = strengths[settled]
            going = ~settled & (np.abs(strengths).max(axis=1) < _FARTHEST) & np.isfinite(longest)
            if not going.any():
                break
            open_, strengths, met, total = open_[going], strengths[going], met[going], total[going]
        return found - found.sum(axis=1, keepdims=True) / size


def _chances(strengths: FloatArray) -> FloatArray:
    odds = np.exp(strengths)
    return odds[:, :, None] / (odds[:, :, None] + odds[:, None, :])


def _expected(strengths: FloatArray, met: FloatArray) -> FloatArray:
    return np.einsum("rij,rij->ri", met, _chances(strengths))


def _newton_moves(strengths: FloatArray, met: FloatArray, total: FloatArray) -> FloatArray:
    chance = _chances(strengths)
    weights = met * chance * (1.0 - chance)
    size = strengths.shape[1]
    matrix = -weights
    diagonal = weights.sum(axis=2)
    matrix[:, np.arange(size), np.arange(size)] += diagonal
    # The null vector 1 is filled as in `pseudo_inverse`; a gradient sums to 0, so the filling leaves no trace.
    matrix += (diagonal.sum(axis=1) / (size * size) + np.finfo(np.float64).tiny)[:, None, None]
    gradient = total - np.einsum("rij,rij->ri", met, chance)
    regular = _regular(matrix)
    matrix[~regular] = np.eye(size)
    gradient[~regular] = np.nan
    return np.asarray(np.linalg.solve(matrix, gradient[:, :, None]), dtype=np.float64)[:, :, 0]


def _regular(matrix: FloatArray) -> BoolArray:
    sign, size = np.linalg.slogdet(matrix)
    return (sign > 0) & np.isfinite(size)
