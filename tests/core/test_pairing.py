"""Who fights whom, and the chance of it."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.errors import Unavailable
from agon.core.pairing import choose_pair, pair_probabilities

Weights = list[tuple[str, float]]

names = st.text(alphabet="abcdefgh", min_size=1, max_size=3)
uniform = st.floats(0, 1, exclude_max=True)


def weights(*, positive: int) -> st.SearchStrategy[Weights]:
    """Distinct names; at least so many have a weight above 0."""
    values = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))
    return st.lists(st.tuples(names, values), min_size=positive, max_size=9, unique_by=lambda pair: pair[0]).filter(
        lambda drawn: sum(weight > 0 for _, weight in drawn) >= positive
    )


@given(weights(positive=2))
def test_probabilities_sum_to_one_and_no_one_meets_itself(drawn: Weights) -> None:
    pairs = pair_probabilities(drawn)
    assert math.isclose(sum(chance for _, _, chance in pairs), 1.0, rel_tol=1e-9)
    assert all(first != second and chance > 0 for first, second, chance in pairs)
    assert len({frozenset((first, second)) for first, second, _ in pairs}) == len(pairs)


@given(weights(positive=2), uniform, uniform)
def test_a_choice_is_a_pair_of_two_with_its_own_probability(drawn: Weights, pick: float, flip: float) -> None:
    pairing = choose_pair(drawn, pick, flip)
    table = {frozenset((first, second)): chance for first, second, chance in pair_probabilities(drawn)}
    assert pairing.a != pairing.b
    assert pairing.propensity == table[frozenset((pairing.a, pairing.b))]
    assert dict(drawn)[pairing.a] > 0
    assert dict(drawn)[pairing.b] > 0


@given(weights(positive=2), uniform)
def test_the_flip_only_changes_sides(drawn: Weights, pick: float) -> None:
    first, second = choose_pair(drawn, pick, 0.2), choose_pair(drawn, pick, 0.8)
    assert (first.a, first.b) == (second.b, second.a)
    assert first == choose_pair(drawn, pick, 0.2)


@given(weights(positive=2), st.floats(0.01, 100), uniform, uniform)
def test_only_the_proportions_of_weights_matter(drawn: Weights, factor: float, pick: float, flip: float) -> None:
    scaled = [(name, weight * factor) for name, weight in drawn]
    for (*_, before), (*_, after) in zip(pair_probabilities(drawn), pair_probabilities(scaled), strict=True):
        assert math.isclose(before, after, rel_tol=1e-9)
    assert choose_pair(scaled, pick, flip).propensity > 0


@pytest.mark.parametrize("drawn", [[], [("a", 1.0)], [("a", 1.0), ("b", 0.0)]])
def test_fewer_than_two_cannot_battle(drawn: Weights) -> None:
    with pytest.raises(Unavailable) as refused:
        choose_pair(drawn, 0.5, 0.5)
    assert refused.value.code == "not_enough_models"


def test_the_propensity_is_the_rate_at_which_a_pair_is_drawn() -> None:
    rounds, chance = 20_000, Random(20260131)
    drawn: Weights = [("a", 1.0), ("b", 2.0), ("c", 0.5), ("d", 4.0), ("e", 0.0)]
    counts: Counter[frozenset[str]] = Counter()
    a_first: Counter[str] = Counter()
    stated: dict[frozenset[str], float] = {}
    for _ in range(rounds):
        pairing = choose_pair(drawn, chance.random(), chance.random())
        pair = frozenset((pairing.a, pairing.b))
        counts[pair] += 1
        a_first[pairing.a] += 1
        stated[pair] = pairing.propensity
    assert math.isclose(sum(stated.values()), 1.0)
    for pair, propensity in stated.items():
        error = math.sqrt(propensity * (1 - propensity) / rounds)
        assert abs(counts[pair] / rounds - propensity) < 4 * error, pair
    for name in "abcd":
        appearances = sum(count for pair, count in counts.items() if name in pair)
        assert abs(a_first[name] / appearances - 0.5) < 4 * math.sqrt(0.25 / appearances), name
