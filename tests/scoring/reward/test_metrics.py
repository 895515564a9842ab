import numpy as np
import pytest

from agon.scoring.reward.metrics import accuracy_of, calibration_of, credits_of, length_report
from agon.scoring.reward.training import fit_temperature


def test_credits_by_hand() -> None:
    differences = np.array([2.0, -1.0, 0.0, -3.0, 5.0])
    outcomes = np.array([1.0, 1.0, 1.0, 0.0, 0.5])
    np.testing.assert_array_equal(credits_of(differences, outcomes), [1.0, 0.0, 0.5, 1.0, np.nan])


def test_ties_are_left_out_of_accuracy() -> None:
    found = accuracy_of(np.array([1.0, 0.0, 1.0, np.nan]), np.array([0, 1, 2, 3]))
    assert (found.pairs, found.prompts, found.accuracy) == (3, 3, pytest.approx(2 / 3))


def test_nothing_has_no_accuracy() -> None:
    found = accuracy_of(np.array([np.nan]), np.array([0]))
    assert (found.pairs, found.accuracy, found.low, found.high) == (0, None, None, None)


def test_pairs_of_one_prompt_are_no_independent_witnesses() -> None:
    chance = np.random.default_rng(0)
    per_prompt = chance.integers(0, 2, size=40).astype(np.float64)
    alone = accuracy_of(per_prompt, np.arange(40))
    copied = accuracy_of(np.repeat(per_prompt, 25), np.repeat(np.arange(40), 25))
    assert copied.accuracy == alone.accuracy
    assert copied.low == pytest.approx(alone.low, abs=0.02)


def test_the_interval_covers_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(200):
        chance = np.random.default_rng(seed)
        right = (chance.random(150) < np.repeat(chance.beta(7, 3, size=50), 3)).astype(np.float64)
        found = accuracy_of(right, np.repeat(np.arange(50), 3), seed=seed)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.7 <= found.high
    assert 176 <= covered <= 199


def test_one_prompt_says_nothing_of_others() -> None:
    found = accuracy_of(np.array([1.0, 1.0]), np.array([4, 4]))
    assert (found.low, found.high) == (0.0, 1.0)


def test_chances_that_hold_are_calibrated_and_bolder_ones_are_not() -> None:
    chance = np.random.default_rng(3)
    differences = chance.normal(scale=1.5, size=40_000)
    outcomes = (chance.random(40_000) < 1 / (1 + np.exp(-differences))).astype(np.float64)
    fair = calibration_of(differences, outcomes, temperature=fit_temperature(differences, outcomes))
    bold = calibration_of(3 * differences, outcomes, temperature=fit_temperature(3 * differences, outcomes))
    assert fair.error < 0.01
    assert fair.temperature == pytest.approx(1, abs=0.04)
    assert bold.error > 0.08
    assert bold.temperature == pytest.approx(3, abs=0.12)
    assert sum(part.pairs for part in fair.bins) == 40_000


def test_knowing_nothing_costs_a_bit() -> None:
    assert calibration_of(np.zeros(4), np.array([1.0, 0, 1, 0]), temperature=1).log_loss == pytest.approx(np.log(2))


def test_a_score_that_is_length_is_found_out() -> None:
    lengths = np.array([[10, 100], [300, 20], [50, 60], [7, 7]])
    differences = np.log1p(lengths[:, 0]) - np.log1p(lengths[:, 1])
    found = length_report(differences, np.array([1.0, 0.0, 1.0, 1.0]), lengths)
    assert found.prefers_longer == 1.0
    assert found.longer_is_better == 0.0
    assert found.correlation == pytest.approx(1)
    assert found.at_equal_quality == pytest.approx(1)
    assert found.right_where_shorter_won == 0.0
    assert found.right_where_longer_won is None


def test_following_verdicts_that_follow_length_is_no_love_of_length() -> None:
    chance = np.random.default_rng(0)
    outcomes = chance.integers(0, 2, size=5000).astype(np.float64)
    verdict = 2 * outcomes - 1
    lengths = np.exp(5 + np.stack([0.3 * verdict, -0.3 * verdict], axis=1) + 0.3 * chance.normal(size=(5000, 2)))
    found = length_report(verdict + 0.1 * chance.normal(size=5000), outcomes, lengths.astype(np.int64))
    assert found.correlation is not None
    assert found.correlation > 0.5
    assert found.at_equal_quality == pytest.approx(0, abs=0.05)
