"""Profile limits, sequences that may be watched, and ranks that hold together."""

import math

import numpy as np
import pytest
from scipy import special
from tests.ranking.support import counts_of, draw_votes, optimize

from agon.core.errors import InvalidInput
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, fit_bradley_terry
from agon.ranking.intervals import profile_limits
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95, difference_ranks, simultaneous_ranks
from agon.ranking.sequences import gap_sequence, rating_sequence, win_rate_sequence

Row = tuple[str, str, int, int, int]
DROP = 0.5 * Z95**2


def two_models(won: int, lost: int, gap: float) -> float:
    return won * float(special.log_expit(gap)) + lost * float(special.log_expit(-gap))


def test_limits_of_two_models_solve_their_equation() -> None:
    counts = counts_of([("a", "b", 30, 0, 10)])
    best = two_models(30, 10, math.log(3.0))
    found = profile_limits(counts, fit_bradley_terry(counts), "a")

    def beyond(gap: float) -> float:
        return best - two_models(30, 10, gap) - DROP

    low, high = (optimize.brentq(beyond, *ends) for ends in ((-5.0, math.log(3.0)), (math.log(3.0), 9.0)))
    assert found.low == pytest.approx(MEAN + PER_LOG_ODDS * 0.5 * low, abs=1e-5)
    assert found.high == pytest.approx(MEAN + PER_LOG_ODDS * 0.5 * high, abs=1e-5)


def test_an_unbeaten_model_has_a_lower_limit_alone() -> None:
    counts = counts_of([("a", "b", 3, 0, 0), ("b", "c", 2, 0, 2)])
    fit = fit_bradley_terry(counts)
    found = profile_limits(counts, fit, "a")
    assert found.high is None

    # Over all strengths of b and c: climbed here with the gap to their mean held.
    def profile(height: float) -> float:
        def lost(gap: float) -> float:
            # b at gap/2, c at -gap/2, a at `height`.
            return -(two_models(3, 0, height - 0.5 * gap) + two_models(2, 2, gap))

        return -float(
            optimize.minimize_scalar(lost, bounds=(-9.0, 9.0), method="bounded", options={"xatol": 1e-10}).fun
        )

    best = two_models(2, 2, 0.0)

    def beyond(height: float) -> float:
        return best - profile(height) - DROP

    low = optimize.brentq(beyond, -6.0, 6.0)
    assert found.low == pytest.approx(MEAN + PER_LOG_ODDS * low, abs=1e-3)


def _turned(rows: list[Row]) -> list[Row]:
    return [(second, first, won, tied, lost) for first, second, won, tied, lost in rows]


def test_a_winless_model_mirrors_an_unbeaten_one() -> None:
    rows: list[Row] = [("b", "c", 2, 0, 2), ("c", "d", 5, 1, 3)]
    up, down = (
        counts_of([*rows, ("a", "b", 4, 0, 0)]),
        counts_of([*_turned(rows), ("b", "a", 4, 0, 0)]),
    )
    low = profile_limits(up, fit_bradley_terry(up), "a").low
    found = profile_limits(down, fit_bradley_terry(down), "a")
    assert low is not None
    assert found.high == pytest.approx(2.0 * MEAN - low, abs=1e-4)
    assert found.low is None


def test_models_that_are_nowhere_have_no_limits() -> None:
    counts = counts_of([("a", "b", 3, 0, 0), ("b", "c", 3, 0, 0)])
    fit = fit_bradley_terry(counts)
    for model in "abc":
        limits = profile_limits(counts, fit, model)
        assert limits.low is limits.high is None
    with pytest.raises(InvalidInput):
        profile_limits(counts, fit, "nobody")


def test_profile_limits_cover_the_truth() -> None:
    strengths = np.array([-1.5, 0.0, 0.3, 1.2])
    truth = MEAN + PER_LOG_ODDS * strengths
    runs, hits = 200, 0
    for seed in range(runs):
        votes = draw_votes(seed, strengths, 160, draws=0.0)
        counts = votes.counts()
        fit = fit_bradley_terry(counts)
        if len(fit.structure.islands[0].core) < 4:
            hits += 1
            continue
        limits = profile_limits(counts, fit, "m3")
        assert limits.low is not None
        assert limits.high is not None
        hits += int(limits.low < truth[3] - truth.mean() + MEAN < limits.high)
    assert abs(hits / runs - 0.95) < 4.0 * math.sqrt(0.95 * 0.05 / runs)


def test_a_watched_sequence_holds_where_a_plain_interval_does_not() -> None:
    runs, length, rate = 300, 250, 0.6
    rng = np.random.default_rng(8)
    missed = fooled = 0
    for _ in range(runs):
        points = np.cumsum(np.where(rng.random(length) < 0.3, 0.5, rng.random(length) < (rate - 0.15) / 0.7))
        looks = range(10, length, 3)
        spans = [win_rate_sequence(float(points[n - 1]), n) for n in looks]
        missed += any(not span.low <= rate <= span.high for span in spans)
        shares = points[9 : length - 1 : 3] / np.arange(10, length, 3)
        half = 1.96 * np.sqrt(np.maximum(shares * (1.0 - shares), 1e-9) / np.arange(10, length, 3))
        fooled += bool((np.abs(shares - rate) > half).any())
    assert missed / runs < 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / runs)
    assert fooled / runs > 0.12


def test_sequences_at_their_ends() -> None:
    assert win_rate_sequence(0.0, 0) == win_rate_sequence(0.0, 0)
    assert (win_rate_sequence(0.0, 0).low, win_rate_sequence(0.0, 0).high) == (0.0, 1.0)
    swept = win_rate_sequence(20.0, 20)
    assert swept.high == 1.0
    # At the limit the mixture of likelihood ratios is 1/alpha.
    mixture = special.betaln(20.5, 0.5) - special.betaln(0.5, 0.5)
    assert mixture - 20.0 * math.log(swept.low) == pytest.approx(math.log(20.0))
    gap = gap_sequence(20.0, 20)
    assert gap.high == math.inf
    assert gap.low == pytest.approx(PER_LOG_ODDS * math.log(swept.low / (1.0 - swept.low)))
    for score, battles in ((-1.0, 3), (4.0, 3), (math.nan, 3)):
        with pytest.raises(InvalidInput):
            win_rate_sequence(score, battles)
    with pytest.raises(InvalidInput):
        rating_sequence(1000.0, 5.0, 0)


def test_a_rating_sequence_holds_while_votes_come() -> None:
    strengths = np.linspace(-0.5, 0.5, 3)
    truth = MEAN + PER_LOG_ODDS * strengths
    runs, missed = 150, 0
    for seed in range(runs):
        votes = draw_votes(seed, strengths, 1500)
        outside = False
        for stop in range(100, 1500, 100):
            fit = fit_bradley_terry(votes.counts(stop))
            span = rating_sequence(float(fit.ratings[2]), float(fit.se[2]), stop)
            outside |= not span.low <= truth[2] <= span.high
        missed += outside
    assert missed / runs < 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / runs)


def test_simultaneous_ranks_call_few_equals_different() -> None:
    runs, wrong, alone = 150, 0, 0
    for seed in range(runs):
        (group,) = fit_bradley_terry(draw_votes(seed, np.zeros(8), 1600).counts()).groups
        found = simultaneous_ranks(group, np.random.default_rng(seed), draws=1500)
        wrong += bool((found.best > 1).any())
        alone += bool((difference_ranks(group) > 1).any())
    assert abs(wrong / runs - 0.05) < 4.0 * math.sqrt(0.05 * 0.95 / runs)
    assert alone / runs > 0.3


def test_simultaneous_ranks_contain_the_true_ranks() -> None:
    strengths = np.linspace(1.0, -1.0, 6)
    counts = draw_votes(2, strengths, 20_000).counts()
    (group,) = fit_bradley_terry(counts).groups
    found = simultaneous_ranks(group, np.random.default_rng(0))
    assert (found.best <= np.arange(1, 7)).all()
    assert (found.worst >= np.arange(1, 7)).all()
    assert (found.best == found.worst).all()
    again = simultaneous_ranks(group, np.random.default_rng(0))
    assert again.critical == found.critical > Z95
    single = fit_bradley_terry(PairCounts.empty(("a",)))
    assert single.groups == ()
