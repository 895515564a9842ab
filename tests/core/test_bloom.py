"""What a filter knows: everything that was added, and hardly anything else."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.bloom import HASHED_BYTES, Bloom

digests = st.lists(st.binary(min_size=32, max_size=32), max_size=80)


def drawn(count: int, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    return [chance.randbytes(32) for _ in range(count)]


@given(first=digests, then=digests)
def test_nothing_that_was_added_is_denied(first: list[bytes], then: list[bytes]) -> None:
    bloom = Bloom(1000)
    for part in (first, then):
        bloom.add(part)
    assert bloom.unknown(first + then) == []
    assert all(digest in bloom for digest in first + then)


@given(known=digests, asked=digests)
def test_one_by_one_and_many_at_once_agree(known: list[bytes], asked: list[bytes]) -> None:
    by_one, at_once = Bloom(50, 0.2), Bloom(50, 0.2)
    for digest in known:
        by_one.add([digest])
    at_once.add(known)
    assert [digest for digest in asked if digest not in by_one] == list(at_once.unknown(asked))


@pytest.mark.parametrize("wrong", [0.1, 0.01, 0.001])
def test_when_full_it_is_wrong_no_more_often_than_was_asked(wrong: float) -> None:
    bloom = Bloom(20_000, wrong)
    bloom.add(drawn(20_000, seed=1))
    assert bloom.wrong <= wrong
    strangers = drawn(50_000, seed=2)
    let_through = len(strangers) - len(bloom.unknown(strangers))
    # Binomial: five standard deviations over what it says of itself.
    expected = bloom.wrong * len(strangers)
    assert abs(let_through - expected) <= 5 * expected**0.5 + 5


def test_it_counts_what_it_holds_and_says_when_it_is_full() -> None:
    bloom = Bloom(2_000)
    some = drawn(1_500, seed=3)
    for _ in range(3):
        bloom.add(some)
        bloom.add([some[0]] * 30)
    assert len(bloom) == 1_500
    assert not bloom.full
    bloom.add(drawn(600, seed=4))
    assert bloom.full


def test_only_the_hashed_part_of_a_digest_matters() -> None:
    bloom = Bloom(1_000)
    some = drawn(100, seed=5)
    bloom.add([digest[:HASHED_BYTES] for digest in some])
    assert bloom.unknown(some) == []


def test_a_million_keys_take_two_megabytes() -> None:
    bloom = Bloom(1_000_000)
    assert bloom.size_bytes == 2 << 20
    assert bloom.probes == 6


@pytest.mark.parametrize(("capacity", "wrong"), [(0, 0.1), (10, 0.0), (10, 1.0)])
def test_a_filter_that_cannot_be_is_refused(capacity: int, wrong: float) -> None:
    with pytest.raises(ValueError, match="a filter needs"):
        Bloom(capacity, wrong)
