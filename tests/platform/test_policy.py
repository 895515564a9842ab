"""When a process that ended is started again."""

import pytest

from agon.supervisor.policy import (
    EXIT_BAD_CONFIGURATION,
    MAX_DELAY_S,
    MAX_FAILURES_BEFORE_READY,
    STEADY_S,
    GiveUp,
    Restart,
    after_end,
)


def test_the_wait_doubles_up_to_a_bound() -> None:
    delays: list[float] = []
    failures = 0
    for _ in range(8):
        verdict = after_end(exit_code=1, lived_s=0.1, failures=failures, was_ready=True)
        assert isinstance(verdict, Restart)
        failures = verdict.failures
        delays.append(verdict.delay_s)
    assert delays == [0.2, 0.4, 0.8, 1.6, 3.2, MAX_DELAY_S, MAX_DELAY_S, MAX_DELAY_S]


def test_one_that_ran_steadily_starts_again_at_once() -> None:
    assert after_end(exit_code=-9, lived_s=STEADY_S, failures=7, was_ready=True) == Restart(0.2, 1)


def test_before_the_arena_was_ever_ready_it_gives_up_after_a_few() -> None:
    last = MAX_FAILURES_BEFORE_READY - 1
    assert isinstance(after_end(exit_code=1, lived_s=0.1, failures=last - 1, was_ready=False), Restart)
    assert after_end(exit_code=1, lived_s=0.1, failures=last, was_ready=False) == GiveUp(1)


@pytest.mark.parametrize("was_ready", [True, False])
def test_a_bad_configuration_is_never_tried_again(*, was_ready: bool) -> None:
    verdict = after_end(exit_code=EXIT_BAD_CONFIGURATION, lived_s=100, failures=0, was_ready=was_ready)
    assert verdict == GiveUp(EXIT_BAD_CONFIGURATION)
