"""What to do when an answer fails or takes too long. PURE."""

from dataclasses import dataclass

from agon.core.conversation import Kind

_MAX_FAILURES = 2
_GRACE_S = 3.0
"""How long after its deadline an answer without a runner is given up; the runner's own clock comes first."""
_ENDING_S = 1.5
_LEAST_BUDGET_S = 0.5


@dataclass(frozen=True, slots=True)
class Policy:
    """Deadlines in seconds from the moment the turn was asked; 0 means none."""

    battle_deadline_s: float
    other_deadline_s: float

    def remaining_s(self, kind: Kind, age_s: float) -> float | None:
        """Seconds left for an answer of this age; `None` without a deadline."""
        deadline_s = self._deadline_s(kind)
        return None if deadline_s == 0 else max(0.0, deadline_s - age_s)

    def budget_s(self, kind: Kind, age_s: float) -> float | None:
        """Seconds for an engine that can end its answer in time; a little less than the deadline leaves."""
        remaining_s = self.remaining_s(kind, age_s)
        return None if remaining_s is None else max(_LEAST_BUDGET_S, remaining_s - _ENDING_S)

    def retries(self, failures: int) -> bool:
        """Whether an answer that has failed so often is tried again, on the same model."""
        return failures < _MAX_FAILURES

    def abandons(self, kind: Kind, age_s: float) -> bool:
        """Whether an answer that no runner holds is given up rather than handed to another runner."""
        deadline_s = self._deadline_s(kind)
        return deadline_s > 0 and age_s > deadline_s + _GRACE_S

    def _deadline_s(self, kind: Kind) -> float:
        return self.battle_deadline_s if kind is Kind.BATTLE else self.other_deadline_s
