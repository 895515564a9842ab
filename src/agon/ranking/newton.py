"""Newton's method for the Bradley-Terry likelihood of one strongly connected group, on MxM arrays only."""

from dataclasses import dataclass

import numpy as np

from agon.core.errors import AgonError
from agon.ranking.arrays import FloatArray

GRADIENT_LIMIT = 1e-9
"""Largest entry of the gradient, in wins, at which a fit is done."""
MAX_STEPS = 100
MAX_MOVE = 2.0
"""Longest single step of a strength, in natural log-odds, so that a lopsided start cannot overshoot."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Strengths of M models, natural log-odds, with mean 0.

    `chance[i, j]` is the fitted chance that i beats j (½ on the diagonal). `inverse` is the pseudo-inverse H⁺ of the
    information matrix, MxM. `gradient` is the largest absolute entry of the gradient left over, in wins.
    """

    strengths: FloatArray
    chance: FloatArray
    inverse: FloatArray
    gradient: float


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where to begin: strengths near the solution and, if known, H⁺ near its own."""

    strengths: FloatArray
    inverse: FloatArray | None = None


def maximise(score: FloatArray, met: FloatArray, start: Start | None = None) -> Fit:
    """The maximum of Σ score[i, j] log chance[i, j].

    `score` is MxM, in wins, and must link every model to every other in both directions; `met = score + score.T`. The
    gradient ends below `GRADIENT_LIMIT`, or below what rounding leaves of it where a model has more than some 280,000
    battles. Raises `AgonError` (`ratings_not_converged`) if it does not, which no such input should cause.
    """
    begin = start or Start(_first_guess(score))
    point = _Point.at(begin.strengths - begin.strengths.mean(), score, met)
    limit = max(GRADIENT_LIMIT, 16 * np.finfo(np.float64).eps * float(met.sum(axis=1).max()))
    if begin.inverse is not None:
        point = _chords(point, begin.inverse, score, met, limit)
    for _ in range(MAX_STEPS):
        inverse = pseudo_inverse(met * point.chance * point.chance.T)
        if point.size <= limit:
            return Fit(point.strengths, point.chance, inverse, point.size)
        point = _step(point, inverse @ point.gradient, score, met)
    raise AgonError("The ratings did not settle.", code="ratings_not_converged")


def laplacian(weights: FloatArray) -> FloatArray:
    """Σ weights[i, j] (e_i - e_j)(e_i - e_j)ᵀ over pairs, for symmetric weights with a zero diagonal, MxM."""
    matrix = -weights
    np.fill_diagonal(matrix, weights.sum(axis=1))
    return matrix


def pseudo_inverse(weights: FloatArray) -> FloatArray:
    """H⁺ of the connected Laplacian H of these weights, MxM; its rows sum to 0."""
    # H has the null vector 1; adding c·11ᵀ fills that direction, and the inverse then holds 11ᵀ/(c·m²) too much.
    matrix = laplacian(weights)
    size = len(matrix)
    fill = float(np.trace(matrix)) / (size * size)
    matrix += fill
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64) - 1.0 / (fill * size * size)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    strengths: FloatArray
    chance: FloatArray
    gradient: FloatArray
    size: float

    @classmethod
    def at(cls, strengths: FloatArray, score: FloatArray, met: FloatArray) -> "_Point":
        # One exponential a model, not one a pair; spreads stay far below the 700 where it would overflow.
        odds = np.exp(strengths)
        chance = odds[:, None] / (odds[:, None] + odds)
        gradient = (score - met * chance).sum(axis=1)
        return cls(strengths, chance, gradient, float(np.abs(gradient).max()))


def _first_guess(score: FloatArray) -> FloatArray:
    return np.log((score.sum(axis=1) + 0.5) / (score.sum(axis=0) + 0.5))


def _chords(point: _Point, inverse: FloatArray, score: FloatArray, met: FloatArray, limit: float) -> _Point:
    """Steps with an old H⁺, which cost M² each, for as long as each of them gains tenfold."""
    while point.size > limit:
        move = inverse @ point.gradient
        if float(np.abs(move).max()) > MAX_MOVE:
            return point
        ahead = _Point.at(point.strengths + move, score, met)
        if ahead.size > 0.1 * point.size:
            return ahead if ahead.size < point.size else point
        point = ahead
    return point


def _step(point: _Point, move: FloatArray, score: FloatArray, met: FloatArray) -> _Point:
    """A Newton step, halved until the gradient shrinks, which along this direction it must."""
    share = min(1.0, MAX_MOVE / float(np.abs(move).max()))
    before = float(np.linalg.norm(point.gradient))
    while True:
        ahead = _Point.at(point.strengths + share * move, score, met)
        if float(np.linalg.norm(ahead.gradient)) <= (1.0 - 0.1 * share) * before or share < 1e-6:
            return ahead
        share *= 0.5
