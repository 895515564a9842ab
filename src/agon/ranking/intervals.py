"""Profile-likelihood limits: how far a rating can go before the votes speak against it, bounded or not."""

from dataclasses import dataclass

import numpy as np

from agon.ranking.arrays import FloatArray, IntArray
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, BradleyTerry
from agon.ranking.newton import GRADIENT_LIMIT, pseudo_inverse
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95
from agon.ranking.structure import Island

_MAX_STEPS = 80
_MAX_MOVE = 2.0
_HALVINGS = 50
_FARTHEST = 34.0
"""Gap in log-odds from which on rounding hides that anybody could still win."""


@dataclass(frozen=True, slots=True)
class ProfileLimits:
    """Limits of a rating, in points relative to a mean of 1000 over the rated models of its island (itself not counted
    where it is unbounded); None where the votes set no limit on that side."""

    low: float | None
    high: float | None


def profile_limits(counts: PairCounts, fit: BradleyTerry, model: str, *, z: float = Z95) -> ProfileLimits:
    """The ratings at which the likelihood, maximised over all other models, has fallen by z²/2.

    They need no symmetric error and exist on one side for a model that never lost, or never won, against the rated
    ones: then it is the battles with those that count. `fit` is the fit of these very counts. Votes count as
    independent, ties as half a win for either (a quasi-likelihood; it is cautious where many battles were ties).
    Raises `InvalidInput` for an unknown name. Both limits are None for a model that the votes place nowhere.
    """
    place = int(counts.codes([model])[0])
    island = next(island for island in fit.structure.islands if place in island.members)
    if not island.core.size:
        return ProfileLimits(None, None)
    profile = _Profile.of(counts, fit, island, place)
    if profile is None:
        return ProfileLimits(None, None)
    low = None if place in island.below else profile.limit(1.0, 0.5 * z * z)
    high = None if place in island.above else profile.limit(-1.0, 0.5 * z * z)
    return ProfileLimits(low, high)


@dataclass(frozen=True, slots=True, eq=False)
class _Profile:
    """Likelihood of a group of models under a pull on one of them.

    The maximum of L - λ·(θ_k - mean of the core), L the log-likelihood, is for each λ also the maximum of L at its own
    θ_k, and moves from the best fit outwards as |λ| grows: one concave problem a λ, with or without a best fit.
    """

    score: FloatArray
    met: FloatArray
    direction: FloatArray
    start: FloatArray
    best: float
    most: float

    @classmethod
    def of(cls, counts: PairCounts, fit: BradleyTerry, island: Island, place: int) -> "_Profile | None":
        core = island.core
        inside = place in core
        if not inside and not (place in island.above or place in island.below):
            return None
        places: IntArray = core if inside else np.append(core, place)
        score = counts.score()[np.ix_(places, places)]
        met = score + score.T
        group = next(group for group in fit.groups if np.array_equal(group.places, core))
        if not inside and not met[-1].any():
            return None
        # Battles with a model infinitely far away are no surprise, so the best of an unbounded one is the core's own.
        best = _likelihood(group.strengths, score[: len(core), : len(core)])
        at = int(np.searchsorted(core, place)) if inside else len(core)
        direction = np.append(np.full(len(core), -1.0 / len(core)), [] if inside else [0.0])
        direction[at] += 1.0
        start = group.strengths if inside else np.append(group.strengths, 0.0)
        return cls(score, met, direction, start, best, float(met[at].sum()))

    def limit(self, sign: float, drop: float) -> float:
        """The rating on the side of `sign` (1 is below) where the likelihood has fallen by `drop`."""
        low, high = 0.0, self.most
        strengths = self.start
        # A pull as strong as all battles of the model tears it off; on the way there every drop is passed once.
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            found = self._pulled(sign * middle, strengths)
            if found is None:
                high = middle
                continue
            strengths = found
            fallen = self.best - _likelihood(strengths, self.score)
            low, high = (middle, high) if fallen < drop else (low, middle)
            if abs(fallen - drop) < 1e-9:
                break
        return MEAN + PER_LOG_ODDS * float(self.direction @ strengths)

    def _pulled(self, pull: float, strengths: FloatArray) -> FloatArray | None:
        """The maximum of L - pull·(direction · θ), or None where it runs away."""
        target = self.score.sum(axis=1) - pull * self.direction
        for _ in range(_MAX_STEPS):
            if not float(np.ptp(strengths)) < _FARTHEST:
                return None
            odds = np.exp(strengths - strengths.max())
            chance = odds[:, None] / (odds[:, None] + odds)
            gradient = target - (self.met * chance).sum(axis=1)
            if float(np.abs(gradient).max()) < max(GRADIENT_LIMIT, 1e-13 * self.most):
                return strengths
            move = pseudo_inverse(self.met * chance * chance.T) @ gradient
            longest = float(np.abs(move).max())
            strengths = strengths + min(1.0, _MAX_MOVE / max(longest, _MAX_MOVE)) * move
        return None


def _likelihood(strengths: FloatArray, score: FloatArray) -> float:
    gaps = strengths[:, None] - strengths
    return -float((score * np.logaddexp(0.0, -gaps)).sum())
