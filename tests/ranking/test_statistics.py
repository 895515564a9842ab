"""Simulated truth: intervals cover it as often as they say, and the chi-squared tail is the tail."""

import numpy as np
import pytest
from scipy import special
from tests.ranking.support import draw_votes

from agon.ranking.bradley_terry import PER_LOG_ODDS, fit_bradley_terry
from agon.ranking.goodness import chi2_tail
from agon.ranking.limits import highest_winless, lowest_unbeaten
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95
from agon.ranking.voters import clustered_errors

RUNS = 300


def test_robust_intervals_cover_the_truth() -> None:
    strengths = np.linspace(-0.9, 0.9, 6)
    truth = 1000.0 + PER_LOG_ODDS * strengths
    robust = fisher = 0
    for seed in range(RUNS):
        (group,) = fit_bradley_terry(draw_votes(seed, strengths, 1200).counts()).groups
        off = np.abs(group.ratings - truth)
        robust += int((off < Z95 * group.se).sum())
        fisher += int((off < Z95 * group.se_fisher).sum())
    looks = RUNS * len(strengths)
    # Models of one run share votes, so the runs alone count as independent: 4 standard errors of 300 runs at worst.
    slack = 4.0 * np.sqrt(0.95 * 0.05 / RUNS)
    assert abs(robust / looks - 0.95) < slack
    # A third of these votes are draws, which carry less noise than Fisher's errors assume.
    assert fisher / looks > 0.97


def test_intervals_by_voter_cover_the_truth_where_voters_lean() -> None:
    strengths = np.linspace(-0.6, 0.6, 4)
    truth = 1000.0 + PER_LOG_ODDS * strengths
    rng = np.random.default_rng(11)
    by_voter = alone = 0
    for _ in range(RUNS):
        voters = rng.integers(0, 120, 1800)
        first = rng.integers(0, 3, 1800)
        second = rng.integers(first + 1, 4)
        # Half of the voters have one mood for all their votes; whatever they share, each vote keeps its chance.
        moods = np.where(voters % 2 == 0, rng.random(120)[voters], rng.random(1800))
        winners = np.where(moods < 1.0 / (1.0 + np.exp(strengths[second] - strengths[first])), 0, 1)
        (group,) = fit_bradley_terry(PairCounts.from_codes("abcd", first, second, winners)).groups
        off = np.abs(group.ratings - truth)
        by_voter += int((off < Z95 * clustered_errors(group, first, second, winners, voters).se).sum())
        alone += int((off < Z95 * group.se).sum())
    slack = 4.0 * np.sqrt(0.95 * 0.05 / RUNS)
    assert abs(by_voter / (4 * RUNS) - 0.95) < slack
    assert alone / (4 * RUNS) < 0.9


def test_the_limit_of_an_unbeaten_model_is_where_its_record_has_that_chance() -> None:
    ratings, battles = np.array([900.0, 1000.0, 1200.0, 3000.0]), np.array([4.0, 2.0, 1.0, 0.0])
    low = lowest_unbeaten(ratings, battles)
    chance = 1.0 / (1.0 + 10.0 ** ((ratings - low) / 400.0))
    assert np.prod(chance**battles) == pytest.approx(0.025)
    assert highest_winless(2000.0 - ratings, battles) == pytest.approx(2000.0 - low)


def test_without_battles_there_is_no_limit() -> None:
    assert lowest_unbeaten(np.array([1000.0]), np.array([0.0])) == -np.inf
    assert highest_winless(np.array([1000.0]), np.array([0.0])) == np.inf


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 301, 3332])
def test_chi_squared_tail(degrees: int) -> None:
    for share in (0.0, 0.3, 1.0, 1.1, 3.0):
        expected = float(special.chdtrc(degrees, share * degrees))
        assert chi2_tail(share * degrees, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)
