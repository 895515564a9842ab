"""Medians, percentiles and the ratio of two measurements taken side by side."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_RESAMPLES = 2_000
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Claim:
    """Ours over a baseline measured in the same run; `low` and `high` bound the ratio."""

    claim: str
    ours: float
    baseline: float
    ratio: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure without a baseline: it tells where a claim's numbers come from."""

    name: str
    value: float
    unit: str


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie, interpolated. Raises `ValueError` if there are none."""
    if not values:
        raise ValueError("a percentile of nothing")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def compare(claim: str, ours: Sequence[float], baseline: Sequence[float]) -> Claim:
    """Compare paired repeats: the two values of one repeat were measured right after each other.

    The ratio is the median of the repeats' ratios, because the machine's mood changes between repeats and hardly
    within one. Its interval is the 95 % percentile bootstrap over repeats.
    """
    ratios = [mine / other for mine, other in zip(ours, baseline, strict=True)]
    low, high = bootstrap_interval(ratios)
    return Claim(
        claim=claim,
        ours=statistics.median(ours),
        baseline=statistics.median(baseline),
        ratio=statistics.median(ratios),
        low=low,
        high=high,
        runs=len(ratios),
    )


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """The percentile interval of the values' median; the same values always give the same interval."""
    chance = random.Random(0)
    medians = [statistics.median(chance.choices(values, k=len(values))) for _ in range(_RESAMPLES)]
    tail = (1 - _CONFIDENCE) / 2
    return percentile(medians, tail), percentile(medians, 1 - tail)
