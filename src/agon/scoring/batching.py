"""When a batch is run and what goes into it. PURE: time is passed in, in seconds of any one clock.

Calls wait with so many samples each. A batch takes evenly from all of them; without room for all, from those
who had their last turn longest ago: a small call never waits behind the whole of a large one, nor that one for ever.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class BatchRules:
    max_batch: int = 256
    """Samples run at once, at most."""
    max_wait_s: float = 0.005
    """How long a sample waits for others to come; a full batch is run at once."""
    failures: int = 3
    """Batches in a row that failed though each of their samples succeeded by itself: then samples are run singly."""
    singly_s: float = 10.0
    """For how long, before a batch is tried again."""


@dataclass(slots=True)
class Call:
    """Samples that somebody waits for."""

    number: int
    left: int
    """Samples that no batch has taken yet."""
    since_s: float
    deadline_s: float | None = None
    turn: int = 0
    """The batch that took from it last, or before which it came."""


@dataclass(frozen=True, slots=True)
class Taking:
    call: int
    samples: int
    """Of this call, the next ones."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now."""

    batch: tuple[Taking, ...] = ()
    refused: tuple[int, ...] = ()
    """Calls that would miss their deadlines; they have left the line."""
    look_again_s: float | None = None
    """When to decide again, if nothing happens before; `None` with nothing to wait for, or with a batch to run."""

    @property
    def samples(self) -> int:
        return sum(taking.samples for taking in self.batch)


class Cost:
    """How long a batch takes: a · n + b, fitted to the batches that were run, the latest counting most."""

    _KEPT = 0.95

    def __init__(self) -> None:
        self._weight = self._n = self._nn = self._t = self._nt = 0.0

    def ran(self, samples: int, seconds: float) -> None:
        kept = self._KEPT
        self._weight = self._weight * kept + 1.0
        self._n = self._n * kept + samples
        self._nn = self._nn * kept + samples * samples
        self._t = self._t * kept + seconds
        self._nt = self._nt * kept + samples * seconds

    def of(self, samples: int) -> float:
        """Expected seconds; 0 as long as nothing has been run."""
        if not self._weight:
            return 0.0
        n, t = self._n / self._weight, self._t / self._weight
        spread = self._nn / self._weight - n * n
        if spread <= 1e-9 * n * n:
            # All were of one size: larger ones take longer in proportion, smaller ones perhaps as long.
            return t * max(1.0, samples / n)
        a = max(0.0, (self._nt / self._weight - n * t) / spread)
        b = t - a * n
        return a * samples + b if b >= 0.0 else t * samples / n


class Line:
    """Calls that wait."""

    def __init__(self, rules: BatchRules, cost: Cost) -> None:
        self._rules = rules
        self._cost = cost
        self._calls: dict[int, Call] = {}
        self._turn = 0

    def __len__(self) -> int:
        """Samples that wait."""
        return sum(call.left for call in self._calls.values())

    def add(self, call: Call, *, now_s: float, free_s: float) -> bool:
        """Have a call wait; False, and it does not, where it would miss its deadline. Batches begin from `free_s`."""
        if call.deadline_s is not None:
            ahead = len(self)
            whole, rest = divmod(ahead + call.left, self._rules.max_batch)
            needs_s = whole * self._cost.of(self._rules.max_batch) + (self._cost.of(rest) if rest else 0.0)
            if max(now_s, free_s) + needs_s > call.deadline_s:
                return False
        if call.left:
            call.turn = self._turn
            self._calls[call.number] = call
        return True

    def leave(self, number: int) -> None:
        """Nobody waits for this call any more."""
        self._calls.pop(number, None)

    def decide(self, now_s: float, *, most: int) -> Decision:
        """What a free engine is to do; a batch of at most `most` samples, where there is one, has left the line."""
        refused = tuple(call.number for call in self._calls.values() if self._misses(call, now_s))
        for number in refused:
            self.leave(number)
        if not self._calls:
            return Decision(refused=refused)
        most = min(most, self._rules.max_batch)
        begin_s = self._begin_s(min(most, len(self)))
        if len(self) < most and now_s < begin_s:
            return Decision(refused=refused, look_again_s=begin_s)
        return Decision(self._take(now_s, most), refused)

    def _misses(self, call: Call, now_s: float) -> bool:
        return call.deadline_s is not None and now_s + self._cost.of(1) > call.deadline_s

    def _begin_s(self, samples: int) -> float:
        """When the first has waited long enough, or has to go to be in time."""
        waited = min(call.since_s for call in self._calls.values()) + self._rules.max_wait_s
        deadlines = [call.deadline_s for call in self._calls.values() if call.deadline_s is not None]
        return min([waited, *(deadline - self._cost.of(samples) for deadline in deadlines)])

    def _take(self, now_s: float, most: int) -> tuple[Taking, ...]:
        counts = self._shares(self._in_time(now_s, min(most, len(self))))
        self._turn += 1
        for number, count in counts.items():
            call = self._calls[number]
            call.left, call.turn = call.left - count, self._turn
            if not call.left:
                del self._calls[number]
        return tuple(Taking(number, count) for number, count in counts.items())

    def _in_time(self, now_s: float, most: int) -> int:
        """The largest batch that keeps the deadlines of those in it; one sample in any case."""
        low, high = 1, most
        while low < high:
            middle = (low + high + 1) // 2
            done_s = now_s + self._cost.of(middle)
            deadlines = (self._calls[number].deadline_s for number in self._shares(middle))
            late = any(deadline is not None and done_s > deadline for deadline in deadlines)
            low, high = (low, middle - 1) if late else (middle, high)
        return low

    def _shares(self, samples: int) -> dict[int, int]:
        """So many samples, taken evenly."""
        counts: dict[int, int] = {}
        turns = sorted(self._calls.values(), key=lambda call: (call.turn, call.since_s, call.number))
        calls = sorted(turns[:samples], key=lambda call: call.left)
        for place, call in enumerate(calls):
            # From the smallest on, each gets an even share of what is left; what it does not need the others get.
            counts[call.number] = min(call.left, -(-samples // (len(calls) - place)))
            samples -= counts[call.number]
        return counts


class Mode(StrEnum):
    BATCHES = "batches"
    SINGLY = "singly"
    TRIAL = "trial"
    """Singly until now; the next batch shows whether batches work again."""


class BatchBreaker:
    """Gives up batches where they fail and their samples do not."""

    def __init__(self, rules: BatchRules) -> None:
        self._rules = rules
        self._failures = 0
        self._until_s: float | None = None

    def mode(self, now_s: float) -> Mode:
        if self._until_s is None:
            return Mode.BATCHES
        return Mode.SINGLY if now_s < self._until_s else Mode.TRIAL

    def most(self, now_s: float) -> int:
        """Samples that may be run at once."""
        return 1 if self.mode(now_s) is Mode.SINGLY else self._rules.max_batch

    def worked(self) -> None:
        """A batch of several samples was run."""
        self._failures = 0
        self._until_s = None

    def failed(self, now_s: float) -> None:
        """A batch failed, and each of its samples succeeded by itself."""
        self._failures += 1
        if self._failures >= self._rules.failures or self._until_s is not None:
            self._until_s = now_s + self._rules.singly_s
