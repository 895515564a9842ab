"""What stays in memory: what is asked for, within bounds, whoever else comes by."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.hot import HotSet

VALUE = b"v" * 60


def keys(count: int, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    return [chance.randbytes(32) for _ in range(count)]


def asker(hot: HotSet) -> Callable[[bytes], bool]:
    """Asks, and puts what was missing; says whether it was there."""

    def ask(key: bytes) -> bool:
        if hot.get(key) is not None:
            return True
        hot.put(key, VALUE)
        return False

    return ask


@given(
    entries=st.integers(1, 8),
    size=st.integers(1, 4_000),
    steps=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 900), st.booleans()), max_size=120),
)
def test_it_keeps_to_its_bounds_and_never_invents(entries: int, size: int, steps: list[tuple[int, int, bool]]) -> None:
    hot = HotSet(entries, size)
    latest: dict[bytes, bytes] = {}
    for number, length, puts in steps:
        key = bytes([number]) * 32
        if puts:
            latest[key] = bytes([number]) * length
            hot.put(key, latest[key])
        else:
            assert hot.get(key) in {None, latest.get(key)}
        assert len(hot) <= entries
        assert hot.size_bytes <= size
        there = [key for key in latest if key in hot]
        assert hot.size_bytes == sum(len(key) + len(latest[key]) + 200 for key in there)
        assert len(hot) == len(there)


def test_all_is_kept_while_there_is_room() -> None:
    hot = HotSet(500, 1 << 20)
    some = keys(500, seed=1)
    for key in some:
        hot.put(key, VALUE)
    assert all(hot.get(key) == VALUE for key in some)
    assert hot.evicted == 0


def test_a_flood_of_strangers_does_not_displace_what_is_in_use() -> None:
    hot, chance = HotSet(500, 1 << 20), random.Random(2)
    ask, favourites = asker(hot), keys(400, seed=3)
    for _ in range(8_000):
        ask(chance.choice(favourites))
    assert sum(ask(chance.choice(favourites)) for _ in range(2_000)) == 2_000
    hits = 0
    for _ in range(2_000):
        hits += ask(chance.choice(favourites))
        for _ in range(10):
            ask(chance.randbytes(32))
    assert hits / 2_000 >= 0.99


def test_what_becomes_popular_during_a_flood_is_let_in() -> None:
    hot, chance = HotSet(100, 1 << 20), random.Random(4)
    ask = asker(hot)
    for key in keys(100, seed=5) * 3:
        ask(key)
    favourites = keys(60, seed=6)
    hits = 0
    for number in range(4_000):
        found = ask(chance.choice(favourites))
        hits += found and number >= 2_000
        for _ in range(5):
            ask(chance.randbytes(32))
    assert hits / 2_000 >= 0.9


def test_what_is_offered_enters_where_there_is_room_or_it_is_worth_it() -> None:
    hot = HotSet(50, 1 << 20)
    for key in keys(50, seed=10):
        hot.offer(key, VALUE)
    assert len(hot) == 50
    for key in keys(50, seed=10) * 2:
        hot.get(key)
    stranger, popular = keys(2, seed=11)
    for _ in range(2):
        hot.get(stranger)
        hot.offer(stranger, VALUE)
    assert stranger not in hot
    for _ in range(4):
        hot.get(popular)
        hot.offer(popular, VALUE)
    assert popular in hot


@pytest.mark.parametrize("way", [HotSet.put, HotSet.offer])
def test_what_nobody_asks_for_any_longer_leaves(way: Callable[[HotSet, bytes, bytes], None]) -> None:
    hot = HotSet(50, 1 << 20)

    def ask(key: bytes) -> None:
        if hot.get(key) is None:
            way(hot, key, VALUE)

    former, present = keys(50, seed=7), keys(50, seed=8)
    for _ in range(20):
        for key in former:
            ask(key)
    for _ in range(400):
        for key in present:
            ask(key)
    assert sum(key in hot for key in present) >= 45


def test_a_value_that_would_take_most_of_the_room_is_not_kept() -> None:
    hot = HotSet(500, 10_000)
    small, large = keys(2, seed=9)
    hot.put(small, VALUE)
    hot.put(large, b"x" * 5_000)
    assert hot.get(large) is None
    assert hot.get(small) == VALUE
    hot.put(small, b"x" * 5_000)
    assert hot.get(small) is None, "an old value must not outlive its successor"
