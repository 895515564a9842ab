"""A history is the board of each day's window, computed day by day."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ranking.support import draw_votes

from agon.core.errors import InvalidInput
from agon.ranking.bradley_terry import Anchor, fit_bradley_terry
from agon.ranking.history import RollingCounts, rating_history
from agon.ranking.outcomes import PairCounts

DAY0 = 19_000


def test_each_day_equals_a_fit_of_its_window() -> None:
    votes = draw_votes(1, np.linspace(-0.7, 0.7, 5), 900)
    days = DAY0 + np.random.default_rng(1).integers(0, 40, 900)
    for window, every in ((7, 1), (None, 5)):
        columns = votes.first, votes.second, votes.winners, days
        found = rating_history(votes.models, *columns, window_days=window, every=every)
        assert found.days[0] == date.fromordinal(date(1970, 1, 1).toordinal() + int(days.min()))
        for row, day in enumerate(range(int(days.min()), int(days.max()) + 1, every)):
            inside = (days <= day) & (days > (day - window if window else 0))
            counts = PairCounts.from_codes(
                votes.models, votes.first[inside], votes.second[inside], votes.winners[inside]
            )
            fit = fit_bradley_terry(counts)
            expected = np.full(5, np.nan)
            if fit.main is not None:
                expected[fit.groups[fit.main].places] = fit.groups[fit.main].ratings
            assert found.ratings[row] == pytest.approx(expected, abs=1e-6, nan_ok=True)
            assert found.votes[row] == inside.sum()
            assert np.array_equal(found.battles[row], counts.met().sum(axis=1))
    assert found.votes[-1] == 900


def test_an_anchor_is_level() -> None:
    votes = draw_votes(1, np.linspace(-0.7, 0.7, 4), 600)
    days = np.sort(np.random.default_rng(1).integers(0, 10, 600))
    found = rating_history(votes.models, votes.first, votes.second, votes.winners, days, anchor=Anchor("m0", 900.0))
    assert found.ratings[:, 0] == pytest.approx(900.0)
    assert found.low[:, 0] == pytest.approx(900.0)
    assert (found.high[:, 1:] > found.low[:, 1:]).all()


def test_no_votes_no_days() -> None:
    found = rating_history(("x", "y"), [], [], [], np.zeros(0, dtype=np.int64))
    assert found.days == ()
    assert found.ratings.shape == (0, 2)


def test_a_time_far_off_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        rating_history(("x", "y"), [0, 0], [1, 1], [0, 1], np.array([0, 30_000]))
    assert caught.value.code == "too_many_days"
    with pytest.raises(InvalidInput):
        rating_history(("x", "y"), [0], [1], [0], np.array([0]), window_days=0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["x", "y", "z"]), st.integers(0, 3)), max_size=30))
def test_rolling_counts_are_a_recount(votes: list[tuple[int, str, int]]) -> None:
    rolling = RollingCounts(4)
    newest = -1
    for day, model, winner in votes:
        rolling.add(day, PairCounts.from_codes((model, "rival"), [0], [1], [winner]))
        newest = max(newest, day)
    inside = [(model, winner) for day, model, winner in votes if day > newest - 4]
    names = rolling.counts.models
    recount = PairCounts.from_codes(
        names,
        [names.index(model) for model, _ in inside],
        [names.index("rival") for _ in inside],
        [winner for _, winner in inside],
    )
    for name in ("wins", "ties", "both_bad"):
        assert np.array_equal(getattr(rolling.counts, name), getattr(recount, name))


def test_days_pass_without_votes() -> None:
    rolling = RollingCounts(2)
    rolling.add(5, PairCounts.from_codes(("x", "y"), [0], [1], [0]))
    rolling.advance(6)
    assert rolling.counts.votes() == 1
    rolling.advance(7)
    assert rolling.counts.votes() == 0
    rolling.advance(3)
    rolling.add(5, PairCounts.from_codes(("x", "y"), [0], [1], [0]))
    assert rolling.counts.votes() == 0, "the window never goes back"
    with pytest.raises(InvalidInput):
        RollingCounts(0)
