"""The breaker: when a replica is ejected, for how long, and that a probe is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.dispatch.breaker import Breaker, BreakerRules, BreakerState


def eject(breaker: Breaker, now_s: float, *, chance: float = 0.0) -> None:
    while breaker.closed:
        breaker.failed(now_s, chance)


def test_five_failures_in_a_row_eject() -> None:
    breaker = Breaker()
    ejected = [breaker.failed(float(at), 0.0) for at in range(6)]
    assert ejected == [False, False, False, False, True, False]
    assert breaker.state is BreakerState.OPEN


def test_a_success_begins_the_row_anew() -> None:
    breaker = Breaker(BreakerRules(window_share=1.0))
    for at in range(40):
        assert not breaker.failed(float(at), 0.0)
        if at % 4 == 3:
            breaker.succeeded(float(at))
    assert breaker.closed


@pytest.mark.parametrize(("good", "bad", "ejects"), [(2, 2, False), (3, 3, False), (2, 3, True), (1, 3, False)])
def test_more_than_half_of_five_eject(good: int, bad: int, *, ejects: bool) -> None:
    breaker = Breaker()
    for _ in range(good):
        breaker.succeeded(0.0)
    ejected = [breaker.failed(1.0, 0.0) for _ in range(bad)]
    assert any(ejected) is ejects


def test_what_is_older_than_the_window_counts_no_more() -> None:
    breaker = Breaker()
    for at in (0.0, 1.0, 2.0):
        breaker.failed(at, 0.0)
    for at in (40.0, 41.0, 42.0):
        breaker.succeeded(at)
    assert not breaker.failed(43.0, 0.0)
    assert not breaker.failed(44.0, 0.0)


def test_each_ejection_is_longer_up_to_a_limit_and_forgiven_in_time() -> None:
    breaker, now_s, lasted = Breaker(), 100.0, list[float]()
    for _ in range(14):
        eject(breaker, now_s)
        lasted.append(breaker.remaining_s(now_s))
        now_s += lasted[-1]
        assert breaker.begin_probe(now_s)
        breaker.close(now_s)
    assert lasted[:3] == [5.0, 10.0, 15.0]
    assert lasted[-2:] == [60.0, 60.0]
    now_s += 61.0
    eject(breaker, now_s)
    assert breaker.remaining_s(now_s) == 5.0


def test_chance_makes_an_ejection_up_to_a_fifth_longer() -> None:
    breaker = Breaker()
    eject(breaker, 0.0, chance=0.5)
    assert breaker.remaining_s(0.0) == pytest.approx(5.5)


def test_one_probe_at_a_time_and_none_too_early() -> None:
    breaker = Breaker()
    assert not breaker.begin_probe(0.0)
    eject(breaker, 0.0)
    assert not breaker.begin_probe(4.9)
    assert breaker.begin_probe(5.0)
    assert breaker.state is BreakerState.HALF_OPEN
    assert not breaker.begin_probe(5.0)
    breaker.close(5.0)
    assert breaker.closed


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 10)), max_size=80))
def test_an_ejection_always_has_its_reason(ends: list[tuple[bool, float]]) -> None:
    """Against a plain reading of the rules."""
    breaker, now_s, told, in_a_row = Breaker(), 0.0, list[tuple[float, bool]](), 0
    for good, passed_s in ends:
        now_s += passed_s
        told.append((now_s, good))
        in_a_row = 0 if good else in_a_row + 1
        if good:
            breaker.succeeded(now_s)
            continue
        late = [end for at, end in told if at >= now_s - 30.0]
        expected = in_a_row >= 5 or (len(late) >= 5 and late.count(False) > len(late) / 2)
        assert breaker.failed(now_s, 0.0) is expected
        if expected:
            breaker.close(now_s)
            told, in_a_row = [], 0
