from dataclasses import replace

import numpy as np
import pytest
from tests.scoring.reward.support import numbers

from agon.scoring.reward.features import EXPECTED_SIGNS, FEATURE_NAMES
from agon.scoring.reward.folds import grouped_folds
from agon.scoring.reward.metrics import credits_of
from agon.scoring.reward.training import GRID, Numbers, cross_validate, fit_head, fit_temperature

SETTINGS = GRID[0]


def planted(name: str, count: int = 400, strength: float = 2.0, seed: int = 0) -> Numbers:
    """One feature decides who wins."""
    noise = numbers(count, seed)
    place = FEATURE_NAMES.index(name)
    gap = noise.features[:, 0, place] - noise.features[:, 1, place]
    chance = np.random.default_rng(seed + 1)
    return replace(noise, outcomes=(chance.random(count) < 1 / (1 + np.exp(-strength * gap))).astype(np.float64))


def test_a_feature_that_decides_gets_the_weight() -> None:
    data = planted("covers")
    head = fit_head(data, SETTINGS)
    assert FEATURE_NAMES[int(np.argmax(np.abs(head.feature_weights)))] == "covers"
    assert float(np.nanmean(credits_of(data.differences(head), data.outcomes))) > 0.75


def test_a_feature_never_works_against_common_sense() -> None:
    head = fit_head(planted("repeated_words"), SETTINGS)
    weights = dict(zip(FEATURE_NAMES, head.feature_weights.tolist(), strict=True))
    assert -0.03 < weights["repeated_words"] < 0.0
    assert all(weights[name] * sign > 0 for name, sign in EXPECTED_SIGNS.items())


def test_the_mean_score_is_zero() -> None:
    data = planted("covers")
    assert data.scores(fit_head(data, SETTINGS)).mean() == pytest.approx(0, abs=1e-9)


def test_swapping_sides_swaps_nothing_but_signs() -> None:
    data = planted("covers")
    swapped = Numbers(
        data.features[:, ::-1], data.signs, data.vectors[:, ::-1], data.products[:, ::-1], 1 - data.outcomes
    )
    there, back = fit_head(data, SETTINGS), fit_head(swapped, SETTINGS)
    np.testing.assert_allclose(there.feature_weights, back.feature_weights, atol=1e-6)
    np.testing.assert_allclose(there.answer_weights, back.answer_weights, atol=1e-6)


def test_a_prompt_that_wants_bad_answers_turns_its_features_round() -> None:
    data = planted("covers")
    turned = replace(data, signs=-data.signs)
    head = fit_head(data, SETTINGS)
    bare = replace(head, answer_weights=0 * head.answer_weights, product_weights=0 * head.product_weights)
    np.testing.assert_allclose(turned.differences(bare), -data.differences(bare), atol=1e-9)


@pytest.mark.slow
def test_folds_do_not_leak() -> None:
    """Every prompt has a mark of its own and one winner: whoever remembers prompts would be right every time."""
    prompts, each = 48, 4
    data = numbers(prompts * each, seed=4)
    groups = np.repeat(np.arange(prompts), each)
    chance = np.random.default_rng(8)
    marks = chance.normal(size=(prompts, data.vectors.shape[2]))
    winners = chance.integers(0, 2, size=prompts)
    data.vectors[:, 0] = 30 * marks[groups] / np.linalg.norm(marks[groups], axis=1, keepdims=True)
    data = replace(data, outcomes=winners[groups].astype(np.float64))
    trials = cross_validate(data, groups, ["f"] * len(data), folds=4, repeats=1, seed=0, watch=lambda: None)
    assert 0.3 < float(np.nanmean(credits_of(trials[0].differences, data.outcomes))) < 0.7


@pytest.mark.slow
def test_noise_is_not_learnt() -> None:
    data = numbers(300, seed=11)
    trials = cross_validate(data, np.arange(300), ["f"] * 300, folds=4, repeats=1, seed=0, watch=lambda: None)
    assert 0.38 < float(np.nanmean(credits_of(trials[0].differences, data.outcomes))) < 0.62


def test_a_seed_repeats_a_cross_validation() -> None:
    data = planted("covers", 120)
    runs = [
        cross_validate(data, np.arange(120), ["f"] * 120, folds=3, repeats=1, seed=seed, watch=lambda: None)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(runs[0][0].differences, runs[1][0].differences)
    assert (runs[0][0].parts != runs[2][0].parts).any()


def test_every_pair_is_judged_by_a_head_that_never_saw_it() -> None:
    data = planted("covers", 120)
    (trial,) = cross_validate(data, np.arange(120), ["f"] * 120, folds=3, repeats=1, seed=0, watch=lambda: None)
    assert set(trial.parts.tolist()) == {0, 1, 2}
    assert len(trial.chosen) == 3
    expected = grouped_folds(np.arange(120), ["f"] * 120, 3, np.random.default_rng([0, 0]))
    np.testing.assert_array_equal(trial.parts, expected)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.5])
def test_the_temperature_is_found(factor: float) -> None:
    chance = np.random.default_rng(0)
    logits = chance.normal(scale=2, size=50_000)
    outcomes = (chance.random(50_000) < 1 / (1 + np.exp(-logits))).astype(np.float64)
    assert fit_temperature(factor * logits, outcomes) == pytest.approx(factor, rel=0.05)
