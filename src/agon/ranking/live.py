"""Ratings that follow votes one at a time, for a board that must move at once."""

from dataclasses import dataclass, replace

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import FloatArray, IntArray, frozen
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, BradleyTerry, RatedGroup, fit_bradley_terry
from agon.ranking.outcomes import POINTS_OF_A, WINNERS, PairCounts

_CLOSE = 2e-10
"""Longest last correction of a strength, in log-odds: under 1e-7 points."""
_SLOW = 0.1
"""Gain of a correction beyond which the kept inverse is too old."""
_CORRECTIONS = 6


class LiveRatings:
    """Bradley-Terry ratings of M models that take in a vote in O(M²), as if everything had been fitted anew.

    The last H⁺ is kept. A vote changes it by one rank (Sherman and Morrison 1950), which gives the new ratings but for
    a remainder of second order; one or two corrections with the same H⁺ remove that. Only when those no longer gain
    tenfold, after many votes, is H⁺ computed anew, and only a vote that changes which models are comparable is fitted
    in full. Standard errors are not kept up with every vote: `fit` makes them when they are wanted.
    """

    def __init__(self, counts: PairCounts, start: BradleyTerry | None = None) -> None:
        self._models = counts.models
        self._wins, self._ties, self._bad = counts.wins.copy(), counts.ties.copy(), counts.both_bad.copy()
        self._last = fit_bradley_terry(counts, start=start)
        self._core = _Core.of(self._last, counts)

    @property
    def models(self) -> tuple[str, ...]:
        return self._models

    @property
    def counts(self) -> PairCounts:
        """A copy of the counts."""
        return PairCounts(self._models, *(frozen(table.copy()) for table in (self._wins, self._ties, self._bad)))

    @property
    def ratings(self) -> FloatArray:
        """Ratings, (M,), in points, as `fit_bradley_terry` gives them; NaN where the votes determine nothing."""
        ratings = self._last.ratings.copy()
        if self._core is not None:
            ratings[self._core.group.places] = MEAN + PER_LOG_ODDS * self._core.strengths
        return ratings

    def add(self, first: int, second: int, winner: int) -> None:
        """Takes in one vote, coded as in `PairCounts.from_codes`. Raises `InvalidInput` as that does."""
        self._check(first, second, winner)
        if winner < 2:
            self._wins[(first, second) if winner == 0 else (second, first)] += 1
        else:
            table = self._ties if winner == 2 else self._bad
            table[first, second] += 1
            table[second, first] += 1
        if self._core is None or not self._core.follow(first, second, float(POINTS_OF_A[winner])):
            self.fit()

    def fit(self) -> BradleyTerry:
        """The whole fit with its errors, started from these ratings."""
        counts = self.counts
        start = self._last if self._core is None else self._core.as_start(self._last)
        self._last = fit_bradley_terry(counts, start=start)
        self._core = _Core.of(self._last, counts)
        return self._last

    def _check(self, first: int, second: int, winner: int) -> None:
        if not (0 <= first < len(self._models) and 0 <= second < len(self._models)):
            raise InvalidInput("The vote names a model that is not there.", code="unknown_model")
        if not 0 <= winner < len(WINNERS):
            raise InvalidInput("The vote has no known winner.", code="unknown_winner")
        if first == second:
            raise InvalidInput("The vote sets a model against itself.", code="self_battle")


@dataclass(slots=True, eq=False)
class _Core:
    """The m models of the main group, their battles with each other, and the arrays that votes change in place."""

    group: RatedGroup
    at: IntArray
    met: FloatArray
    score: FloatArray
    strengths: FloatArray
    inverse: FloatArray

    @classmethod
    def of(cls, fit: BradleyTerry, counts: PairCounts) -> "_Core | None":
        if fit.main is None:
            return None
        group = fit.groups[fit.main]
        at = np.full(len(fit.models), -1)
        at[group.places] = np.arange(len(group.places))
        inner = counts.only(group.places)
        score = inner.score().sum(axis=1)
        return cls(group, at, inner.met().astype(np.float64), score, group.strengths.copy(), group.inverse.copy())

    def as_start(self, fit: BradleyTerry) -> BradleyTerry:
        """The last fit as it would be now."""
        now = replace(self.group, strengths=self.strengths, inverse=self.inverse)
        return replace(fit, groups=tuple(now if group is self.group else group for group in fit.groups))

    def follow(self, first: int, second: int, points: float) -> bool:
        """Takes in a vote between two of the group; False if that is not done, or cannot be by small corrections."""
        i, j = int(self.at[first]), int(self.at[second])
        if i < 0 or j < 0:
            return False
        self.met[i, j] += 1.0
        self.met[j, i] += 1.0
        self.score[i] += points
        self.score[j] += 1.0 - points
        self._step(i, j, points)
        before = np.inf
        for _ in range(_CORRECTIONS):
            move = self.inverse @ self._gradient()
            longest = float(np.abs(move).max())
            if longest > _SLOW * before:
                break
            self.strengths += move
            if longest < _CLOSE:
                return True
            before = longest
        return False

    def _step(self, i: int, j: int, points: float) -> None:
        chance = 1.0 / (1.0 + float(np.exp(self.strengths[j] - self.strengths[i])))
        column = self.inverse[:, i] - self.inverse[:, j]
        weight = chance * (1.0 - chance)
        share = 1.0 / (1.0 + weight * float(column[i] - column[j]))
        self.strengths += (points - chance) * share * column
        self.inverse -= np.outer(weight * share * column, column)

    def _gradient(self) -> FloatArray:
        odds = np.exp(self.strengths)
        chance = odds[:, None] / (odds[:, None] + odds)
        return self.score - np.einsum("ij,ij->i", self.met, chance)
