"""Votes taken in one at a time give what a full fit gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.ranking.support import Votes, draw_votes
from tests.ranking.test_properties import any_votes, linked_votes

from agon.core.errors import InvalidInput
from agon.ranking.bradley_terry import fit_bradley_terry
from agon.ranking.live import LiveRatings
from agon.ranking.outcomes import PairCounts

CLOSE = 1e-6
"""Points by which it may differ from a full fit."""
unhurried = settings(deadline=None, max_examples=60)


def follow(votes: Votes, cut: int) -> LiveRatings:
    live = LiveRatings(votes.counts(cut))
    for a, b, winner in zip(votes.first[cut:], votes.second[cut:], votes.winners[cut:], strict=True):
        live.add(int(a), int(b), int(winner))
    return live


@unhurried
@given(any_votes())
def test_from_nothing(votes: Votes) -> None:
    live = LiveRatings(PairCounts.empty(votes.models))
    for stop, (a, b, winner) in enumerate(zip(votes.first, votes.second, votes.winners, strict=True)):
        live.add(int(a), int(b), int(winner))
        whole = fit_bradley_terry(votes.counts(stop + 1))
        assert live.ratings == pytest.approx(whole.ratings, abs=CLOSE, nan_ok=True)


@unhurried
@given(linked_votes())
def test_the_later_half(votes: Votes) -> None:
    live = follow(votes, len(votes.first) // 2)
    whole = fit_bradley_terry(votes.counts())
    assert live.ratings == pytest.approx(whole.ratings, abs=CLOSE, nan_ok=True)
    fit = live.fit()
    assert fit.ratings == pytest.approx(whole.ratings, abs=CLOSE, nan_ok=True)
    assert fit.se == pytest.approx(whole.se, abs=CLOSE, nan_ok=True)
    for name in ("wins", "ties", "both_bad"):
        assert np.array_equal(getattr(live.counts, name), getattr(votes.counts(), name))


def test_a_large_board_over_many_votes() -> None:
    votes = draw_votes(6, np.random.default_rng(6).normal(0.0, 1.0, 60), 9000)
    live = follow(votes, 6000)
    assert live.ratings == pytest.approx(fit_bradley_terry(votes.counts()).ratings, abs=CLOSE)
    assert live.models == votes.models


@pytest.mark.parametrize(
    ("vote", "code"),
    [
        ((0, 0, 0), "self_battle"),
        ((0, 3, 0), "unknown_model"),
        ((-1, 0, 0), "unknown_model"),
        ((0, 1, 4), "unknown_winner"),
    ],
)
def test_bad_votes_are_refused_and_change_nothing(vote: tuple[int, int, int], code: str) -> None:
    live = LiveRatings(PairCounts.empty(("x", "y", "z")))
    with pytest.raises(InvalidInput) as caught:
        live.add(*vote)
    assert caught.value.code == code
    assert live.counts.votes() == 0
