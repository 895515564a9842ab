"""Bradley-Terry ratings with robust standard errors, and no number where the votes determine none."""

import math
from dataclasses import dataclass, replace

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import FloatArray, IntArray, frozen
from agon.ranking.newton import Start, laplacian, maximise
from agon.ranking.outcomes import PairCounts
from agon.ranking.structure import Structure, find_structure

POINTS = 400.0
"""Rating points for tenfold odds of winning."""
MEAN = 1000.0
"""Mean rating of each group rated together, in points."""
PER_LOG_ODDS = POINTS / math.log(10.0)
"""Rating points for one natural log-odds."""
NO_RESIDUAL = 1e-12
"""Share of the votes' information under which squared residuals are rounding: one true residual leaves far more."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A model whose rating is fixed, in points; its standard error is 0 and the others' are those of the gap to it."""

    model: str
    rating: float = MEAN


@dataclass(frozen=True, slots=True)
class Gap:
    """First less second, in points, with its standard errors."""

    difference: float
    se_robust: float
    se_fisher: float


@dataclass(frozen=True, slots=True, eq=False)
class RatedGroup:
    """m models rated together: their places, ratings and what is needed for the error of any contrast of them.

    `strengths` are natural log-odds of mean 0 and `ratings` points, each (m,). `chance`, `inverse` (H⁺) and `meat` (S)
    are mxm, in log-odds. `se_*` are in points, (m,). `anchored` says that `ratings` are measured from an anchor in this
    group and not from the mean.
    """

    places: IntArray
    strengths: FloatArray
    ratings: FloatArray
    se: FloatArray
    se_robust: FloatArray
    se_fisher: FloatArray
    chance: FloatArray
    inverse: FloatArray
    meat: FloatArray
    anchored: bool
    gradient: float

    def covariance(self) -> FloatArray:
        """Robust covariance H⁺SH⁺ of the centred ratings, mxm, in points²."""
        return (self.inverse @ self.meat @ self.inverse) * PER_LOG_ODDS**2

    def gap(self, first: int, second: int) -> Gap:
        """The gap between two models of this group, by their places in the counts."""
        i, j = (int(np.searchsorted(self.places, place)) for place in (first, second))
        contrast = self.inverse[:, i] - self.inverse[:, j]
        robust, fisher = contrast @ self.meat @ contrast, contrast[i] - contrast[j]
        return Gap(
            float(self.ratings[i] - self.ratings[j]),
            float(np.sqrt(max(robust, 0.0)) * PER_LOG_ODDS),
            float(np.sqrt(fisher) * PER_LOG_ODDS),
        )


@dataclass(frozen=True, slots=True, eq=False)
class BradleyTerry:
    """The fit of M models.

    `ratings` and `se` have the shape (M,), in points, and hold NaN where the votes determine nothing. `main` is the
    place in `groups` of the group that the board ranks, or None where no group is larger than all others. Ratings of
    different groups have nothing to do with each other.
    """

    models: tuple[str, ...]
    ratings: FloatArray
    se: FloatArray
    structure: Structure
    groups: tuple[RatedGroup, ...]
    main: int | None

    def gap(self, first: str, second: str) -> Gap | None:
        """First less second, or None where they are not comparable. Raises `InvalidInput` for an unknown name."""
        places = [_place(self.models, name) for name in (first, second)]
        for group in self.groups:
            if np.isin(places, group.places).all():
                return group.gap(*places)
        return None


def fit_bradley_terry(
    counts: PairCounts, *, anchor: Anchor | None = None, start: BradleyTerry | None = None
) -> BradleyTerry:
    """Maximum-likelihood ratings of M models, P(i beats j) = 1 / (1 + 10^((r_j - r_i) / 400)).

    A tie and a both-bad count half a win for either side. Each island's core (see `structure`) is fitted apart, to a
    gradient under 1e-9 wins, and has mean 1000 or holds `anchor` at its rating; nothing else gets a number.

    Standard errors, in points, are the sandwich H⁺SH⁺ of Huber (1967) and White (1982), without small-sample factor,
    with S = Σ w(1-p)² + l·p² + t(½-p)² over pairs: votes count as independent, nothing else is assumed of them. `se`
    takes the Fisher error H⁺ for a model all of whose residuals are 0 (say, nothing but ties), where the sandwich would
    claim certainty.

    `start`, a former fit of any models, saves most of the work when few votes came since; it does not change the
    answer. Raises `InvalidInput` if the anchor is unknown or its rating is not finite.
    """
    if anchor is not None and not math.isfinite(anchor.rating):
        raise InvalidInput("The anchor's rating must be a finite number.", field="anchor")
    anchor_place = None if anchor is None else _place(counts.models, anchor.model)
    structure = find_structure(counts)
    former = _Former.of(counts, start)
    groups = tuple(_rate(counts, island.core, former) for island in structure.islands if island.core.size)
    if anchor is not None and anchor_place is not None:
        groups = tuple(_anchored(group, anchor_place, anchor.rating) for group in groups)
    ratings, se = (np.full(len(counts.models), np.nan) for _ in range(2))
    for group in groups:
        ratings[group.places], se[group.places] = group.ratings, group.se
    return BradleyTerry(counts.models, frozen(ratings), frozen(se), structure, groups, _main(counts, groups))


def _place(models: tuple[str, ...], name: str) -> int:
    try:
        return models.index(name)
    except ValueError:
        raise InvalidInput(f"{name!r} is not among the rated models.", code="unknown_model", field="model") from None


@dataclass(frozen=True, slots=True, eq=False)
class _Former:
    """A former fit's strengths (NaN where it had none) in the order of the present models."""

    strengths: FloatArray
    groups: tuple[RatedGroup, ...]
    same_models: bool

    @classmethod
    def of(cls, counts: PairCounts, fit: BradleyTerry | None) -> "_Former | None":
        if fit is None:
            return None
        strengths = np.full(len(fit.models), np.nan)
        for group in fit.groups:
            strengths[group.places] = group.strengths
        if fit.models == counts.models:
            return cls(strengths, fit.groups, True)
        by_name = dict(zip(fit.models, strengths.tolist(), strict=True))
        return cls(np.array([by_name.get(name, np.nan) for name in counts.models]), fit.groups, False)

    def start(self, places: IntArray) -> Start | None:
        strengths = self.strengths[places]
        known = np.isfinite(strengths)
        if not known.any():
            return None
        if self.same_models:
            for group in self.groups:
                if np.array_equal(group.places, places):
                    return Start(strengths, group.inverse)
        return Start(np.where(known, strengths, strengths[known].mean()))


def _rate(counts: PairCounts, places: IntArray, former: _Former | None) -> RatedGroup:
    window = slice(None) if len(places) == len(counts.models) else np.ix_(places, places)
    wins, draws = (table[window].astype(np.float64) for table in (counts.wins, counts.draws()))
    score = wins + 0.5 * draws
    fit = maximise(score, score + score.T, former.start(places) if former else None)
    lost = fit.chance.T
    spread = wins * lost * lost
    meat = laplacian(spread + spread.T + draws * (0.5 - fit.chance) ** 2)
    robust, fisher = _variances(fit.inverse, meat)
    certain = np.diag(meat) <= NO_RESIDUAL * (score.sum(axis=1) + score.sum(axis=0))
    se_robust, se_fisher = (PER_LOG_ODDS * np.sqrt(variance) for variance in (robust, fisher))
    return RatedGroup(
        places=places,
        strengths=frozen(fit.strengths),
        ratings=frozen(MEAN + PER_LOG_ODDS * fit.strengths),
        se=frozen(np.where(certain, se_fisher, se_robust)),
        se_robust=frozen(se_robust),
        se_fisher=frozen(se_fisher),
        chance=frozen(fit.chance),
        inverse=frozen(fit.inverse),
        meat=frozen(meat),
        anchored=False,
        gradient=fit.gradient,
    )


def _variances(inverse: FloatArray, meat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Diagonals of H⁺SH⁺ and of H⁺."""
    robust = np.einsum("ij,ij->i", inverse @ meat, inverse)
    return np.maximum(robust, 0.0), np.diag(inverse).copy()


def _anchored(group: RatedGroup, anchor: int, rating: float) -> RatedGroup:
    """The same fit measured from the anchor, if it is in this group."""
    if anchor not in group.places:
        return group
    held = int(np.searchsorted(group.places, anchor))
    contrasts = group.inverse - group.inverse[held]
    robust: FloatArray = np.maximum(np.einsum("ij,ij->i", contrasts @ group.meat, contrasts), 0.0)
    fisher: FloatArray = np.maximum(np.diag(contrasts) - contrasts[:, held], 0.0)
    se_robust, se_fisher = PER_LOG_ODDS * np.sqrt(robust), PER_LOG_ODDS * np.sqrt(fisher)
    certain = robust <= NO_RESIDUAL * fisher
    ratings: FloatArray = rating + PER_LOG_ODDS * (group.strengths - group.strengths[held])
    return replace(
        group,
        ratings=frozen(ratings),
        se=frozen(np.where(certain, se_fisher, se_robust)),
        se_robust=frozen(se_robust),
        se_fisher=frozen(se_fisher),
        anchored=True,
    )


def _main(counts: PairCounts, groups: tuple[RatedGroup, ...]) -> int | None:
    if len(groups) < 2:
        return 0 if groups else None
    met = counts.met()
    standings = [(len(group.places), int(met[np.ix_(group.places, group.places)].sum())) for group in groups]
    best = max(standings)
    return None if standings.count(best) > 1 else standings.index(best)
