"""Models that give ties a chance of their own: Davidson (1970) and Rao and Kupper (1967)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from agon.ranking.arrays import FloatArray, IntArray, frozen
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, fit_bradley_terry
from agon.ranking.newton import GRADIENT_LIMIT
from agon.ranking.outcomes import PairCounts

_MAX_STEPS = 100
_MAX_MOVE = 1.0
_SETTLED = 1e-6
"""Longest last step, in log-odds, of a fit that settled; where no finite maximum exists, steps stay near 1."""
_FLAT = 1e-12
"""Curvature in some direction, of 1 in a common one, that rounding may have made."""
_FARTHEST = 60.0
"""Log-odds beyond which nothing is determined."""


class TieModel(StrEnum):
    """How a tie comes about, with π = exp(strength).

    Davidson: P(i wins) = π_i / (π_i + π_j + d√(π_i π_j)), P(tie) = d√(π_i π_j) / (the same), d ≥ 0.
    Rao-Kupper: P(i wins) = π_i / (π_i + θπ_j), and a tie is what remains; θ ≥ 1.
    """

    DAVIDSON = "davidson"
    RAO_KUPPER = "rao-kupper"


@dataclass(frozen=True, slots=True, eq=False)
class TieFit:
    """The fit of M models.

    `ratings` and `se`, (M,), are in points, of mean 1000 over the rated ones (`places`), NaN elsewhere: 400 points are
    tenfold π. `covariance`, mxm, is that of the rated ones, in points². `parameter` is Davidson's d or Rao and Kupper's
    θ with its error; the error is None where it is at its edge, since nobody tied. `log_likelihood` leaves the
    multinomial constant out. `finite` is False, and nothing is rated, where the likelihood has no maximum.
    """

    models: tuple[str, ...]
    model: TieModel
    ratings: FloatArray
    se: FloatArray
    places: IntArray
    covariance: FloatArray
    parameter: float
    parameter_se: float | None
    log_likelihood: float
    gradient: float
    finite: bool


def fit_ties(counts: PairCounts, model: TieModel) -> TieFit:
    """Maximum-likelihood ratings of M models under a model of ties, by Newton's method on pair counts.

    A both-bad counts as a tie. Candidates are the models that Bradley-Terry compares (`fit_bradley_terry`); a gradient
    under 1e-9 wins ends the fit. Errors are those of the sandwich H⁺SH⁺ over the three outcomes of each battle.
    """
    plain = fit_bradley_terry(counts)
    if plain.main is None:
        return _nothing(counts, model)
    places, start = plain.groups[plain.main].places, plain.groups[plain.main].strengths
    pairs = _Pairs.of(counts, places)
    if not pairs.tied.any():
        return _without_ties(counts, model)
    share = float(pairs.tied.sum() / pairs.met.sum())
    if share >= 1.0:
        return _nothing(counts, model)
    law = _davidson if model is TieModel.DAVIDSON else _rao_kupper
    edge = math.log(2.0 * share / (1.0 - share)) if model is TieModel.DAVIDSON else 2.0 * share
    point = _climb(pairs, law, np.append(start, edge), positive=model is TieModel.RAO_KUPPER)
    return _nothing(counts, model) if point is None else _result(counts, places, model, point)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The q pairs that met, each array (q,): places of both, and how often each outcome was."""

    size: int
    first: IntArray
    second: IntArray
    won: FloatArray
    lost: FloatArray
    tied: FloatArray

    @classmethod
    def of(cls, counts: PairCounts, places: IntArray) -> "_Pairs":
        window = np.ix_(places, places)
        wins, draws = counts.wins[window], counts.draws()[window]
        i, j = np.nonzero(np.triu(wins + wins.T + draws, 1))
        won, lost, tied = (table.astype(np.float64) for table in (wins[i, j], wins[j, i], draws[i, j]))
        return cls(len(places), i, j, won, lost, tied)

    @property
    def met(self) -> FloatArray:
        return self.won + self.lost + self.tied

    def spread(self, values: FloatArray) -> FloatArray:
        """Σ values (e_first - e_second), (m,)."""
        plus = np.bincount(self.first, values, self.size)
        return np.asarray(plus - np.bincount(self.second, values, self.size), dtype=np.float64)

    def bordered(self, dd: FloatArray, dt: FloatArray, tt: FloatArray) -> FloatArray:
        """Σ of the 2x2 blocks [[dd, dt], [dt, tt]] in (difference, parameter), (m+1)x(m+1)."""
        whole: FloatArray = np.zeros((self.size + 1, self.size + 1))
        inner = whole[:-1, :-1]
        np.add.at(inner, (self.first, self.second), -dd)
        inner += inner.T.copy()
        np.fill_diagonal(inner, -inner.sum(axis=1))
        whole[:-1, -1] = whole[-1, :-1] = self.spread(dt)
        whole[-1, -1] = tt.sum()
        return whole


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """Log-chances of win, loss and tie of each pair, their slopes in the difference and the parameter, and the negative
    curvature of the pair's log-likelihood; rows are outcomes, (3, q), and curvatures (q,)."""

    log_chance: FloatArray
    by_difference: FloatArray
    by_parameter: FloatArray
    curve_dd: FloatArray
    curve_dt: FloatArray
    curve_tt: FloatArray


_Chances = Callable[[FloatArray, float, _Pairs], _Law]


def _davidson(d: FloatArray, eta: float, pairs: _Pairs) -> _Law:
    """A softmax over (d/2, -d/2, η), exp(η) being Davidson's parameter."""
    level = np.stack((0.5 * d, -0.5 * d, np.full_like(d, eta)))
    log_chance = level - np.logaddexp.reduce(level, axis=0)
    win, loss, tie = np.exp(log_chance)
    lean, none, one = 0.5 * (win - loss), np.zeros_like(d), np.ones_like(d)
    met = pairs.met
    return _Law(
        log_chance,
        np.stack((0.5 * one, -0.5 * one, none)) - lean,
        np.stack((none, none, one)) - tie,
        met * (0.25 * (win + loss) - lean**2),
        met * (-lean * tie),
        met * tie * (1.0 - tie),
    )


def _rao_kupper(d: FloatArray, delta: float, pairs: _Pairs) -> _Law:
    """P(win) = s(d - δ), P(loss) = s(-d - δ), P(tie) = (e^2δ - 1) P(win) P(loss), s logistic, δ = log θ > 0."""
    log_win, log_loss = -np.logaddexp(0.0, delta - d), -np.logaddexp(0.0, delta + d)
    win, loss = np.exp(log_win), np.exp(log_loss)
    surplus = math.expm1(2.0 * delta)
    slope = 2.0 * (surplus + 1.0) / surplus
    lean_win, lean_loss, none = 1.0 - win, 1.0 - loss, np.zeros_like(d)
    bent_win, bent_loss = (pairs.won + pairs.tied) * win * lean_win, (pairs.lost + pairs.tied) * loss * lean_loss
    return _Law(
        np.stack((log_win, log_loss, math.log(surplus) + log_win + log_loss)),
        np.stack((lean_win, -lean_loss, lean_win - lean_loss)),
        np.stack((-lean_win, -lean_loss, slope - lean_win - lean_loss)),
        bent_win + bent_loss,
        bent_loss - bent_win,
        bent_win + bent_loss + pairs.tied * (2.0 * slope / surplus) + none,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Where the fit stands: strengths and the parameter last, (m+1,)."""

    values: FloatArray
    likelihood: float
    gradient: FloatArray
    information: FloatArray
    meat: FloatArray

    @classmethod
    def at(cls, pairs: _Pairs, chances: _Chances, values: FloatArray) -> "_Point":
        law = chances(values[pairs.first] - values[pairs.second], float(values[-1]), pairs)
        counts = np.stack((pairs.won, pairs.lost, pairs.tied))
        by_difference, by_parameter = counts * law.by_difference, counts * law.by_parameter
        gradient = np.append(pairs.spread(by_difference.sum(axis=0)), by_parameter.sum())
        meat = pairs.bordered(
            (by_difference * law.by_difference).sum(axis=0),
            (by_difference * law.by_parameter).sum(axis=0),
            (by_parameter * law.by_parameter).sum(axis=0),
        )
        information = pairs.bordered(law.curve_dd, law.curve_dt, law.curve_tt)
        return cls(values, float((counts * law.log_chance).sum()), gradient, information, meat)

    @property
    def size(self) -> float:
        return float(np.abs(self.gradient).max())


def _inverse(information: FloatArray) -> FloatArray | None:
    """H⁺ of an information with the null vector (1, …, 1, 0), or None where rounding leaves nothing of it."""
    size = len(information) - 1
    fill = float(np.trace(information[:-1, :-1])) / (size * size)
    if not (fill > 0 and np.isfinite(information).all()):
        return None
    filled = information.copy()
    filled[:-1, :-1] += fill
    scale = 1.0 / np.sqrt(np.maximum(np.diag(filled), np.finfo(np.float64).tiny))
    if float(np.linalg.eigvalsh(filled * scale * scale[:, None])[0]) < _FLAT:
        return None
    inverse = np.asarray(np.linalg.inv(filled), dtype=np.float64)
    inverse[:-1, :-1] -= 1.0 / (fill * size * size)
    return inverse


def _climb(pairs: _Pairs, chances: _Chances, start: FloatArray, *, positive: bool) -> _Point | None:
    """Newton's method with steps halved until the likelihood rises; None where it climbs without end."""
    point = _Point.at(pairs, chances, start)
    limit = max(GRADIENT_LIMIT, 16 * np.finfo(np.float64).eps * float(pairs.met.sum()))
    for _ in range(_MAX_STEPS):
        inverse = _inverse(point.information)
        if inverse is None or float(np.abs(point.values).max()) > _FARTHEST:
            return None
        move = inverse @ point.gradient
        longest = float(np.abs(move).max())
        if point.size <= limit and longest < _SETTLED:
            return point
        share = min(1.0, _MAX_MOVE / max(longest, _MAX_MOVE))
        if positive and point.values[-1] + share * move[-1] <= 0.0:
            share = 0.9 * float(point.values[-1] / -move[-1])
        point = _rise(pairs, chances, point, share * move)
    return None


def _rise(pairs: _Pairs, chances: _Chances, point: _Point, move: FloatArray) -> _Point:
    slack = 1e-12 * abs(point.likelihood)
    while True:
        ahead = _Point.at(pairs, chances, point.values + move)
        if ahead.likelihood >= point.likelihood - slack or float(np.abs(move).max()) < 1e-12:
            return ahead
        move = 0.5 * move


def _result(counts: PairCounts, places: IntArray, model: TieModel, point: _Point) -> TieFit:
    inverse = _inverse(point.information)
    assert inverse is not None
    covariance = inverse @ point.meat @ inverse
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    strengths = point.values[:-1] - point.values[:-1].mean()
    ratings, errors = _spread_out(counts, places, MEAN + PER_LOG_ODDS * strengths, PER_LOG_ODDS * se[:-1])
    parameter = math.exp(point.values[-1])
    return TieFit(
        models=counts.models,
        model=model,
        ratings=ratings,
        se=errors,
        places=places,
        covariance=frozen(covariance[:-1, :-1] * PER_LOG_ODDS**2),
        parameter=parameter,
        parameter_se=parameter * float(se[-1]),
        log_likelihood=point.likelihood,
        gradient=point.size,
        finite=True,
    )


def _spread_out(
    counts: PairCounts, places: IntArray, ratings: FloatArray, se: FloatArray
) -> tuple[FloatArray, FloatArray]:
    whole, errors = (np.full(len(counts.models), np.nan) for _ in range(2))
    whole[places], errors[places] = ratings, se
    return frozen(whole), frozen(errors)


def _without_ties(counts: PairCounts, model: TieModel) -> TieFit:
    """Nobody tied: the parameter is at its edge, and what remains is Bradley-Terry."""
    plain = fit_bradley_terry(counts)
    assert plain.main is not None
    group = plain.groups[plain.main]
    ratings, se = _spread_out(counts, group.places, MEAN + PER_LOG_ODDS * group.strengths, group.se)
    wins = counts.wins[np.ix_(group.places, group.places)]
    likelihood = float((wins * np.log(group.chance)).sum())
    edge = 0.0 if model is TieModel.DAVIDSON else 1.0
    return TieFit(
        models=counts.models,
        model=model,
        ratings=ratings,
        se=se,
        places=group.places,
        covariance=frozen(group.covariance()),
        parameter=edge,
        parameter_se=None,
        log_likelihood=likelihood,
        gradient=group.gradient,
        finite=True,
    )


def _nothing(counts: PairCounts, model: TieModel) -> TieFit:
    nowhere = np.zeros(0, dtype=np.int64)
    ratings, se = _spread_out(counts, nowhere, np.zeros(0), np.zeros(0))
    return TieFit(
        models=counts.models,
        model=model,
        ratings=ratings,
        se=se,
        places=nowhere,
        covariance=np.zeros((0, 0)),
        parameter=math.nan,
        parameter_se=None,
        log_likelihood=math.nan,
        gradient=math.nan,
        finite=False,
    )
