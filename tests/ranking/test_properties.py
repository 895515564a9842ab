"""What must hold for any votes: order, sides, names and the way they arrived leave no trace in a rating."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ranking.support import Votes

from agon.ranking.bradley_terry import BradleyTerry, fit_bradley_terry
from agon.ranking.leaderboard import Leaderboard, Row, leaderboard
from agon.ranking.outcomes import PairCounts

SWAPPED = np.array([1, 0, 2, 3])
CLOSE = 1e-6
"""Rating points, as far as two ways to one solution may differ."""
unhurried = settings(deadline=None)
"""The machine may be busy; how long one example takes says nothing here."""


@st.composite
def any_votes(draw: st.DrawFn) -> Votes:
    """Any votes among up to seven models: islands, unbeaten models and all."""
    size = draw(st.integers(2, 7))
    model = st.integers(0, size - 1)
    pair = st.tuples(model, model).filter(lambda sides: sides[0] != sides[1])
    rows = draw(st.lists(st.tuples(pair, st.integers(0, 3)), min_size=1, max_size=40))
    columns = np.array([(*sides, winner) for sides, winner in rows], dtype=np.int64).T
    return Votes(size, *columns)


@st.composite
def linked_votes(draw: st.DrawFn) -> Votes:
    """Any votes and a ring of wins through all models, so that every rating exists."""
    votes = draw(any_votes())
    size = len(votes.models)
    ring = np.arange(size)
    return Votes(
        size,
        np.concatenate((votes.first, ring)),
        np.concatenate((votes.second, (ring + 1) % size)),
        np.concatenate((votes.winners, np.zeros(size, dtype=np.int64))),
    )


def assert_same(found: Leaderboard, expected: Leaderboard) -> None:
    assert [row.model for row in found.rows] == [row.model for row in expected.rows]
    for ours, theirs in zip(found.rows, expected.rows, strict=True):
        assert _numbers(ours) == pytest.approx(_numbers(theirs), abs=CLOSE, nan_ok=True)
        assert [note.code for note in ours.notes] == [note.code for note in theirs.notes]


def _numbers(row: Row) -> list[float]:
    numbers = (row.rating, row.low, row.high, row.se, row.battles, row.wins, row.losses, row.ties, row.both_bad)
    return [np.nan if number is None else number for number in numbers]


def assert_same_fit(found: BradleyTerry, expected: BradleyTerry) -> None:
    assert found.ratings == pytest.approx(expected.ratings, abs=CLOSE, nan_ok=True)
    assert found.se == pytest.approx(expected.se, abs=CLOSE, nan_ok=True)


@unhurried
@given(any_votes(), st.randoms(use_true_random=False))
def test_order_leaves_no_trace(votes: Votes, random: Random) -> None:
    order = list(range(len(votes.first)))
    random.shuffle(order)
    shuffled = Votes(len(votes.models), votes.first[order], votes.second[order], votes.winners[order])
    assert_same(leaderboard(shuffled.counts()), leaderboard(votes.counts()))


@unhurried
@given(any_votes(), st.lists(st.booleans(), min_size=40, max_size=40))
def test_sides_leave_no_trace(votes: Votes, flips: list[bool]) -> None:
    flip = np.array(flips)[: len(votes.first)]
    swapped = Votes(
        len(votes.models),
        np.where(flip, votes.second, votes.first),
        np.where(flip, votes.first, votes.second),
        np.where(flip, SWAPPED[votes.winners], votes.winners),
    )
    assert_same(leaderboard(swapped.counts()), leaderboard(votes.counts()))


@unhurried
@given(any_votes(), st.data())
def test_places_leave_no_trace(votes: Votes, data: st.DataObject) -> None:
    moved = data.draw(st.permutations(range(len(votes.models))))
    names = [votes.models[place] for place in moved]
    at = np.argsort(moved)
    counts = PairCounts.from_codes(names, at[votes.first], at[votes.second], votes.winners)
    assert_same(leaderboard(counts), leaderboard(votes.counts()))


@unhurried
@given(linked_votes(), st.data())
def test_names_leave_no_trace(votes: Votes, data: st.DataObject) -> None:
    names = data.draw(st.permutations(votes.models))
    renamed = PairCounts.from_codes(names, votes.first, votes.second, votes.winners)
    assert_same_fit(fit_bradley_terry(renamed), fit_bradley_terry(votes.counts()))


@unhurried
@given(any_votes(), st.integers(0, 40))
def test_counting_more_is_counting_all(votes: Votes, cut: int) -> None:
    rest = (votes.first[cut:], votes.second[cut:], votes.winners[cut:])
    whole, part = votes.counts(), votes.counts(cut)
    grown = part.with_votes(*rest)
    shrunk = whole.without_votes(*rest)
    for found, expected in ((grown, whole), (shrunk, part)):
        for name in ("wins", "ties", "both_bad"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))


@unhurried
@given(any_votes(), st.integers(0, 40))
def test_a_warm_start_changes_nothing(votes: Votes, cut: int) -> None:
    former = fit_bradley_terry(votes.counts(cut))
    cold = fit_bradley_terry(votes.counts())
    warm = fit_bradley_terry(votes.counts(), start=former)
    assert_same_fit(warm, cold)
    assert all(group.gradient < 1e-9 for group in warm.groups)


@unhurried
@given(linked_votes(), st.integers(0, 40))
def test_a_start_with_other_models_changes_nothing(votes: Votes, cut: int) -> None:
    models = ("z", *votes.models)
    shifted = PairCounts.from_codes(models, votes.first[:cut] + 1, votes.second[:cut] + 1, votes.winners[:cut])
    former = fit_bradley_terry(shifted)
    assert_same_fit(fit_bradley_terry(votes.counts(), start=former), fit_bradley_terry(votes.counts()))


@unhurried
@given(linked_votes(), st.lists(st.integers(1, 10**6), min_size=60, max_size=60))
def test_lopsided_counts_are_solved(votes: Votes, repeats: list[int]) -> None:
    times = repeats[: len(votes.first)]
    counts = PairCounts.from_codes(votes.models, votes.first, votes.second, votes.winners, times)
    (group,) = fit_bradley_terry(counts).groups
    expected = (counts.met() * group.chance).sum(axis=1)
    assert expected == pytest.approx(counts.score().sum(axis=1), abs=1e-7)


@unhurried
@given(linked_votes(), st.integers(2, 50))
def test_more_of_the_same_votes_narrow_errors_by_the_root(votes: Votes, times: int) -> None:
    repeated = PairCounts.from_codes(
        votes.models, votes.first, votes.second, votes.winners, np.full(len(votes.first), times)
    )
    many, once = fit_bradley_terry(repeated), fit_bradley_terry(votes.counts())
    assert many.ratings == pytest.approx(once.ratings, abs=CLOSE)
    assert many.se * np.sqrt(times) == pytest.approx(once.se, rel=1e-6)


@unhurried
@given(any_votes(), st.integers(0, 40))
def test_counts_add_up_and_take_away(votes: Votes, cut: int) -> None:
    whole, part = votes.counts(), votes.counts(cut)
    rest = PairCounts.from_codes(votes.models, votes.first[cut:], votes.second[cut:], votes.winners[cut:])
    for found, expected in ((part.plus(rest), whole), (whole.minus(rest), part)):
        for name in ("wins", "ties", "both_bad"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
