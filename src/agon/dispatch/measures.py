"""What a runner can be measured by, without saying what measures it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agon.core.conversation import AnswerState
from agon.core.generation import Finish
from agon.core.placement import ReplicaReport
from agon.dispatch.breaker import BreakerState


class Cause(StrEnum):
    """Why a turn is given to another replica."""

    FAILED = "failed"
    """Its engine failed."""
    BUSY = "busy"
    """Its engine had too much to do."""
    MOVED = "moved"
    """Its replica went down, or its runner leaves."""
    RUNNER_DIED = "runner_died"
    LOST = "lost"
    """Nobody held it: the bus had lost it."""


@dataclass(frozen=True, slots=True)
class ReplicaFigures:
    """A replica as this runner sees it."""

    report: ReplicaReport
    breaker: BreakerState
    waiting: int
    """Turns here that wait for a place."""
    outstanding_tokens: int
    """Of the turns that are held here."""


class Measures(Protocol):
    """Takes figures. Contestants and replicas are those of the configuration, so their number is bounded."""

    def began(self, contestant: str, *, waited_s: float) -> None:
        """An engine was given a turn that was asked so long ago."""
        ...

    def spoke(self, contestant: str, *, after_s: float) -> None:
        """An answer's first token came so long after it was asked for."""
        ...

    def ended(self, contestant: str, state: AnswerState, *, gap_s: float | None = None) -> None:
        """An answer is over; `gap_s` is the mean time between two of its tokens."""
        ...

    def finished(self, contestant: str, finish: Finish) -> None:
        """What an engine told of an answer that it completed."""
        ...

    def retried(self, cause: Cause) -> None: ...

    def cancelled(self, contestant: str) -> None:
        """A generation was ended early."""
        ...

    def stated(self, figures: Sequence[ReplicaFigures]) -> None:
        """All replicas there are now."""
        ...
