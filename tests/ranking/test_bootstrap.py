"""Bootstrap rounds are fits of drawn votes, and their spread is the error of the ratings."""

import numpy as np
import pytest
from tests.ranking.support import counts_of, draw_votes

from agon.core.errors import InvalidInput
from agon.ranking.arrays import FloatArray
from agon.ranking.batch import BatchSolver
from agon.ranking.bootstrap import bootstrap_battles, bootstrap_voters
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, Anchor, fit_bradley_terry
from agon.ranking.outcomes import PairCounts
from agon.ranking.voters import clustered_errors

STRENGTHS = np.linspace(-0.8, 0.8, 6)


@pytest.mark.parametrize("battles", [4000, 40_000], ids=["multinomial", "poisson"])
def test_the_spread_is_the_robust_error(battles: int) -> None:
    counts = draw_votes(1, STRENGTHS, battles).counts()
    (group,) = fit_bradley_terry(counts).groups
    found = bootstrap_battles(counts, group, rng=np.random.default_rng(1))
    assert found.finite == 1000
    assert found.se == pytest.approx(group.se, rel=0.12)
    assert found.low == pytest.approx(group.ratings - 1.96 * group.se, abs=3.0)
    assert found.high == pytest.approx(group.ratings + 1.96 * group.se, abs=3.0)
    assert found.samples.mean(axis=1) == pytest.approx(MEAN)


def test_the_same_generator_gives_the_same_rounds() -> None:
    counts = draw_votes(1, STRENGTHS, 500).counts()
    (group,) = fit_bradley_terry(counts).groups
    one, same, other = (bootstrap_battles(counts, group, rng=np.random.default_rng(s), rounds=50) for s in (3, 3, 4))
    assert np.array_equal(one.samples, same.samples)
    assert not np.array_equal(one.samples, other.samples)


def test_many_tables_at_once_are_fitted_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = draw_votes(1, STRENGTHS, 45).counts()
    (group,) = fit_bradley_terry(counts).groups
    drawn: list[FloatArray] = []
    solve = BatchSolver.solve

    def noted(solver: BatchSolver, score: FloatArray) -> FloatArray:
        drawn.append(score.copy())
        return solve(solver, score)

    monkeypatch.setattr(BatchSolver, "solve", noted)
    found = bootstrap_battles(counts, group, rng=np.random.default_rng(2), rounds=200)
    zeros, unbounded = np.zeros((6, 6), dtype=np.int64), 0
    scores: FloatArray = np.concatenate(drawn)
    for score, sample in zip(scores, found.samples, strict=True):
        # Twice the score is whole, and twice the votes have the same maximum.
        fit = fit_bradley_terry(PairCounts.from_tables("abcdef", (2 * score).astype(np.int64), zeros, zeros))
        if np.isnan(fit.ratings).any():
            unbounded += 1
            assert np.isnan(sample).all()
        else:
            assert sample == pytest.approx(fit.ratings, abs=1e-5)
    assert found.finite == 200 - unbounded
    assert unbounded > 0


def test_rounds_without_a_limit_are_said() -> None:
    counts = counts_of([("a", "b", 2, 0, 1)])
    (group,) = fit_bradley_terry(counts).groups
    found = bootstrap_battles(counts, group, rng=np.random.default_rng(0), rounds=400)
    # All three battles alike: (2/3)³ + (1/3)³.
    assert 1.0 - found.finite / 400 == pytest.approx(1.0 / 3.0, abs=0.1)
    assert np.isnan(found.samples).any(axis=1).sum() == 400 - found.finite


def test_an_anchor_stays_where_it_is() -> None:
    counts = draw_votes(1, STRENGTHS, 4000).counts()
    (group,) = fit_bradley_terry(counts, anchor=Anchor("m2", 1200.0)).groups
    found = bootstrap_battles(counts, group, rng=np.random.default_rng(0), rounds=600)
    assert found.samples[:, 2] == pytest.approx(1200.0)
    assert found.se == pytest.approx(group.se, rel=0.15, abs=1e-9)


def test_voters_are_drawn_with_all_their_votes() -> None:
    votes = draw_votes(4, STRENGTHS, 3000)
    rng = np.random.default_rng(4)
    voters = rng.integers(0, 150, 3000)
    # Every voter favours the first models in all their battles, or the last ones.
    leaning = (votes.first > votes.second) == (voters % 2 == 0)
    winners = np.where(rng.random(3000) < 0.5, np.where(leaning, 0, 1), votes.winners)
    counts = PairCounts.from_codes(votes.models, votes.first, votes.second, winners)
    (group,) = fit_bradley_terry(counts).groups
    columns = votes.first, votes.second, winners, voters
    clustered = clustered_errors(group, *columns)
    found = bootstrap_voters(group, *columns, rng=np.random.default_rng(5), rounds=400)
    assert found.se == pytest.approx(clustered.se, rel=0.2)
    assert clustered.se.max() > 1.5 * group.se.max()


def test_a_voter_a_battle_is_the_bootstrap_over_battles() -> None:
    votes = draw_votes(4, STRENGTHS, 1500)
    (group,) = fit_bradley_terry(votes.counts()).groups
    columns = votes.first, votes.second, votes.winners, np.arange(1500)
    found = bootstrap_voters(group, *columns, rng=np.random.default_rng(5), rounds=500)
    assert found.se == pytest.approx(group.se, rel=0.15)


def test_percentile_intervals_cover_the_truth() -> None:
    truth = MEAN + PER_LOG_ODDS * STRENGTHS
    runs, hits = 150, 0
    for seed in range(runs):
        counts = draw_votes(seed, STRENGTHS, 900).counts()
        (group,) = fit_bradley_terry(counts).groups
        found = bootstrap_battles(counts, group, rng=np.random.default_rng(seed), rounds=300)
        hits += int(((found.low < truth) & (truth < found.high)).sum())
    # 300 rounds place the ends only to within a percent or so.
    assert abs(hits / (runs * len(truth)) - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / runs) + 0.01


def test_senseless_requests_are_refused() -> None:
    counts = draw_votes(1, STRENGTHS, 500).counts()
    (group,) = fit_bradley_terry(counts).groups
    for rounds, level in ((1, 0.95), (10, 1.0)):
        with pytest.raises(InvalidInput):
            bootstrap_battles(counts, group, rng=np.random.default_rng(0), rounds=rounds, level=level)
    with pytest.raises(InvalidInput):
        bootstrap_voters(group, [0], [1], [0], [-1], rng=np.random.default_rng(0))
