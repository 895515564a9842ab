"""Intervals that may be looked at as often as one likes: they hold at all times at once.

A 95 % interval that is looked at after every vote excludes the truth sooner or later far more often than in 5 % of
runs. Whoever stops when it says so (a canary, an early decision) needs one of these instead.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from agon.core.errors import InvalidInput
from agon.ranking.bradley_terry import PER_LOG_ODDS

ALPHA = 0.05
"""Chance that a sequence ever leaves the truth outside."""
_HALF = 0.5
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Span:
    """`low` and `high` of an interval; infinite where nothing bounds it."""

    low: float
    high: float


def win_rate_sequence(score: float, battles: int, *, alpha: float = ALPHA) -> Span:
    """Where the win rate lies, at every moment of a run at once, with the chance 1 - `alpha`.

    `score` is the wins so far with half for a tie, between 0 and `battles`; the result lies in [0, 1]. Battles must
    have the same expected score given all that was before; how and when one looks is free. The interval holds those
    rates p at which the Beta(½, ½) mixture of likelihood ratios,

        B(s + ½, n - s + ½) / B(½, ½) / (p^s (1 - p)^(n - s)),

    stays under 1/`alpha`: a nonnegative martingale for wins and losses (Robbins 1970; Ville 1939) and, since a score
    within [0, 1] has no larger exponential moments than a coin of the same mean, a supermartingale with ties too
    (Howard, Ramdas, McAuliffe and Sekhon 2021). Ties make it wider than need be, never too narrow. Raises
    `InvalidInput` for a score out of range.
    """
    if not (battles >= 0 and 0.0 <= score <= battles):
        raise InvalidInput("The score must lie between 0 and the number of battles.", code="bad_score", field="score")
    if not 0.0 < alpha < 1.0:
        raise InvalidInput("Alpha must lie between 0 and 1.", code="bad_level", field="alpha")
    if battles == 0:
        return Span(0.0, 1.0)
    lost = battles - score
    ceiling = math.log(1.0 / alpha)
    mixture = _log_beta(score + _HALF, lost + _HALF) - _log_beta(_HALF, _HALF)

    def outside(p: float) -> bool:
        return mixture - _power(score, p) - _power(lost, 1.0 - p) >= ceiling

    rate = score / battles
    return Span(_edge(rate, 0.0, outside), _edge(rate, 1.0, outside))


def gap_sequence(score: float, battles: int, *, alpha: float = ALPHA) -> Span:
    """`win_rate_sequence` as a difference of ratings of two models, in points, from their own battles alone."""
    rates = win_rate_sequence(score, battles, alpha=alpha)
    return Span(_points(rates.low), _points(rates.high))


def rating_sequence(
    estimate: float, se: float, votes: int, *, alpha: float = ALPHA, tuned_for: int | None = None
) -> Span:
    """An asymptotic confidence sequence around any rating or difference that has a standard error, in its own units.

    `votes` is how many votes the estimate rests on; `tuned_for` the number at which the sequence is meant to be
    tightest, fixed before the run (default 1,000). It is the two-sided boundary of Waudby-Smith, Arbour, Sinha, Kennedy
    and Ramdas (2024, "Time-uniform central limit theory", Theorem 2.2), valid for large numbers of votes as an ordinary
    interval is, but at all times from there on. Raises `InvalidInput` if `votes` is below 1 or `se` negative.
    """
    target = 1_000 if tuned_for is None else tuned_for
    if votes < 1 or target < 1 or not se >= 0.0:
        raise InvalidInput("A sequence needs votes and an error that is not negative.", code="bad_votes", field="votes")
    if not 0.0 < alpha < 1.0:
        raise InvalidInput("Alpha must lie between 0 and 1.", code="bad_level", field="alpha")
    # Their equation for the rho that makes the boundary narrowest at the target.
    rho2 = (-2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha) + 1.0)) / target
    spent = votes * rho2
    half = se * math.sqrt(2.0 * (spent + 1.0) / spent * math.log(math.sqrt(spent + 1.0) / alpha))
    return Span(estimate - half, estimate + half)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _power(times: float, p: float) -> float:
    """times · log p, 0 where times is 0."""
    if times == 0.0:
        return 0.0
    return times * math.log(p) if p > 0.0 else -math.inf


def _edge(inside: float, end: float, outside: Callable[[float], bool]) -> float:
    """Where the interval around `inside` ends on the way to `end`; the farther side of the last halving."""
    if not outside(end):
        return end
    near, far = inside, end
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if outside(middle) else (middle, far)
    return far


def _points(rate: float) -> float:
    if rate <= 0.0 or rate >= 1.0:
        return math.copysign(math.inf, rate - 0.5)
    return PER_LOG_ODDS * math.log(rate / (1.0 - rate))
