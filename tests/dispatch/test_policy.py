"""Deadlines, faults and retries: pure decisions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.conversation import AnswerState, Kind
from agon.core.errors import EngineError, EngineRejected, EngineTruncated, EngineUnreachable
from agon.core.generation import BUSY_CODE
from agon.dispatch.budget import RetryBudget
from agon.dispatch.policy import Policy, Verdict, is_backpressure

POLICY = Policy(battle_deadline_s=15.0, other_deadline_s=120.0)


@pytest.mark.parametrize(
    ("kind", "age_s", "begun_s", "verdict"),
    [
        (Kind.BATTLE, 14.9, 1.0, Verdict.IN_TIME),
        (Kind.BATTLE, 15.0, 0.0, Verdict.FORFEIT),
        (Kind.BATTLE, 15.0, 7.5, Verdict.FORFEIT),
        (Kind.BATTLE, 15.0, 7.6, Verdict.VOID),
        (Kind.BATTLE, 15.0, None, Verdict.VOID),
        (Kind.CHAT, 119.0, 0.0, Verdict.IN_TIME),
        (Kind.CHAT, 120.0, 0.0, Verdict.VOID),
        (Kind.SIDE_BY_SIDE, 120.0, 0.0, Verdict.VOID),
    ],
)
def test_a_model_loses_only_for_its_own_faults(
    kind: Kind, age_s: float, begun_s: float | None, verdict: Verdict
) -> None:
    assert POLICY.verdict(kind, age_s=age_s, begun_s=begun_s) is verdict


def test_verdicts_end_answers() -> None:
    assert [verdict.state for verdict in Verdict] == [AnswerState.DONE, AnswerState.FORFEITED, AnswerState.FAILED]


@given(st.sampled_from(Kind), st.floats(0, 1e6), st.none() | st.floats(0, 1e6))
def test_without_a_deadline_nothing_is_ever_late(kind: Kind, age_s: float, begun_s: float | None) -> None:
    policy = Policy(0.0, 0.0)
    assert policy.verdict(kind, age_s=age_s, begun_s=begun_s) is Verdict.IN_TIME
    assert policy.remaining_s(kind, age_s) is None
    assert policy.budget_s(kind, age_s) is None
    assert not policy.abandons(kind, age_s)


@given(st.floats(0, 100))
def test_an_engines_budget_ends_before_the_deadline(age_s: float) -> None:
    remaining_s, budget_s = POLICY.remaining_s(Kind.BATTLE, age_s), POLICY.budget_s(Kind.BATTLE, age_s)
    assert remaining_s is not None
    assert budget_s is not None
    assert budget_s == max(0.5, remaining_s - 1.5)
    assert POLICY.abandons(Kind.BATTLE, age_s) is (age_s > 18.0)


UNREACHABLE, REJECTED = EngineUnreachable("gone"), EngineRejected("too long")


@pytest.mark.parametrize(
    ("error", "failures", "again", "reruns"),
    [
        (UNREACHABLE, 1, False, True),
        (UNREACHABLE, 2, False, True),
        (UNREACHABLE, 3, False, False),
        (UNREACHABLE, 1, True, True),
        (UNREACHABLE, 2, True, False),
        (EngineTruncated("broke"), 2, False, True),
        (REJECTED, 1, False, True),
        (REJECTED, 2, False, False),
    ],
)
def test_how_often_a_turn_is_tried(error: EngineError, failures: int, *, again: bool, reruns: bool) -> None:
    assert POLICY.reruns(Kind.BATTLE, error, failures=failures, age_s=1.0, again=again) is reruns
    assert not POLICY.reruns(Kind.BATTLE, error, failures=failures, age_s=15.0, again=again)


def test_a_busy_engine_is_asked_less_and_less_often() -> None:
    assert is_backpressure(EngineRejected("429", code=BUSY_CODE))
    assert not is_backpressure(EngineRejected("400"))
    pauses = [POLICY.pause_s(reruns) for reruns in range(8)]
    assert pauses == sorted(pauses)
    assert pauses[-1] < 1.0


def test_a_fifth_of_the_turns_may_be_retried() -> None:
    budget, retried = RetryBudget(floor=0.0, floor_per_s=0.0), 0
    for turn in range(1000):
        budget.began()
        retried += budget.take(turn / 100)
    assert retried == 200


def test_a_few_retries_are_there_in_any_case_and_come_back() -> None:
    budget = RetryBudget(floor=3.0, floor_per_s=1.0)
    assert [budget.take(0.0) for _ in range(5)] == [True, True, True, False, False]
    assert [budget.take(2.0) for _ in range(3)] == [True, True, False]
    assert [budget.take(1_000.0) for _ in range(4)] == [True, True, True, False]


def test_quiet_times_save_up_a_bounded_number() -> None:
    budget = RetryBudget(most=20.0)
    for _ in range(10_000):
        budget.began()
    assert sum(budget.take(0.0) for _ in range(100)) == 20
