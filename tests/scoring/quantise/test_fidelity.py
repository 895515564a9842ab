"""Fidelity against worked examples, and against the definitions spelled out."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.scoring.fidelity import (
    Fidelity,
    Gates,
    Pairs,
    Scores,
    Verdict,
    compare,
    decide,
    divergences,
    kendall,
    pair_accuracy,
    spearman,
)

scores = st.lists(st.floats(-20, 20), min_size=2, max_size=12)


def array(*values: float) -> Scores:
    return np.array(values)


def found(**changed: float) -> Fidelity:
    values = {"error_mean": 0.0, "error_p99": 0.0, "kl_mean": 0.0, "kl_p99": 0.0, "top1": 1.0} | changed
    return Fidelity(samples=200, pairs=100, kendall=1.0, spearman=1.0, **values)


def test_divergence_by_hand() -> None:
    # sigmoid(ln 3) = 3/4 and sigmoid(0) = 1/2: KL = 3/4 ln(3/2) + 1/4 ln(1/2).
    kl = divergences(array(math.log(3), 0), array(0, 0), Pairs([0], [1]))
    assert kl[0] == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5), abs=1e-12)


def test_temperature_flattens_preferences() -> None:
    kl = divergences(array(2 * math.log(3), 0), array(0, 0), Pairs([0], [1]), temperature=2.0)
    assert kl[0] == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5), abs=1e-12)


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_divergence_is_its_definition(x: float, y: float) -> None:
    p, q = 1 / (1 + math.exp(-x)), 1 / (1 + math.exp(-y))
    kl = float(divergences(array(x, 0), array(y, 0), Pairs([0], [1]))[0])
    assert kl >= 0
    if 1e-6 < p < 1 - 1e-6 and 1e-6 < q < 1 - 1e-6:
        assert kl == pytest.approx(p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)), rel=1e-6, abs=1e-9)


def test_certain_preferences_stay_finite() -> None:
    kl = divergences(array(900, 0), array(-900, 0), Pairs([0], [1]))
    assert kl[0] == pytest.approx(900)


@given(scores)
def test_nothing_is_lost_to_oneself(values: list[float]) -> None:
    same = compare(np.array(values), np.array(values), Pairs([0], [1]))
    assert (same.kl_mean, same.kl_p99, same.error_mean, same.top1) == (0.0, 0.0, 0.0, 1.0)
    assert same.kendall == pytest.approx(1)
    assert same.spearman == pytest.approx(1)


def test_compare_by_hand() -> None:
    told = compare(array(1, 2, 3, 4), array(1, 2.5, 2, 4), Pairs([1, 2], [0, 1]))
    assert told.error_mean == pytest.approx(1.5 / 4)
    assert told.error_p99 == pytest.approx(0.985)
    assert told.top1 == 0.5
    # Five of six pairs in the same order, one turned.
    assert told.kendall == pytest.approx(4 / 6)
    # Two of the ranks are off by one: 1 less 6 times 2 over 60.
    assert told.spearman == pytest.approx(0.8)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=12))
def test_kendall_counts_pairs(rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows, np.float64).T
    agree = ties_a = ties_b = all_pairs = 0
    for (x1, y1), (x2, y2) in combinations(rows, 2):
        all_pairs += 1
        ties_a += x1 == x2
        ties_b += y1 == y2
        agree += (x1 < x2) - (x1 > x2) if y1 < y2 else (x1 > x2) - (x1 < x2) if y1 > y2 else 0
    room = math.sqrt((all_pairs - ties_a) * (all_pairs - ties_b))
    if room:
        assert kendall(a, b) == pytest.approx(agree / room)


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=3, max_size=12))
def test_spearman_correlates_ranks(rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows, np.float64).T
    ranks = [[(values < value).sum() + ((values == value).sum() + 1) / 2 for value in values] for values in (a, b)]
    if np.ptp(ranks[0]) and np.ptp(ranks[1]):
        assert spearman(a, b) == pytest.approx(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))


def test_accuracy_leaves_ties_out_and_halves_equal_scores() -> None:
    pairs = Pairs([0, 1, 2, 0], [1, 0, 3, 2])
    assert pair_accuracy(array(2, 1, 5, 5), pairs, array(1, 1, 0, 0.5)) == pytest.approx((1 + 0 + 0.5) / 3)
    with pytest.raises(ValueError, match="no pair is decided"):
        pair_accuracy(array(1, 2), Pairs([0], [1]), array(0.5))


@pytest.mark.parametrize(
    ("full", "reduced", "pairs"),
    [
        (array(1, 2), array(1), Pairs([0], [1])),
        (array(1, 2), array(1, math.nan), Pairs([0], [1])),
        (array(1, 2), array(1, 2), Pairs([], [])),
    ],
)
def test_what_cannot_be_compared_is_refused(full: Scores, reduced: Scores, pairs: Pairs) -> None:
    with pytest.raises(ValueError, match="score"):
        compare(full, reduced, pairs)


class TestDecision:
    def test_a_faithful_engine_stays(self) -> None:
        assert decide(found(kl_mean=0.049, top1=0.91), found(), Gates()).verdict is Verdict.PROMOTE

    @pytest.mark.parametrize(
        ("lost", "word"), [({"kl_mean": 0.051}, "mean KL"), ({"kl_p99": 0.26}, "p99 KL"), ({"top1": 0.89}, "top-1")]
    )
    def test_each_gate_alone_rolls_back_and_says_so(self, lost: dict[str, float], word: str) -> None:
        decision = decide(found(**lost), found(), Gates())
        assert decision.verdict is Verdict.ROLL_BACK
        assert len(decision.reasons) == 1
        assert word in decision.reasons[0]

    def test_noise_of_the_full_engine_is_nobodys_loss(self) -> None:
        noise = found(kl_mean=0.01, top1=0.95)
        assert decide(found(kl_mean=0.055, top1=0.87), noise, Gates()).verdict is Verdict.PROMOTE
        assert decide(found(kl_mean=0.065, top1=0.87), noise, Gates()).verdict is Verdict.ROLL_BACK

    def test_noise_beyond_the_gates_decides_nothing(self) -> None:
        decision = decide(found(kl_mean=5.0), found(kl_mean=0.06), Gates())
        assert decision.verdict is Verdict.HOLD
        assert "full precision" in decision.reasons[0]

    def test_few_pairs_decide_nothing(self) -> None:
        assert decide(found(kl_mean=5.0), found(), Gates(pairs=101)).verdict is Verdict.HOLD
