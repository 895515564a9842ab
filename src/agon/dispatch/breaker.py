"""When a replica has failed too often to be given more. PURE: time and chance are passed in."""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """Bounds of failures, and how long they cost a replica its turns."""

    consecutive: int = 5
    window_s: float = 30.0
    window_least: int = 5
    """Ends of turns below which no share of the window counts."""
    window_share: float = 0.5
    ejection_s: float = 5.0
    """Of the first ejection; the second takes twice as long, the third three times."""
    ejection_max_s: float = 60.0
    jitter: float = 0.2
    """Share by which an ejection may be longer, so that not all runners probe at the same moment."""
    forgiven_s: float = 60.0
    """In order for so long, a replica begins anew with its first ejection."""


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    """Ejected: it gets turns only where there is no other replica."""
    HALF_OPEN = "half_open"
    """Ejected, and its one probe is under way."""


_MOST_ENDS = 256


class Breaker:
    """Counts how one replica's turns end. Backpressure is no failure and is not told here."""

    def __init__(self, rules: BreakerRules | None = None) -> None:
        self._rules = rules or BreakerRules()
        self._state = BreakerState.CLOSED
        self._failures = 0
        self._ends: deque[tuple[float, bool]] = deque(maxlen=_MOST_ENDS)
        self._ejections = 0
        self._until_s = 0.0
        self._closed_s = 0.0

    @property
    def state(self) -> BreakerState:
        return self._state

    @property
    def closed(self) -> bool:
        return self._state is BreakerState.CLOSED

    def succeeded(self, now_s: float) -> None:
        self._failures = 0
        self._ends.append((now_s, True))

    def failed(self, now_s: float, chance: float) -> bool:
        """Count a failure; `chance` lies in [0, 1). Returns whether it ejects the replica."""
        self._failures += 1
        self._ends.append((now_s, False))
        if not self.closed or not self._too_many(now_s):
            return False
        self._eject(now_s, chance)
        return True

    def begin_probe(self, now_s: float) -> bool:
        """Whether the caller is to probe the replica now, and has to tell how it went; no one else is until then."""
        if self._state is not BreakerState.OPEN or now_s < self._until_s:
            return False
        self._state = BreakerState.HALF_OPEN
        return True

    def remaining_s(self, now_s: float) -> float:
        """Seconds until a probe is due."""
        return max(0.0, self._until_s - now_s)

    def close(self, now_s: float) -> None:
        """The replica was proved to work."""
        if not self.closed:
            self._closed_s = now_s
        self._state = BreakerState.CLOSED
        self._failures = 0
        self._ends.clear()

    def _too_many(self, now_s: float) -> bool:
        rules = self._rules
        if self._failures >= rules.consecutive:
            return True
        while self._ends and self._ends[0][0] < now_s - rules.window_s:
            self._ends.popleft()
        failures = sum(not good for _, good in self._ends)
        return len(self._ends) >= rules.window_least and failures > rules.window_share * len(self._ends)

    def _eject(self, now_s: float, chance: float) -> None:
        rules = self._rules
        if now_s - self._closed_s > rules.forgiven_s:
            self._ejections = 0
        self._ejections += 1
        ejection_s = min(rules.ejection_max_s, rules.ejection_s * self._ejections)
        self._until_s = now_s + ejection_s * (1 + rules.jitter * chance)
        self._state = BreakerState.OPEN
