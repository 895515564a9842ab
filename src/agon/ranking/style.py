"""Style control: ratings as they would be if both answers had the same length and formatting."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import InvalidInput
from agon.ranking.arrays import Codes, Differences, FloatArray, IntArray, frozen
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, BradleyTerry, fit_bradley_terry
from agon.ranking.newton import GRADIENT_LIMIT, MAX_MOVE, laplacian
from agon.ranking.outcomes import POINTS_OF_A, PairCounts

FEATURES = ("tokens", "headers", "lists", "bold")
"""What the arena counts of an answer."""
_CHUNK = 1 << 15
"""Rows worked on at once, so that their columns stay in the processor's cache."""
_SAMPLE = 1 << 16
"""Rows of the sample on which a large fit starts."""
_MAX_STEPS = 60
_NEAR = 1e-7
"""Longest last step, in log-odds, of a fit that settled; one that runs away keeps making long ones."""
_COLLINEAR = 1e-9
_RUNAWAY = "Style alone tells winners from losers, so its weight has no limit."


@dataclass(frozen=True, slots=True, eq=False)
class RawStyle:
    """Counts of F features in the answers of V battles: `a` and `b`, each VxF, not negative, NaN where unknown."""

    names: tuple[str, ...]
    a: NDArray[np.number]
    b: NDArray[np.number]


@dataclass(frozen=True, slots=True, eq=False)
class StyleFit:
    """The fit of M models and F features.

    `ratings` and `se`, (M,), are in points, of mean 1000 over the models that are comparable, NaN for others (`places`
    are the rated ones). `coefficients` and `coefficient_se`, (F,), are natural log-odds for a full unit of difference,
    that is from as much in both answers to all in the first. `covariance`, mxm, is that of the rated ones, in points².
    """

    models: tuple[str, ...]
    names: tuple[str, ...]
    ratings: FloatArray
    se: FloatArray
    coefficients: FloatArray
    coefficient_se: FloatArray
    places: IntArray
    covariance: FloatArray
    votes: int
    gradient: float


def style_differences(style: RawStyle) -> Differences:
    """(a - b) / (a + b) of each feature, 0 where neither answer has any, VxF in float32, NaN where a count is no count.

    Not centred: the difference of equal answers is 0, so which answer stood first cannot matter. Raises `InvalidInput`
    if the tables do not fit the names.
    """
    a, b = np.asarray(style.a), np.asarray(style.b)
    if a.ndim != 2 or a.shape != b.shape or a.shape[1] != len(style.names):
        raise InvalidInput("The style of both answers must have one column a feature.", code="bad_style", field="style")
    found = np.empty(a.shape, dtype=np.float32, order="F")
    for start in range(0, len(a), _CHUNK):
        part = slice(start, start + _CHUNK)
        found[part] = _differences(a[part], b[part])
    return found


def _differences(a: NDArray[np.number], b: NDArray[np.number]) -> Differences:
    one, other = (np.ascontiguousarray(side.T, dtype=np.float32) for side in (a, b))
    with np.errstate(invalid="ignore"):
        whole = one + other
        found = (one - other) / np.where(whole == 0, 1, whole)
        found[~((np.minimum(one, other) >= 0) & np.isfinite(whole))] = np.nan
    return found.T


def fit_style(
    models: tuple[str, ...],
    first: Codes,
    second: Codes,
    winners: Codes,
    differences: Differences,
    *,
    names: tuple[str, ...] = FEATURES,
) -> StyleFit:
    """Maximum-likelihood ratings and style coefficients of V votes, logit P(a wins) = θ_a - θ_b + x·β.

    `first`, `second` and `winners`, (V,), are coded as in `PairCounts.from_codes`; `differences` is VxF. A tie counts
    as half a win for either side; nothing is centred and nothing is shrunk. Rated are the models that the votes make
    comparable without style (`structure`). The fit ends at a gradient under 1e-9 wins, or at what rounding leaves of
    it. Errors are the sandwich H⁺SH⁺ as in `fit_bradley_terry`. The idea is that of Li, Angelopoulos and Chiang, "Does
    style matter?" (2024), without their centring, which makes the answer depend on the order of the two answers.

    Raises `InvalidInput` if shapes differ, a difference is not a number, a feature cannot be told from the others and
    the models (`collinear_style`), or style alone separates winners from losers (`style_not_finite`).
    """
    counts = PairCounts.from_codes(models, first, second, winners)
    plain = fit_bradley_terry(counts)
    x = np.asarray(differences)
    if x.ndim != 2 or x.shape != (len(np.asarray(first)), len(names)):
        raise InvalidInput("The style differences must be one row a vote, one column a feature.", code="bad_style")
    places = _rated(plain)
    rows = _Rows.of(places, first, second, winners, x)
    if not np.isfinite(rows.x).all():
        raise InvalidInput("A style difference is not a number.", code="bad_style", field="style")
    start = np.concatenate((plain.groups[plain.main].strengths if plain.main is not None else [], np.zeros(x.shape[1])))
    point = _solve(rows, start)
    return _result(counts, places, rows, point, names)


def _rated(plain: BradleyTerry) -> IntArray:
    return np.zeros(0, dtype=np.int64) if plain.main is None else plain.groups[plain.main].places


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Votes among m rated models: `cell` is first * m + second, `x` the differences, `points` the first one's score."""

    size: int
    cell: IntArray
    x: Differences
    points: NDArray[np.float32]

    @classmethod
    def of(cls, places: IntArray, first: Codes, second: Codes, winners: Codes, x: Differences) -> "_Rows":
        a, b, w = (np.asarray(codes) for codes in (first, second, winners))
        top = int(max(a.max(initial=0), b.max(initial=0), places.max(initial=0))) + 1
        at = np.full(top, -1)
        at[places] = np.arange(len(places))
        i, j = at[a], at[b]
        points = POINTS_OF_A.astype(np.float32)[w]
        if len(places) < top:
            inside = (i >= 0) & (j >= 0)
            i, j, x, points = i[inside], j[inside], np.asfortranarray(x[inside]), points[inside]
        return cls(len(places), i * len(places) + j, x, points)

    def __len__(self) -> int:
        return len(self.cell)

    def sample(self, rows: int) -> "_Rows":
        """About that many rows, spread over all."""
        step = slice(None, None, max(len(self) // rows, 1))
        return _Rows(self.size, self.cell[step], np.asfortranarray(self.x[step]), self.points[step])

    def chunks(
        self, dtype: type[np.floating]
    ) -> "Iterator[tuple[IntArray, NDArray[np.floating], NDArray[np.float32]]]":
        for start in range(0, len(self), _CHUNK):
            part = slice(start, start + _CHUNK)
            # One feature after the other: each becomes one run of memory.
            columns = np.ascontiguousarray(self.x[part].T, dtype=dtype)
            yield self.cell[part], columns, self.points[part]


@dataclass(slots=True, eq=False)
class _Sums:
    """Σ weight · v vᵀ over rows, with v = (e_first - e_second, x), gathered by cell."""

    size: int
    by_cell: FloatArray
    crossed: FloatArray
    squared: FloatArray

    @classmethod
    def empty(cls, size: int, features: int) -> "_Sums":
        return cls(size, np.zeros(size * size), np.zeros((features, size * size)), np.zeros((features, features)))

    def add(self, cell: IntArray, columns: NDArray[np.floating], weights: NDArray[np.floating]) -> None:
        self.by_cell += np.bincount(cell, weights, self.size**2)
        weighted = columns * weights
        for place, column in enumerate(weighted):
            self.crossed[place] += np.bincount(cell, column, self.size**2)
        self.squared += weighted @ columns.T

    def matrix(self) -> FloatArray:
        size, features = self.size, len(self.squared)
        table = self.by_cell.reshape(size, size)
        cross = self.crossed.reshape(features, size, size)
        whole = np.empty((size + features, size + features))
        whole[:size, :size] = laplacian(table + table.T)
        whole[size:, :size] = cross.sum(axis=2) - cross.sum(axis=1)
        whole[:size, size:] = whole[size:, :size].T
        whole[size:, size:] = self.squared
        return whole


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    votes: int
    values: FloatArray
    gradient: FloatArray
    information: FloatArray | None
    meat: FloatArray | None

    @property
    def size(self) -> float:
        return float(np.abs(self.gradient).max(initial=0.0))


def _look(
    rows: _Rows, values: FloatArray, *, information: bool = False, meat: bool = False, coarse: bool = False
) -> _Point:
    """Gradient, in wins, and on request information H and meat S, in one pass over the rows.

    A coarse look works each row out in single precision, in half the time.
    """
    size, features = rows.size, rows.x.shape[1]
    dtype = np.float32 if coarse else np.float64
    strengths, beta = values[:size].astype(dtype), values[size:].astype(dtype)
    table = (strengths[:, None] - strengths).reshape(-1)
    by_cell, by_feature = np.zeros(size * size), np.zeros(features)
    bread, filling = _Sums.empty(size, features), _Sums.empty(size, features)
    for cell, columns, points in rows.chunks(dtype):
        chance = 1.0 / (1.0 + np.exp(-(table[cell] + beta @ columns)))
        residual = points - chance
        by_cell += np.bincount(cell, residual, size * size)
        by_feature += columns @ residual
        if information:
            bread.add(cell, columns, chance * (1.0 - chance))
        if meat:
            filling.add(cell, columns, residual * residual)
    square = by_cell.reshape(size, size)
    gradient = np.concatenate((square.sum(axis=1) - square.sum(axis=0), by_feature))
    return _Point(
        len(rows), values, gradient, bread.matrix() if information else None, filling.matrix() if meat else None
    )


def _solve(rows: _Rows, start: FloatArray) -> _Point:
    if len(rows) > 4 * _SAMPLE:
        # What a sample leaves open may be settled by the whole.
        with suppress(InvalidInput):
            found = _climb(rows.sample(_SAMPLE), start)
            return _climb(rows, _approached(rows, found), near=True)
    return _climb(rows, start)


def _approached(rows: _Rows, sample: _Point) -> FloatArray:
    """From a sample's end to near the whole's, on coarse looks, whose noise is far below what a sample leaves.

    The first step takes H from the sample, which is a hundredth off, as the step is in any case.
    """
    first = _look(rows, sample.values, coarse=True)
    share = sample.votes / len(rows)
    second = _look(rows, _stepped(first, share * _inverse(sample, rows.size)), information=True, coarse=True)
    return _stepped(second, _inverse(second, rows.size))


def _stepped(point: _Point, inverse: FloatArray) -> FloatArray:
    move = inverse @ point.gradient
    longest = float(np.abs(move).max(initial=0.0))
    return point.values + min(1.0, MAX_MOVE / max(longest, MAX_MOVE)) * move


def _climb(rows: _Rows, start: FloatArray, *, near: bool = False) -> _Point:
    """Newton's method, with the last H⁺ kept, and mended by what each step shows, for as long as steps gain tenfold.

    The result's information and meat are taken a last short step, under `_NEAR`, before the end: what that changes in
    an error is a ten-millionth of it. A start that is `near` is taken to be that step.
    """
    limit = max(GRADIENT_LIMIT, 16 * np.finfo(np.float64).eps * 2.0 * len(rows) / max(rows.size, 1))
    point = _look(rows, start, information=True, meat=near)
    inverse = _inverse(point, rows.size)
    for _ in range(_MAX_STEPS):
        move = inverse @ point.gradient
        longest = float(np.abs(move).max(initial=0.0))
        if longest >= _NEAR:
            point = replace(point, meat=None)
        elif point.meat is None:
            point = _look(rows, point.values, information=True, meat=True)
            inverse = _inverse(point, rows.size)
            continue
        if point.size <= limit and longest < _NEAR:
            return point
        ahead = _look(rows, _stepped(point, inverse))
        if ahead.size > 0.1 * point.size and point.size > limit:
            ahead = _look(rows, _shortened(rows, point, ahead), information=True)
            inverse = _inverse(ahead, rows.size)
        else:
            inverse = _mended(inverse, ahead.values - point.values, point.gradient - ahead.gradient)
            ahead = replace(ahead, information=point.information, meat=point.meat)
        point = ahead
    raise InvalidInput(_RUNAWAY, code="style_not_finite")


def _mended(inverse: FloatArray, step: FloatArray, change: FloatArray) -> FloatArray:
    """The symmetric rank-one update that makes H⁺ map the change of the gradient to the step that made it."""
    rest = step - inverse @ change
    scale = float(rest @ change)
    if abs(scale) <= 1e-8 * float(np.linalg.norm(rest) * np.linalg.norm(change)):
        return inverse
    return inverse + np.outer(rest / scale, rest)


def _shortened(rows: _Rows, point: _Point, ahead: _Point) -> FloatArray:
    """Where to go instead if a step made things worse: halfway back, as often as it takes."""
    before = float(np.linalg.norm(point.gradient))
    for _ in range(30):
        if float(np.linalg.norm(ahead.gradient)) <= before:
            break
        ahead = _look(rows, 0.5 * (point.values + ahead.values))
    return ahead.values


def _inverse(point: _Point, size: int) -> FloatArray:
    """H⁺, (m+F)x(m+F). Raises `InvalidInput` where the rows determine no feature's weight."""
    information = point.information
    assert information is not None
    if not size:
        return np.zeros_like(information)
    fill = float(np.trace(information[:size, :size])) / (size * size)
    if not np.isfinite(information).all() or not fill > 0:
        raise InvalidInput(
            "Style alone tells winners from losers, so its weight has no limit.", code="style_not_finite"
        )
    information = information.copy()
    information[:size, :size] += fill
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), np.finfo(np.float64).tiny))
    if float(np.linalg.eigvalsh(information * scale * scale[:, None])[0]) < _COLLINEAR:
        raise InvalidInput("A feature of style cannot be told from the others and the models.", code="collinear_style")
    inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
    inverse[:size, :size] -= 1.0 / (fill * size * size)
    return inverse


def _result(counts: PairCounts, places: IntArray, rows: _Rows, point: _Point, names: tuple[str, ...]) -> StyleFit:
    size = len(places)
    inverse = _inverse(point, size)
    assert point.meat is not None
    covariance = inverse @ point.meat @ inverse
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratings, errors = (np.full(len(counts.models), np.nan) for _ in range(2))
    ratings[places] = MEAN + PER_LOG_ODDS * (point.values[:size] - point.values[:size].mean()) if size else 0.0
    errors[places] = PER_LOG_ODDS * se[:size]
    return StyleFit(
        models=counts.models,
        names=names,
        ratings=frozen(ratings),
        se=frozen(errors),
        coefficients=frozen(point.values[size:].copy()),
        coefficient_se=frozen(se[size:].copy()),
        places=places,
        covariance=frozen(covariance[:size, :size] * PER_LOG_ODDS**2),
        votes=len(rows),
        gradient=point.size,
    )
