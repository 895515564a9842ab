"""What to do when an answer fails or takes too long. PURE."""

from dataclasses import dataclass
from enum import StrEnum

from agon.core.conversation import AnswerState, Kind
from agon.core.errors import EngineError, EngineRejected
from agon.core.generation import BUSY_CODE, EMPTY_CODE

_MAX_FAILURES = 3
_MAX_REJECTIONS = 2
"""A request that an engine does not like is seldom liked by the next."""
_GRACE_S = 3.0
"""How long after its deadline an answer without a runner is given up; the runner's own clock comes first."""
_ENDING_S = 1.5
_LEAST_BUDGET_S = 0.5
_OURS = 0.5
"""Share of the deadline that the arena may use up before a late answer is its own fault."""
_FAULTS_OF_REQUESTS = {EngineRejected.default_code, "engine_context_full", "engine_filtered"}
_SILENCE = 0.25
"""Share of the deadline that an engine may be silent in the midst of an answer that another one can go on with."""
_BUSY_PAUSES_S = (0.1, 0.2, 0.4, 0.8)
"""Between two tries of a turn that was turned away because an engine was busy."""


class Verdict(StrEnum):
    """Whose fault it is that an answer is late."""

    IN_TIME = "in_time"
    FORFEIT = "forfeit"
    """The model had its chance: the side has lost."""
    VOID = "void"
    """The arena kept it waiting, or nothing is at stake: the answer has failed."""

    @property
    def state(self) -> AnswerState:
        """How the answer ends."""
        match self:
            case Verdict.IN_TIME:
                return AnswerState.DONE
            case Verdict.FORFEIT:
                return AnswerState.FORFEITED
            case Verdict.VOID:
                return AnswerState.FAILED


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

    def verdict(self, kind: Kind, *, age_s: float, begun_s: float | None) -> Verdict:
        """Judge an answer of this age that is not complete; `begun_s` is the age at which its engine could begin."""
        deadline_s = self._deadline_s(kind)
        if deadline_s == 0 or age_s < deadline_s:
            return Verdict.IN_TIME
        return self.late(kind, begun_s=begun_s)

    def late(self, kind: Kind, *, begun_s: float | None) -> Verdict:
        """Judge an answer whose deadline has passed; without `begun_s` no engine could begin."""
        had_its_chance = begun_s is not None and begun_s <= _OURS * self._deadline_s(kind)
        return Verdict.FORFEIT if kind is Kind.BATTLE and had_its_chance else Verdict.VOID

    def reruns(self, kind: Kind, error: EngineError, *, failures: int, age_s: float, again: bool) -> bool:
        """Whether an answer that has now failed so often is tried once more, on another replica if there is one.

        `again` says that it failed on a replica that was to be avoided: there is no other.
        """
        most = _MAX_REJECTIONS if again or isinstance(error, EngineRejected) else _MAX_FAILURES
        return failures < most and self.verdict(kind, age_s=age_s, begun_s=None) is Verdict.IN_TIME

    def silence_s(self, kind: Kind) -> float | None:
        """Seconds of silence in the midst of an answer after which its engine is taken to hang; `None` for no limit."""
        return _SILENCE * self.battle_deadline_s if kind is Kind.BATTLE and self.battle_deadline_s else None

    def pause_s(self, reruns: int) -> float:
        """Seconds before a turn that an engine was too busy for is tried again, by how often it was already."""
        return _BUSY_PAUSES_S[min(reruns, len(_BUSY_PAUSES_S) - 1)]

    def abandons(self, kind: Kind, age_s: float) -> bool:
        """Whether an answer that no runner holds is given up rather than handed to another runner."""
        deadline_s = self._deadline_s(kind)
        return deadline_s > 0 and age_s > deadline_s + _GRACE_S

    def _deadline_s(self, kind: Kind) -> float:
        return self.battle_deadline_s if kind is Kind.BATTLE else self.other_deadline_s


def is_backpressure(error: EngineError) -> bool:
    """Whether an engine is in order and only has too much to do."""
    return error.code == BUSY_CODE


def blames_request(error: EngineError, *, ours: bool) -> bool:
    """Whether an engine is in order and finds fault with what it was asked, which anybody can bring about.

    Also an answer without a word can be asked for, unless the request is `ours`.
    """
    return error.code in _FAULTS_OF_REQUESTS or (error.code == EMPTY_CODE and not ours)
