"""The decisions of the batcher, without any clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.scoring.batching import BatchBreaker, BatchRules, Call, Cost, Line, Mode

RULES = BatchRules(max_batch=4, max_wait_s=1.0, failures=2, singly_s=10.0)
calls = st.lists(st.integers(1, 9), min_size=1, max_size=8)


def line_of(*sizes: int, rules: BatchRules = RULES, cost: Cost | None = None, deadline_s: float | None = None) -> Line:
    line = Line(rules, cost or Cost())
    for number, size in enumerate(sizes):
        assert line.add(Call(number, size, 0.0, deadline_s), now_s=0.0, free_s=0.0)
    return line


def cost_of(a: float, b: float) -> Cost:
    cost = Cost()
    for samples in (1, 2, 4, 8):
        cost.ran(samples, a * samples + b)
    return cost


def taken(line: Line, now_s: float = 100.0, most: int = 99) -> dict[int, int]:
    return {taking.call: taking.samples for taking in line.decide(now_s, most=most).batch}


def test_a_full_batch_is_run_at_once_and_others_wait_for_company() -> None:
    line = line_of(1, 2)
    assert line.decide(0.5, most=99).look_again_s == 1.0
    assert line.decide(0.5, most=99).batch == ()
    line.add(Call(7, 1, 0.5), now_s=0.5, free_s=0.0)
    assert line.decide(0.5, most=99).samples == 4
    assert (len(line), line.decide(0.5, most=99).look_again_s) == (0, None)


def test_those_who_have_waited_long_enough_are_run_without_company() -> None:
    assert taken(line_of(3), now_s=1.0) == {0: 3}


@given(calls, st.integers(1, 6))
def test_each_sample_is_taken_once_and_no_batch_is_too_large(sizes: list[int], most: int) -> None:
    line, counts = line_of(*sizes), dict.fromkeys(range(len(sizes)), 0)
    while len(line):
        batch = taken(line, most=most)
        assert 0 < sum(batch.values()) <= min(most, RULES.max_batch)
        assert all(samples > 0 for samples in batch.values())
        for call, samples in batch.items():
            counts[call] += samples
    assert list(counts.values()) == sizes


@given(st.integers(1, 4), st.integers(5, 300))
def test_a_small_call_does_not_wait_behind_a_large_one(small: int, large: int) -> None:
    line, batches = line_of(large, small), 0
    while small > 0:
        small -= taken(line).get(1, 0)
        batches += 1
    assert batches <= 2


@given(st.integers(2, 40))
def test_a_large_call_does_not_starve_among_small_ones_that_keep_coming(batches: int) -> None:
    line, turns = line_of(1000), 0
    for number in range(batches):
        for each in range(4):
            line.add(Call(1 + number * 4 + each, 1, float(number)), now_s=float(number), free_s=0.0)
        turns += 0 in taken(line)
    # Each turn brings as many as a batch holds, so the line grows; it is served in order all the same.
    assert turns >= max(1, batches // 8)


def test_one_at_a_time_goes_round() -> None:
    line = line_of(3, 3)
    assert [next(iter(taken(line, most=1))) for _ in range(6)] == [0, 1, 0, 1, 0, 1]


@given(st.floats(1e-6, 1.0), st.floats(0.0, 1.0), st.lists(st.integers(1, 64), min_size=2, unique=True))
def test_the_cost_of_a_line_is_found(a: float, b: float, sizes: list[int]) -> None:
    cost = Cost()
    for samples in sizes:
        cost.ran(samples, a * samples + b)
    assert cost.of(100) == pytest.approx(a * 100 + b, rel=1e-3, abs=1e-6)


def test_one_size_alone_foretells_in_proportion() -> None:
    cost = Cost()
    assert cost.of(8) == 0.0
    cost.ran(4, 2.0)
    assert (cost.of(8), cost.of(4), cost.of(1)) == (4.0, 2.0, 2.0)


def test_old_batches_are_forgotten() -> None:
    cost = cost_of(10.0, 0.0)
    for _ in range(60):
        for samples in (1, 2, 4, 8):
            cost.ran(samples, 0.01 * samples)
    assert cost.of(4) == pytest.approx(0.04, rel=0.1)


def test_a_call_that_would_be_late_is_refused_when_it_comes() -> None:
    line = Line(RULES, cost_of(0.1, 1.0))
    assert line.add(Call(1, 4, 0.0, 1.5), now_s=0.0, free_s=0.0)
    # Behind the four that wait there is a second batch of 1.1 s, and only then are the two due.
    assert not line.add(Call(2, 1, 0.0, 2.4), now_s=0.0, free_s=0.0)
    assert line.add(Call(2, 1, 0.0, 2.6), now_s=0.0, free_s=0.0)
    assert not line.add(Call(3, 1, 0.0, 3.0), now_s=0.0, free_s=2.0)


def test_a_call_that_has_come_to_be_late_leaves_the_line() -> None:
    line = line_of(1, cost=cost_of(0.1, 1.0), deadline_s=5.0)
    decision = line.decide(4.5, most=99)
    assert (decision.refused, decision.batch, len(line)) == ((0,), (), 0)


def test_a_deadline_makes_a_batch_begin_sooner_and_smaller() -> None:
    rules = BatchRules(max_batch=100, max_wait_s=50.0)
    line = Line(rules, cost_of(1.0, 0.0))
    line.add(Call(1, 40, 0.0), now_s=0.0, free_s=0.0)
    line.add(Call(2, 2, 0.0, 45.0), now_s=0.0, free_s=0.0)
    assert line.decide(0.0, most=100).look_again_s == pytest.approx(3.0)
    assert line.decide(3.0, most=100).samples == 42
    late = Line(rules, cost_of(1.0, 0.0))
    late.add(Call(2, 2, 0.0, 45.0), now_s=0.0, free_s=0.0)
    late.add(Call(1, 40, 0.0), now_s=0.0, free_s=0.0)
    batch = {taking.call: taking.samples for taking in late.decide(35.0, most=100).batch}
    assert sum(batch.values()) == 10
    assert batch[2] == 2


def test_batches_that_fail_though_their_samples_do_not_are_given_up_for_a_while() -> None:
    breaker = BatchBreaker(RULES)
    breaker.failed(0.0)
    breaker.worked()
    breaker.failed(1.0)
    assert breaker.mode(1.0) is Mode.BATCHES
    breaker.failed(2.0)
    assert (breaker.mode(2.0), breaker.most(2.0)) == (Mode.SINGLY, 1)
    assert (breaker.mode(12.0), breaker.most(12.0)) == (Mode.TRIAL, 4)
    breaker.failed(12.0)
    assert breaker.mode(21.0) is Mode.SINGLY
    breaker.worked()
    assert breaker.mode(21.0) is Mode.BATCHES
