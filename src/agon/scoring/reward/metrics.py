"""How good a score is: accuracy on pairs, its interval, calibration, and what it makes of length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agon.scoring.reward.fitting import Floats, log_loss, sigmoid

ROUNDS: Final = 2000
"""Of the bootstrap."""
BINS: Final = 10
_LEVEL: Final = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Accuracy:
    pairs: int
    """Decided ones: ties cannot be got right."""
    prompts: int
    accuracy: float | None
    """`None` without any pair. Equal scores count half."""
    low: float | None
    high: float | None
    """95 %, by drawing whole groups of prompts: pairs of one prompt are no independent witnesses."""


@dataclass(frozen=True, slots=True)
class Bin:
    low: float
    high: float
    pairs: int
    said: float | None
    """Mean chance that the model gave its favourite."""
    held: float | None
    """How often the favourite was preferred, ties half."""


@dataclass(frozen=True, slots=True)
class Calibration:
    log_loss: float
    """Natural log; 0.693 is what knowing nothing costs."""
    error: float
    """Expected calibration error: mean distance of said and held, weighted by pairs."""
    temperature: float
    """What the scores would still have to be divided by to fit best; 1 is calibrated."""
    bins: Sequence[Bin]


@dataclass(frozen=True, slots=True)
class LengthReport:
    prefers_longer: float | None
    """How often the longer answer gets the higher score."""
    longer_is_better: float | None
    """How often it was preferred."""
    right_where_longer_won: float | None
    right_where_shorter_won: float | None
    correlation: float | None
    """Between difference in score and in log length."""
    at_equal_quality: float | None
    """The same with the verdict held fixed."""


def credits_of(differences: Floats, outcomes: Floats) -> Floats:
    """Return 1 for each pair that is right, ½ for equal scores, 0 for wrong ones; NaN for ties."""
    right = (np.sign(differences) * np.sign(outcomes - 0.5) + 1) / 2
    return np.where(outcomes == 0.5, np.nan, right)


def accuracy_of(credit: Floats, groups: NDArray[np.int64], *, seed: int = 0) -> Accuracy:
    """Return the mean credit of the decided pairs with its interval."""
    decided = ~np.isnan(credit)
    if not decided.any():
        return Accuracy(0, 0, None, None, None)
    _, members = np.unique(groups[decided], return_inverse=True)
    sums, sizes = np.bincount(members, credit[decided]), np.bincount(members)
    mean = float(sums.sum() / sizes.sum())
    drawn = np.random.default_rng(seed).integers(len(sizes), size=(ROUNDS, len(sizes)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    # One group alone says nothing of how others would differ.
    low, high = np.percentile(means, _LEVEL) if len(sizes) > 1 else (0.0, 1.0)
    return Accuracy(int(decided.sum()), len(sizes), mean, float(low), float(high))


def calibration_of(differences: Floats, outcomes: Floats, *, temperature: float) -> Calibration:
    """Return how far chances can be trusted; `temperature` is what would still fit them best."""
    chances = sigmoid(np.abs(differences))
    favoured = np.where(differences >= 0, outcomes, 1 - outcomes)
    edges = np.linspace(0.5, 1.0, BINS + 1)
    places = np.clip(np.digitize(chances, edges) - 1, 0, BINS - 1)
    bins: list[Bin] = []
    error = 0.0
    for number in range(BINS):
        inside = places == number
        count = int(inside.sum())
        said, held = (float(chances[inside].mean()), float(favoured[inside].mean())) if count else (None, None)
        if said is not None and held is not None:
            error += count / len(chances) * abs(said - held)
        bins.append(Bin(round(float(edges[number]), 3), round(float(edges[number + 1]), 3), count, said, held))
    return Calibration(log_loss(differences, outcomes), error, temperature, bins)


def length_report(differences: Floats, outcomes: Floats, lengths: NDArray[np.int64]) -> LengthReport:
    """Return what the scores make of length; `lengths` are the characters of both answers."""
    longer = np.diff(np.log1p(lengths[:, ::-1]), axis=1)[:, 0]
    unequal, decided = longer != 0, outcomes != 0.5
    side, verdict = np.sign(longer), np.sign(outcomes - 0.5)
    credit = credits_of(differences, outcomes)
    return LengthReport(
        prefers_longer=_mean(((np.sign(differences) * side + 1) / 2)[unequal]),
        longer_is_better=_mean((side == verdict)[unequal & decided]),
        right_where_longer_won=_mean(credit[decided & (side == verdict) & unequal]),
        right_where_shorter_won=_mean(credit[decided & (side == -verdict) & unequal]),
        correlation=_correlation(differences, longer),
        at_equal_quality=_correlation(_without(differences, verdict), _without(longer, verdict)),
    )


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _without(values: Floats, verdict: Floats) -> Floats:
    """What is left of values once the verdict has told what it can."""
    power = float(verdict @ verdict)
    return values - verdict * (float(values @ verdict) / power if power else 0.0)


def _correlation(first: Floats, second: Floats) -> float | None:
    """Through the origin: a difference changes its sign with the sides."""
    norm = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / norm if norm else None
