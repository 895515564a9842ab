from importlib import import_module
from typing import Any

import numpy as np
import pytest

from agon.scoring.reward.fitting import Belief, Floats, fit, log_loss, sigmoid


def problem(count: int, width: int, seed: int) -> tuple[Floats, Floats]:
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(count, width))
    outcomes = chance.choice([0.0, 0.5, 1.0], size=count)
    return rows, outcomes


def belief(width: int, signs: list[int], centre: float = 0.2, ridge: float = 3.0, floor: float = 0.0) -> Belief:
    kinds = np.array(signs)
    return Belief(centre * kinds, np.full(width, ridge), kinds, floor)


def second_solver(rows: Floats, outcomes: Floats, held: Belief) -> Floats:
    def loss(weights: Floats) -> float:
        bent = 0.5 * np.sum(held.ridge * (weights - held.centre) ** 2)
        return float(len(rows) * log_loss(rows @ weights, outcomes) + bent)

    edges = {1: (held.floor, None), -1: (None, -held.floor), 0: (None, None)}
    bounds = [edges[sign] for sign in held.signs.tolist()]
    optimize: Any = import_module("scipy.optimize")
    found = optimize.minimize(
        loss, held.centre, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}
    )
    return np.asarray(found.x)


@pytest.mark.parametrize("seed", range(6))
def test_a_second_solver_finds_the_same_weights(seed: int) -> None:
    rows, outcomes = problem(80, 6, seed)
    held = belief(6, [1, 1, -1, -1, 0, 0], floor=0.05 * (seed % 2))
    np.testing.assert_allclose(fit(rows, outcomes, held), second_solver(rows, outcomes, held), atol=1e-5)


def test_weights_keep_to_their_signs_whatever_the_data_say() -> None:
    chance = np.random.default_rng(0)
    rows = chance.normal(size=(200, 2))
    outcomes = (rows[:, 0] < rows[:, 1]).astype(np.float64)
    assert fit(rows, outcomes, belief(2, [1, -1], ridge=0.1)).tolist() == [0.0, 0.0]
    assert fit(rows, outcomes, belief(2, [1, -1], ridge=0.1, floor=0.02)).tolist() == [0.02, -0.02]


def test_without_data_the_weights_are_what_was_believed() -> None:
    held = belief(3, [1, -1, 0])
    np.testing.assert_allclose(fit(np.zeros((0, 3)), np.zeros(0), held), held.centre)


def test_the_order_of_the_pairs_and_of_their_sides_does_not_matter() -> None:
    rows, outcomes = problem(60, 4, 1)
    held = belief(4, [1, 0, -1, 0])
    there = fit(rows, outcomes, held)
    np.testing.assert_allclose(fit(-rows[::-1], 1 - outcomes[::-1], held), there, atol=1e-8)


def test_the_slope_is_zero_where_no_bound_holds() -> None:
    rows, outcomes = problem(100, 5, 2)
    held = belief(5, [0] * 5)
    weights = fit(rows, outcomes, held)
    slope = rows.T @ (sigmoid(rows @ weights) - outcomes) + held.ridge * (weights - held.centre)
    assert np.abs(slope).max() < 1e-6


def test_large_differences_do_not_overflow() -> None:
    assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]
    assert log_loss(np.array([1e4, -1e4]), np.array([1.0, 0.0])) == 0.0
