"""Bradley-Terry on differences: a ridge towards what common sense expects, and bounds that it sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS: Final = 200
_TOLERANCE: Final = 1e-7
_HALVINGS: Final = 40


@dataclass(frozen=True, slots=True)
class Belief:
    """What is thought of each weight before any data."""

    centre: Floats
    ridge: Floats
    """How firmly: the weight of ½ (b - centre)² in the loss."""
    signs: NDArray[np.int64]
    """1 for weights that are at least `floor`, -1 for those at most `-floor`, 0 for those that may be anything."""
    floor: float = 0.0

    def within(self, weights: Floats) -> Floats:
        """Return the weights, those over a bound put on it."""
        low, high = np.maximum(weights, self.floor), np.minimum(weights, -self.floor)
        return np.where(self.signs > 0, low, np.where(self.signs < 0, high, weights))

    def held(self, weights: Floats, slope: Floats) -> NDArray[np.bool_]:
        """Return which weights lie on their bound and would leave it by going down the slope."""
        return np.asarray((self.signs * weights <= self.floor) & (self.signs * slope > 0))


def sigmoid(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))


def log_loss(differences: Floats, outcomes: Floats) -> float:
    """Return the mean of -[y log p + (1-y) log(1-p)] with p the sigmoid of the difference."""
    return float(np.mean(np.logaddexp(0, differences) - outcomes * differences))


def fit(rows: Floats, outcomes: Floats, belief: Belief) -> Floats:
    """Return the weights b that minimise

        Σ [log(1 + exp(x·b)) - y x·b] + ½ Σ ridge (b - centre)²

    within the bounds of the belief. `rows` are differences A - B, outcomes in [0, 1]. The problem is convex, and
    strictly so for positive ridges: there is one solution, whatever the order of the rows. Projected Newton.
    """

    def objective(tried: Floats) -> float:
        return _objective(rows, outcomes, belief, tried)

    weights = belief.within(belief.centre)
    value = objective(weights)
    for _ in range(_STEPS):
        chances = sigmoid(rows @ weights)
        slope = rows.T @ (chances - outcomes) + belief.ridge * (weights - belief.centre)
        free = ~belief.held(weights, slope)
        if not free.any() or float(np.abs(slope[free]).max()) < _TOLERANCE:
            break
        curvature = (rows[:, free] * (chances * (1 - chances))[:, None]).T @ rows[:, free]
        step = np.zeros_like(weights)
        step[free] = np.linalg.solve(curvature + np.diag(belief.ridge[free]), slope[free])
        moved = _line_search(lambda tried: _objective(rows, outcomes, belief, tried), belief, weights, step, value)
        if moved is None:
            break
        weights, value = moved
    return weights


def _objective(rows: Floats, outcomes: Floats, belief: Belief, weights: Floats) -> float:
    differences = rows @ weights
    loss = np.sum(np.logaddexp(0, differences) - outcomes * differences)
    return float(loss + 0.5 * np.sum(belief.ridge * (weights - belief.centre) ** 2))


def _line_search(
    objective: Callable[[Floats], float], belief: Belief, weights: Floats, step: Floats, value: float
) -> tuple[Floats, float] | None:
    """Go back along the step, halving it until the loss falls; `None` where it cannot fall any more."""
    size = 1.0
    for _ in range(_HALVINGS):
        tried = belief.within(weights - size * step)
        found = objective(tried)
        if found < value:
            return tried, found
        size /= 2
    return None
