"""What one executor holds, and what it says of it in its beats. PURE."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from agon.core.placement import AnswerRef, Beat, Placement, ReplicaReport

_TAIL = 0.25
"""Lengths of answers are heavy-tailed: the more of one is written, the more of it is still to come."""


@dataclass(slots=True)
class _Held:
    replica: str
    prompt: int
    estimate: int
    most: int | None = None
    written: int = 0
    spoke_s: float | None = None
    """Since when its writing has not been accounted for; `None` before the first token."""

    @property
    def remaining(self) -> int:
        expected = max(self.estimate - self.written, round(_TAIL * self.written), 1)
        return expected if self.most is None else max(0, min(expected, self.most - self.written))


@dataclass(slots=True)
class _Measure:
    tokens: int = 0
    stream_s: float = 0.0


class Holdings:
    """The turns that one executor holds, with what remains of each, and what its replicas have written.

    Every change may be told twice; a turn that is not held is ignored. Time is passed in, from a monotonic clock.
    """

    def __init__(self) -> None:
        self._held: dict[AnswerRef, _Held] = {}
        self._measures: dict[str, _Measure] = {}

    def __contains__(self, ref: object) -> bool:
        return ref in self._held

    def __len__(self) -> int:
        return len(self._held)

    @property
    def refs(self) -> tuple[AnswerRef, ...]:
        return tuple(self._held)

    def turns_on(self, replica: str) -> int:
        """How many turns are held on a replica."""
        return sum(held.replica == replica for held in self._held.values())

    def tokens_on(self, replica: str) -> int:
        """Tokens that remain of what is held on a replica."""
        return sum(held.prompt + held.remaining for held in self._held.values() if held.replica == replica)

    def add(self, placement: Placement) -> None:
        """Hold a turn from now on. One that was held on another replica starts anew on this one."""
        job = placement.job
        before = self._held.get(job.ref)
        if before is None or before.replica != placement.replica:
            cached = job.cost.cached if placement.holds_prefix else 0
            self._held[job.ref] = _Held(placement.replica, max(0, job.cost.prompt - cached), job.cost.output)

    def bound(self, ref: AnswerRef, max_tokens: int) -> None:
        """An answer can be no longer than this."""
        held = self._held.get(ref)
        if held is not None:
            held.most = max_tokens

    def spoke(self, ref: AnswerRef, now_s: float) -> None:
        """The first token is there: the prompt is read."""
        held = self._held.get(ref)
        if held is not None and held.spoke_s is None:
            held.prompt = 0
            held.spoke_s = now_s

    def wrote(self, ref: AnswerRef, tokens: int) -> None:
        held = self._held.get(ref)
        if held is not None:
            held.written += tokens
            self._measure(held.replica).tokens += tokens

    def ended(self, ref: AnswerRef, now_s: float) -> None:
        """The turn is over here, however it ended."""
        held = self._held.pop(ref, None)
        if held is not None:
            self._account(held, now_s)

    def beat(self, replicas: Iterable[ReplicaReport], now_s: float) -> Beat:
        """State what is held now, and put into the reports what was written since the last beat."""
        for held in self._held.values():
            self._account(held, now_s)
        reports = tuple(self._measured(report) for report in replicas)
        self._measures.clear()
        return Beat(reports, {ref: (held.replica, held.prompt, held.remaining) for ref, held in self._held.items()})

    def _account(self, held: _Held, now_s: float) -> None:
        if held.spoke_s is not None:
            self._measure(held.replica).stream_s += max(0.0, now_s - held.spoke_s)
            held.spoke_s = now_s

    def _measure(self, replica: str) -> _Measure:
        return self._measures.setdefault(replica, _Measure())

    def _measured(self, report: ReplicaReport) -> ReplicaReport:
        measure = self._measures.get(report.id)
        if measure is None:
            return report
        return replace(report, tokens=measure.tokens, stream_s=measure.stream_s)
