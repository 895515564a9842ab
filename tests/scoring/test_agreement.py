"""Agreement with people: by hand, and against statsmodels."""

import random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater, proportion

from agon.core.scoring import Abstained, Poison, Sample, Score
from agon.core.votes import Winner
from agon.scoring.agreement import HumanPair, agreement, margin_of, samples_of, share_of

statsmodels_kappa, statsmodels_interval = (
    cast("Any", inter_rater).cohens_kappa,
    cast("Any", proportion).proportion_confint,
)
A, B, TIE, BAD = Winner.A, Winner.B, Winner.TIE, Winner.BOTH_BAD
PAIR = HumanPair("Why?", "one", "two", A)


def test_a_small_table_by_hand() -> None:
    found = agreement([1.0, 2.0, -1.0, 1.0, 0.0, None, 3.0, -2.0], [A, A, B, B, A, A, TIE, BAD])
    # Of five that people decided and the scorer scored, three are right, one is wrong, one is neither.
    assert (found.pairs, found.decided, found.unscored) == (8, 5, 1)
    assert (found.right.count, found.right.share) == (3.5, 0.7)
    # Same answer 3/5; by chance 3/5 · 3/5 + 1/5 · 2/5 = 0.44.
    assert found.kappa == pytest.approx((0.6 - 0.44) / 0.56)
    assert found.bins == ()


@given(st.lists(st.integers(1, 80), min_size=4, max_size=4))
def test_kappa_is_that_of_statsmodels(cells: list[int]) -> None:
    kinds = [(1.0, A), (0.5, B), (-1.0, A), (-3.0, B)]
    pairs = [kind for kind, count in zip(kinds, cells, strict=True) for _ in range(count)]
    found = agreement([margin for margin, _ in pairs], [winner for _, winner in pairs])
    assert found.kappa == pytest.approx(statsmodels_kappa([cells[:2], cells[2:]]).kappa, abs=1e-12)


def test_where_chance_alone_agrees_there_is_no_kappa() -> None:
    assert agreement([1.0, 2.0], [A, A]).kappa is None
    assert agreement([], []).kappa is None


@given(st.integers(1, 500), st.data())
def test_intervals_of_shares_are_wilsons(of: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, of))
    share = share_of(count, of)
    low, high = statsmodels_interval(count, of, method="wilson")
    assert (share.low, share.high) == (pytest.approx(float(low), abs=1e-9), pytest.approx(float(high), abs=1e-9))


def test_exchanging_the_sides_changes_nothing() -> None:
    chance = random.Random(4)
    margins = [chance.gauss(0, 1) for _ in range(200)]
    winners = [chance.choice([A, B, TIE]) for _ in margins]
    other = {A: B, B: A, TIE: TIE}
    mirrored = agreement([-margin for margin in margins], [other[winner] for winner in winners])
    assert mirrored == agreement(margins, winners)


def test_a_calibrated_scorer_is_right_more_often_where_it_is_surer() -> None:
    chance = random.Random(7)
    margins = [chance.uniform(-4, 4) for _ in range(2_000)]
    winners = [A if chance.random() < 1 / (1 + 2.718**-margin) else B for margin in margins]
    found = agreement(margins, winners)
    shares = [each.right.share or 0 for each in found.bins]
    assert len(shares) == 5
    assert shares == sorted(shares)
    assert sum(each.right.of for each in found.bins) == found.decided == 2_000
    edges = [edge for each in found.bins for edge in (each.least, each.most)]
    assert edges == sorted(edges)


def test_equal_gaps_are_not_torn_apart() -> None:
    found = agreement([0.25, -0.25] * 50 + [0.5] * 20, [A] * 120)
    assert [(each.least, each.most, each.right.of) for each in found.bins] == [(0.25, 0.25, 100), (0.5, 0.5, 20)]


def test_scorers_that_compare_are_asked_once_and_others_twice() -> None:
    assert samples_of(PAIR, compares=True) == (Sample("Why?", "one", reference="two"),)
    assert samples_of(PAIR, compares=False) == (Sample("Why?", "one"), Sample("Why?", "two"))
    assert margin_of([Score(0.75)]) == 0.25
    assert margin_of([Score(2.0), Score(5.0)]) == -3.0
    assert margin_of([Score(2.0), Poison("x")]) is None
    assert margin_of([Abstained("orders_disagree")]) is None
