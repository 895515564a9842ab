"""Drift is called where it is, and a voter's influence is what leaving them out does."""

import numpy as np
import pytest
from tests.ranking.support import Votes, counts_of, draw_votes

from agon.core.errors import InvalidInput
from agon.ranking import diagnostics
from agon.ranking import voters as voters_module
from agon.ranking.bradley_terry import fit_bradley_terry
from agon.ranking.diagnostics import drift_between, drift_test, voter_influence
from agon.ranking.outcomes import PairCounts

LEVEL = np.linspace(-0.5, 0.5, 5)


def two_halves(seed: int, moved: float) -> tuple[Votes, Votes]:
    later = LEVEL.copy()
    later[2] += moved
    return draw_votes(seed, LEVEL, 1500), draw_votes(10_000 + seed, later, 1500)


def test_without_drift_p_is_uniform_and_few_boards_are_called() -> None:
    runs, small, called = 200, 0, 0
    for seed in range(runs):
        old, new = two_halves(seed, 0.0)
        found = drift_between(old.counts(), new.counts())
        small += int((found.p < 0.2).sum())
        called += bool((found.p_adjusted < 0.05).any())
    assert abs(small / (5 * runs) - 0.2) < 4.0 * np.sqrt(0.2 * 0.8 / runs)
    assert called / runs < 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / runs)


def test_a_model_that_changed_is_found() -> None:
    old, new = two_halves(1, 0.8)
    first, second, winners = (
        np.concatenate((getattr(old, name), getattr(new, name))) for name in ("first", "second", "winners")
    )
    found = drift_test(old.models, first, second, winners, np.arange(3000.0))
    assert found.models[int(found.p_adjusted.argmin())] == "m2"
    assert found.p_adjusted.min() < 1e-4
    assert found.shift[2] == pytest.approx(173.7 * 0.8 * 0.8, abs=3.0 * found.se[2])


def test_only_models_that_both_halves_rate_are_compared() -> None:
    before = counts_of([("a", "b", 5, 0, 4), ("b", "c", 4, 0, 5), ("x", "a", 2, 0, 0)])
    after = counts_of([("a", "b", 5, 0, 4), ("b", "c", 4, 0, 0), ("new", "a", 2, 0, 2)])
    found = drift_between(before, after)
    assert found.models == ("a", "b")
    assert found.shift == pytest.approx([0.0, 0.0], abs=1e-9)
    assert drift_between(before, counts_of([("p", "q", 1, 0, 1)])).models == ()


def test_holm_multiplies_the_smallest_most() -> None:
    assert diagnostics.holm(np.array([0.01, 0.04, 0.03, 0.9])) == pytest.approx([0.04, 0.09, 0.09, 0.9])


def test_times_must_be_known() -> None:
    with pytest.raises(InvalidInput):
        drift_test(("x", "y"), [0], [1], [0], np.array([np.nan]))


def test_influence_is_what_leaving_out_does(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = draw_votes(3, LEVEL, 1200)
    rng = np.random.default_rng(3)
    voters = np.where(rng.random(1200) < 0.08, 7, rng.integers(8, 90, 1200))
    winners = np.where(voters == 7, np.where(votes.first < votes.second, 0, 1), votes.winners)
    (group,) = fit_bradley_terry(PairCounts.from_codes(votes.models, votes.first, votes.second, winners)).groups
    monkeypatch.setattr(voters_module, "_CELLS", 50)
    found = voter_influence(group, votes.first, votes.second, winners, voters, top=4)
    assert len(found) == 4
    assert found[0].voter == 7
    for row in found:
        rest = voters != row.voter
        counts = PairCounts.from_codes(votes.models, votes.first[rest], votes.second[rest], winners[rest])
        real = fit_bradley_terry(counts).ratings - group.ratings
        assert row.votes == (~rest).sum()
        # One step of Newton, from votes of which a twelfth are the first voter's.
        assert row.shifts == pytest.approx(real, abs=0.06 * np.abs(real).max())
        assert row.shift == pytest.approx(real[row.model], rel=0.06)
    strengths = [abs(row.shift or 0.0) for row in found]
    assert strengths == sorted(strengths, reverse=True)


def test_a_voter_who_holds_the_board_together_comes_first() -> None:
    first, second = [0, 1, 0, 1, 1, 2], [1, 0, 1, 0, 2, 1]
    counts = PairCounts.from_codes(("a", "b", "c"), first, second, [0] * 6)
    (group,) = fit_bradley_terry(counts).groups
    found = voter_influence(group, first, second, [0] * 6, [0, 1, 2, 3, 4, 4])
    assert (found[0].voter, found[0].shift, found[0].shifts) == (4, None, None)
    for voters in ([0], [0, 1, 2, 3, 4, -1]):
        with pytest.raises(InvalidInput):
            voter_influence(group, first, second, [0] * 6, voters)
