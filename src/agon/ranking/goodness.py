"""Does one line of ratings describe the votes at all?"""

import math
from dataclasses import dataclass

import numpy as np

from agon.ranking.bradley_terry import RatedGroup
from agon.ranking.outcomes import PairCounts


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """Pearson's statistic over the pairs that met, its degrees of freedom and the chance of at least that much."""

    chi2: float
    degrees: int
    p: float | None
    """None where the pairs leave no degree of freedom to test."""


def goodness_of_fit(counts: PairCounts, group: RatedGroup) -> GoodnessOfFit:
    """Pearson's test of the fit of m models over q pairs that met, with q - (m - 1) degrees of freedom.

    Σ n(s/n - p)² / (p(1-p)), where s is the score of the first and n the battles of a pair. A small `p` says that the
    models do not stand on one line, as when each of three beats the next. Ties make the test too lenient, not too
    strict.
    """
    window = np.ix_(group.places, group.places)
    upper = np.triu_indices(len(group.places), 1)
    met, score = counts.met()[window][upper], counts.score()[window][upper]
    seen = met > 0
    chance = group.chance[upper][seen]
    chi2 = float(((score[seen] - met[seen] * chance) ** 2 / (met[seen] * chance * (1.0 - chance))).sum())
    degrees = int(seen.sum()) - (len(group.places) - 1)
    return GoodnessOfFit(chi2, degrees, chi2_tail(chi2, degrees) if degrees > 0 else None)


def chi2_tail(chi2: float, degrees: int) -> float:
    """Chance that a chi-squared variable of whole `degrees` ≥ 1 is at least `chi2` ≥ 0.

    The finite sum over half-integers of Abramowitz and Stegun 26.4.4 and 26.4.5; terms are built in logarithms.
    """
    half = 0.5 * chi2
    if half == 0.0:
        return 1.0
    even = degrees % 2 == 0
    total = 0.0 if even else math.erfc(math.sqrt(half))
    for step in range(degrees // 2):
        power = step if even else step + 0.5
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1.0))
    return min(total, 1.0)
