"""Token buckets: how much may be sent."""

from hypothesis import given
from hypothesis import strategies as st

from agon.core.buckets import Buckets

MOMENTS = st.lists(st.tuples(st.floats(0, 30), st.integers(1, 30)), max_size=40)


def test_a_full_bucket_is_spent_and_fills_again() -> None:
    buckets = Buckets(60)
    assert buckets.take("a", 60, 0) == 0
    assert buckets.take("a", 1, 0) == 1
    assert buckets.take("a", 10, 4) == 6
    assert buckets.take("a", 10, 10) == 0
    assert buckets.take("a", 1, 10) == 1


def test_senders_have_buckets_of_their_own() -> None:
    buckets = Buckets(10)
    assert buckets.take("a", 10, 0) == 0
    assert buckets.take("b", 10, 0) == 0
    assert buckets.take("a", 1, 0) == 6


def test_what_is_more_than_a_bucket_needs_a_full_one() -> None:
    buckets = Buckets(10)
    assert buckets.take("a", 1, 0) == 0
    assert buckets.take("a", 1000, 0) == 6
    assert buckets.take("a", 1000, 6) == 0
    assert buckets.wait_s("a", 1, 6) == 6


def test_without_a_limit_everything_may_be_sent() -> None:
    buckets = Buckets(0)
    assert not any(buckets.take("a", 10**9, 0) for _ in range(3))
    assert len(buckets) == 0


def test_a_crowd_of_senders_is_kept_in_bounds() -> None:
    buckets = Buckets(10, most=100)
    for sender in range(1000):
        buckets.take(str(sender), 1, sender)
    assert len(buckets) == 100


@given(MOMENTS)
def test_never_more_than_a_bucket_and_what_flowed_in(moments: list[tuple[float, int]]) -> None:
    buckets, now_s, taken = Buckets(30), 0.0, 0
    for pause_s, cost in moments:
        now_s += pause_s
        wait_s = buckets.take("a", cost, now_s)
        if not wait_s:
            taken += cost
        else:
            assert buckets.wait_s("a", cost, now_s + wait_s + 1e-6) == 0
        assert taken <= 30 + now_s / 2 + 1e-6
