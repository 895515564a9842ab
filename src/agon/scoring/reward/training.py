"""From judged pairs to a head: what is fitted, under which settings, and how well it does on prompts it never saw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agon.scoring.reward.features import EXPECTED_SIGNS, FEATURE_NAMES
from agon.scoring.reward.fitting import Belief, Floats, fit, log_loss
from agon.scoring.reward.folds import grouped_folds
from agon.scoring.reward.head import HIDDEN, Head
from agon.scoring.reward.scales import FeatureScale, standardised


@dataclass(frozen=True, slots=True)
class Settings:
    """What is chosen on inner folds."""

    ridge: float
    """How firmly features keep to what is expected of them."""
    expected: float
    """The weight that common sense gives a feature of unit scale before any data."""
    directions: int
    """Main directions of the answers' vectors that get a weight."""


GRID: Final = tuple(
    Settings(ridge, expected, directions) for ridge in (60.0, 120.0) for expected in (0.1, 0.2) for directions in (0, 8)
)
_UNEXPECTED: Final = 3.0
"""How much firmer a feature is held of which nothing is expected."""
_VECTOR_RIDGE: Final = 100.0
_FLOOR: Final = 0.02
"""What is left of common sense where the data see no use for it: the next data may."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Judged pairs as numbers: axis 1 is A, B."""

    features: Floats
    """[pairs, 2, features], raw."""
    signs: Floats
    """[pairs], the polarity of each prompt."""
    vectors: Floats
    """[pairs, 2, hidden]: unit vectors of the answers."""
    products: Floats
    """[pairs, 2, hidden]: those of prompt and answer, multiplied place by place."""
    outcomes: Floats

    def part(self, chosen: NDArray[np.bool_]) -> "Numbers":
        return Numbers(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def scores(self, head: Head) -> Floats:
        """Return the scores of both answers of each pair: [pairs, 2]."""
        sides = [
            head.scores(self.features[:, side], self.signs, self.vectors[:, side], self.products[:, side])
            for side in (0, 1)
        ]
        return np.stack(sides, axis=1)

    def differences(self, head: Head) -> Floats:
        """Return s_a - s_b of each pair."""
        scores = self.scores(head)
        return scores[:, 0] - scores[:, 1]

    def __len__(self) -> int:
        return len(self.outcomes)


def fit_head(numbers: Numbers, settings: Settings) -> Head:
    """Fit a head to all of the pairs, ties as half a win each. The mean score of their answers is 0."""
    scales = _scales(numbers.features)
    sides = [standardised(numbers.features[:, side], scales, numbers.signs) for side in (0, 1)]
    basis = _directions(numbers.vectors, settings.directions)
    closeness = numbers.products.sum(axis=2)
    spread = float(closeness.std()) or 1.0
    rows = np.concatenate(
        [
            sides[0] - sides[1],
            ((closeness[:, 0] - closeness[:, 1]) / spread)[:, None],
            (numbers.vectors[:, 0] - numbers.vectors[:, 1]) @ basis,
        ],
        axis=1,
    )
    weights = fit(rows, numbers.outcomes, _belief(settings, basis.shape[1]))
    count = len(scales)
    head = Head(
        scales=scales,
        feature_weights=weights[:count],
        answer_weights=basis @ weights[count + 1 :],
        product_weights=np.full(HIDDEN, float(weights[count]) / spread, np.float64),
    )
    return replace(head, bias=-float(numbers.scores(head).mean()))


def _scales(raw: Floats) -> list[FeatureScale]:
    flat = raw.reshape(-1, raw.shape[2])
    spreads = flat.std(axis=0)
    # A feature that is the same everywhere tells nothing yet; its weight stays what was expected of it.
    return [
        FeatureScale(name, round(float(mean), 6), round(float(spread), 6) if spread > 1e-6 else 1.0)
        for name, mean, spread in zip(FEATURE_NAMES, flat.mean(axis=0), spreads, strict=True)
    ]


def _directions(vectors: Floats, count: int) -> Floats:
    """Return the main directions of the answers' vectors, each divided by the spread along it."""
    flat = vectors.reshape(-1, vectors.shape[2])
    centred = flat - flat.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred / len(flat))
    kept = slice(len(values) - count, None)
    return axes[:, kept] / np.sqrt(np.maximum(values[kept], 1e-9))


def _belief(settings: Settings, directions: int) -> Belief:
    expected = np.array([EXPECTED_SIGNS.get(name, 0) for name in FEATURE_NAMES])
    # An answer that is close to its prompt in meaning is expected to be better, like the features of good answers.
    signs = np.concatenate([expected, [1], np.zeros(directions, np.int64)]).astype(np.int64)
    firm = np.where(expected == 0, _UNEXPECTED * settings.ridge, settings.ridge)
    ridge = np.concatenate([firm, [settings.ridge], np.full(directions, _VECTOR_RIDGE)])
    return Belief(centre=settings.expected * signs.astype(np.float64), ridge=ridge, signs=signs, floor=_FLOOR)


def fit_temperature(differences: Floats, outcomes: Floats) -> float:
    """Return the T > 0 for which sigmoid(d / T) has the least log loss, to a thousandth."""
    low, high = np.log(0.05), np.log(20.0)
    golden = (np.sqrt(5) - 1) / 2
    while high - low > 1e-4:
        left, right = high - golden * (high - low), low + golden * (high - low)
        if log_loss(differences / np.exp(left), outcomes) < log_loss(differences / np.exp(right), outcomes):
            high = right
        else:
            low = left
    return round(float(np.exp((low + high) / 2)), 3)


def choose(
    numbers: Numbers, groups: NDArray[np.int64], files: Sequence[str], *, folds: int, chance: np.random.Generator
) -> Settings:
    """Return the settings with the least log loss on grouped folds of these pairs alone."""
    parts = grouped_folds(groups, files, folds, chance)
    losses = [log_loss(_held_out(numbers, parts, settings), numbers.outcomes) for settings in GRID]
    return GRID[int(np.argmin(losses))]


def _held_out(numbers: Numbers, parts: NDArray[np.int64], settings: Settings) -> Floats:
    """Differences of each fold by a head that was fitted without it."""
    differences = np.zeros(len(numbers))
    for fold in np.unique(parts):
        away = parts == fold
        differences[away] = numbers.part(away).differences(fit_head(numbers.part(~away), settings))
    return differences


@dataclass(frozen=True, slots=True)
class Trial:
    """One repetition of a cross-validation."""

    differences: Floats
    """s_a - s_b of each pair, by a head that never saw its prompt."""
    parts: NDArray[np.int64]
    chosen: Sequence[Settings]


def cross_validate(
    numbers: Numbers,
    groups: NDArray[np.int64],
    files: Sequence[str],
    *,
    folds: int,
    repeats: int,
    seed: int,
    watch: Callable[[], None],
) -> list[Trial]:
    """Score every pair by heads that never saw its prompt, settings chosen anew inside each training part."""
    trials: list[Trial] = []
    names = np.array(files)
    for repeat in range(repeats):
        chance = np.random.default_rng([seed, repeat])
        parts = grouped_folds(groups, files, folds, chance)
        differences, chosen = np.zeros(len(numbers)), list[Settings]()
        for fold in np.unique(parts):
            away = parts == fold
            inner = numbers.part(~away)
            _, renumbered = np.unique(groups[~away], return_inverse=True)
            settings = choose(inner, renumbered.astype(np.int64), list(names[~away]), folds=folds, chance=chance)
            differences[away] = numbers.part(away).differences(fit_head(inner, settings))
            chosen.append(settings)
            watch()
        trials.append(Trial(differences, parts, chosen))
    return trials
