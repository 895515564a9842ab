"""When a process that ended is started again. Pure."""

from dataclasses import dataclass

FIRST_DELAY_S = 0.2
MAX_DELAY_S = 5.0
STEADY_S = 30.0
"""One that ran this long has earned a fresh start: its next end counts as its first."""
MAX_FAILURES_BEFORE_READY = 4
"""Until the arena was ready once, a process that keeps ending is told to the person who waits, not tried for ever."""
EXIT_BAD_CONFIGURATION = 78
"""`EX_CONFIG` of sysexits, with which our commands end; a process that says so is not started again."""


@dataclass(frozen=True, slots=True)
class Restart:
    delay_s: float
    failures: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    exit_code: int


def after_end(*, exit_code: int, lived_s: float, failures: int, was_ready: bool) -> Restart | GiveUp:
    """What to do about a process that ended, having ended `failures` times in a row before; `was_ready`: the arena."""
    if exit_code == EXIT_BAD_CONFIGURATION:
        return GiveUp(exit_code)
    count = 1 if lived_s >= STEADY_S else failures + 1
    if not was_ready and count >= MAX_FAILURES_BEFORE_READY:
        return GiveUp(1)
    return Restart(min(MAX_DELAY_S, FIRST_DELAY_S * 2.0 ** (count - 1)), count)
