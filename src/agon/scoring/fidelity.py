"""How far a reduced engine's scores are from the full one's, and what follows from it. PURE, numpy.

Two scores are worth what they say of a pair: P(a beats b) = sigmoid((s_a - s_b) / temperature). So divergence is
measured between these preferences, and top-1 agreement is how often both engines prefer the same answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Places of the two answers of each pair among the scores."""

    first: Sequence[int]
    second: Sequence[int]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A reduced engine beside the full one, on the same samples."""

    samples: int
    pairs: int
    error_mean: float
    """Of the absolute difference of scores."""
    error_p99: float
    kl_mean: float
    """Of the divergence of preferences, full from reduced, in nats."""
    kl_p99: float
    top1: float
    """Share of the pairs in which both prefer the same answer."""
    kendall: float
    """Rank agreement of all scores (tau-b)."""
    spearman: float


@dataclass(frozen=True, slots=True)
class Gates:
    """What a reduced engine may lose, over what the full one loses to itself."""

    kl_mean: float = 0.05
    kl_p99: float = 0.25
    top1: float = 0.90
    pairs: int = 30
    """Fewer than so many decide nothing."""


class Verdict(StrEnum):
    PROMOTE = "promote"
    ROLL_BACK = "roll_back"
    HOLD = "hold"
    """Too little was seen to say either."""


@dataclass(frozen=True, slots=True)
class Decision:
    verdict: Verdict
    reasons: Sequence[str] = field(default=())
    """For people: which gate was missed, by how much; or why nothing can be said."""


def compare(full: Scores, reduced: Scores, pairs: Pairs, *, temperature: float = 1.0) -> Fidelity:
    """Compare two engines' scores of the same samples.

    Raises `ValueError` unless there are as many of each, all of them finite, and at least one pair.
    """
    if full.shape != reduced.shape or full.ndim != 1 or not len(pairs):
        raise ValueError("the engines must have scored the same samples, and there must be a pair among them")
    if not (np.isfinite(full).all() and np.isfinite(reduced).all()):
        raise ValueError("a score is not a finite number")
    error = np.abs(full - reduced)
    divergence = divergences(full, reduced, pairs, temperature=temperature)
    return Fidelity(
        samples=len(full),
        pairs=len(pairs),
        error_mean=float(error.mean()),
        error_p99=float(np.quantile(error, 0.99)),
        kl_mean=float(divergence.mean()),
        kl_p99=float(np.quantile(divergence, 0.99)),
        top1=_agreement(_differences(full, pairs), _differences(reduced, pairs)),
        kendall=kendall(full, reduced),
        spearman=spearman(full, reduced),
    )


def divergences(full: Scores, reduced: Scores, pairs: Pairs, *, temperature: float = 1.0) -> Scores:
    """Return KL(full, reduced) of each pair's preference, in nats.

    With p = sigmoid(x) and q = sigmoid(y): p·log(p/q) + (1-p)·log((1-p)/(1-q)), from logarithms of sigmoids, which
    stay exact where the preferences are close to 0 or 1.
    """
    x, y = _differences(full, pairs) / temperature, _differences(reduced, pairs) / temperature
    win = np.exp(_log_sigmoid(x))
    lose = np.exp(_log_sigmoid(-x))
    kl = win * (_log_sigmoid(x) - _log_sigmoid(y)) + lose * (_log_sigmoid(-x) - _log_sigmoid(-y))
    return np.maximum(kl, 0.0)


def decide(found: Fidelity, noise: Fidelity | None, gates: Gates) -> Decision:
    """Say whether a reduced engine may stay.

    `noise` is the full engine beside itself under other batch shapes. What it shows is nobody's loss: it is taken off
    before the gates are applied. Where it alone would miss a gate, nothing can be measured: hold.
    """
    if found.pairs < gates.pairs:
        return Decision(Verdict.HOLD, (f"{found.pairs} pairs are too few; {gates.pairs} are needed",))
    if noise is not None and (loud := _missed(noise, None, gates)):
        return Decision(Verdict.HOLD, tuple(f"noise at full precision: {reason}" for reason in loud))
    missed = _missed(found, noise, gates)
    return Decision(Verdict.ROLL_BACK if missed else Verdict.PROMOTE, missed)


def _missed(found: Fidelity, noise: Fidelity | None, gates: Gates) -> tuple[str, ...]:
    kl_mean = found.kl_mean - (noise.kl_mean if noise else 0.0)
    kl_p99 = found.kl_p99 - (noise.kl_p99 if noise else 0.0)
    top1 = found.top1 + (1.0 - noise.top1 if noise else 0.0)
    reasons = (
        (kl_mean > gates.kl_mean, f"mean KL {kl_mean:.4f} is over {gates.kl_mean:g}"),
        (kl_p99 > gates.kl_p99, f"p99 KL {kl_p99:.4f} is over {gates.kl_p99:g}"),
        (top1 < gates.top1, f"top-1 agreement {top1:.4f} is under {gates.top1:g}"),
    )
    return tuple(reason for missed, reason in reasons if missed)


def pair_accuracy(scores: Scores, pairs: Pairs, wins: Scores) -> float:
    """Return the share of decided pairs (`wins` 1 or 0) that scores get right; equal scores get half of one."""
    decided = wins != 0.5
    if not decided.any():
        raise ValueError("no pair is decided")
    difference = _differences(scores, pairs)[decided]
    right = np.where(difference == 0, 0.5, (difference > 0) == (wins[decided] == 1.0))
    return float(right.mean())


def kendall(a: Scores, b: Scores) -> float:
    """Kendall's tau-b, ties counted out of both sides; 1.0 where nothing can be ordered."""
    upper = np.triu_indices(len(a), 1)
    left, right = (np.sign(values[upper[0]] - values[upper[1]]) for values in (a, b))
    return _correlation(float((left * right).sum()), float((left**2).sum()), float((right**2).sum()))


def spearman(a: Scores, b: Scores) -> float:
    """Spearman's rho: the correlation of ranks, tied ones sharing their mean; 1.0 where nothing can be ordered."""
    left, right = (_ranks(values) - (len(values) + 1) / 2 for values in (a, b))
    return _correlation(float(left @ right), float(left @ left), float(right @ right))


def _correlation(both: float, left: float, right: float) -> float:
    return both / (left * right) ** 0.5 if left > 0 and right > 0 else float(left == right)


def _ranks(values: Scores) -> Scores:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place].astype(np.float64)


def _differences(scores: Scores, pairs: Pairs) -> Scores:
    return scores[np.asarray(pairs.first)] - scores[np.asarray(pairs.second)]


def _agreement(x: Scores, y: Scores) -> float:
    return float((np.sign(x) == np.sign(y)).mean())


def _log_sigmoid(x: Scores) -> Scores:
    return -np.logaddexp(0.0, -x)
