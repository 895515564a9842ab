"""A fleet of replicas in virtual time. Which replica a turn goes to is asked of a policy, the product's own among them.

A replica writes `places` answers at a time and lets further turns wait in order, as vLLM and llama.cpp do. The more it
writes at once the slower is each.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Fleet:
    speeds: Sequence[float]
    """Tokens a second of a stream that is alone, by replica."""
    places: int
    crowding: float = 0.0
    """With n streams each has 1 / (1 + crowding x (n - 1)) of that speed: 0 never slows down, at 1 they share it."""
    reading: float = 40.0
    """How many times faster a prompt's token is read than an answer's is written."""

    @property
    def tokens_per_s(self) -> float:
        """Of all replicas with all places taken."""
        return sum(self.speeds) * self.places * self.pace(self.places)

    def pace(self, running: int) -> float:
        """Share of its speed that a stream has among so many."""
        return 1 / (1 + self.crowding * (running - 1))

    def turns_per_s(self, turns: "Turns") -> float:
        """The most that it can answer, if no place is ever empty."""
        return self.tokens_per_s / float(np.mean(turns.output + turns.prompt / self.reading))


@dataclass(frozen=True, slots=True)
class Turns:
    """What people ask, in order."""

    at: NDArray[np.float64]
    prompt: NDArray[np.int64]
    output: NDArray[np.int64]
    """How long the answer will be, which no policy knows."""

    def __len__(self) -> int:
        return len(self.at)


def turns_drawn(count: int, *, seed: int, told: bool = True) -> Turns:
    """Heavy-tailed turns at one a second.

    Prompts are log-normal with a median of 40 tokens. An answer is 1.5 times its prompt times a log-normal factor,
    which makes most answers short and some very long, 1,024 at most. Where the prompt tells nothing (`told`), the
    answers are dealt out anew.
    """
    chance = np.random.default_rng(seed)
    at = np.cumsum(chance.exponential(size=count))
    prompt = np.clip(40 * np.exp(chance.normal(size=count)), 4, 2000)
    output = np.clip(1.5 * prompt * np.exp(0.8 * chance.normal(size=count)), 8, 1024)
    if not told:
        output = chance.permutation(output)
    return Turns(at, prompt.astype(np.int64), output.astype(np.int64))


ANY, REFUSED = -1, -2


class Policy(Protocol):
    """Chooses replicas, and is told what becomes of its choices."""

    async def choose(self, turns: Sequence[int]) -> Sequence[int]:
        """A replica for each, or what else becomes of it.

        `ANY` lets it wait in one queue for all, which the first free place takes from; `REFUSED` sends it away.
        """
        ...

    def spoke(self, turn: int, replica: int) -> None: ...

    def ended(self, turn: int, replica: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Course:
    """How a simulation went, by turn; nothing is known of those that were refused."""

    waited_s: NDArray[np.float64]
    """From asking to the first token."""
    took_s: NDArray[np.float64]
    """From asking to the end."""
    replica: NDArray[np.int64]
    """Where it went; `ANY` for all that waited in one queue for all."""
    most_at_once: int


@dataclass(slots=True)
class _Replica:
    speed: float
    running: int = 0
    written: float = 0.0
    """Tokens that each of its streams would have by now, had it been there from the start."""
    at: float = 0.0
    """When that was so."""
    version: int = 0
    marks: list[tuple[float, int, int]] = field(default_factory=list[tuple[float, int, int]])
    """At how many written tokens a turn speaks or ends."""
    queue: deque[int] = field(default_factory=deque[int])


_END, _FIRST = 0, 1


class Simulation:
    """Turns through a fleet.

    `slice_s` is the span of virtual time whose arrivals are chosen for together; `clock[0]` is kept at virtual time.
    """

    def __init__(
        self,
        fleet: Fleet,
        turns: Turns,
        per_s: float,
        policy: Policy,
        *,
        slice_s: float = 0.0,
        clock: list[float] | None = None,
    ) -> None:
        self._speeds = np.array(fleet.speeds)
        self._running = np.zeros(len(fleet.speeds), dtype=np.int64)
        self._shared: deque[int] = deque()
        self._is_shared = False
        self._places = fleet.places
        self._pace = [1.0, *(fleet.pace(running) for running in range(1, fleet.places + 1))]
        self._reading = fleet.reading
        self._at: list[float] = (turns.at / per_s).tolist()
        self._prompt: list[int] = turns.prompt.tolist()
        self._output: list[int] = turns.output.tolist()
        self._policy = policy
        self._slice_s = slice_s
        self._replicas = [_Replica(speed) for speed in fleet.speeds]
        self._events: list[tuple[float, int, int]] = []
        self._clock = [0.0] if clock is None else clock
        self._first = [0.0] * len(turns)
        self._end = [0.0] * len(turns)
        self._chosen = [REFUSED] * len(turns)

    async def run(self) -> Course:
        number, count = 0, len(self._at)
        inside = most = 0
        while number < count:
            self._clock[0] = now = self._at[number]
            inside -= self._pass_time(now)
            until = number + 1
            while until < count and self._at[until] <= now + self._slice_s:
                until += 1
            batch = range(number, until)
            for turn, replica in zip(batch, await self._policy.choose(batch), strict=True):
                if replica == REFUSED:
                    self._first[turn] = self._end[turn] = float("nan")
                    continue
                self._chosen[turn] = replica
                self._arrive(turn, replica)
                inside += 1
            most = max(most, inside)
            number = until
        self._pass_time(float("inf"))
        at = np.array(self._at)
        return Course(np.array(self._first) - at, np.array(self._end) - at, np.array(self._chosen), most)

    def _pass_time(self, until: float) -> int:
        """Let happen what happens until then; returns how many turns ended."""
        ended = 0
        while self._events and self._events[0][0] <= until:
            now, number, version = heapq.heappop(self._events)
            replica = self._replicas[number]
            if version != replica.version:
                continue
            self._catch_up(replica, now)
            _, kind, turn = heapq.heappop(replica.marks)
            if kind == _FIRST:
                self._first[turn] = now
                self._policy.spoke(turn, number)
            else:
                ended += 1
                self._end[turn] = now
                self._policy.ended(turn, number)
                self._leave(replica, number)
            self._foresee(replica, number)
        return ended

    def _arrive(self, turn: int, number: int) -> None:
        if number == ANY:
            number = self._emptiest()
        replica = self._replicas[number]
        if replica.running == self._places:
            (self._shared if self._is_shared else replica.queue).append(turn)
            return
        self._catch_up(replica, max(replica.at, self._at[turn]))
        self._begin(replica, number, turn)
        self._foresee(replica, number)

    def _emptiest(self) -> int:
        """Where a stream would be fastest; one that is full comes last."""
        self._is_shared = True
        return int(np.argmin((self._running + 1) / self._speeds + 1e9 * (self._running == self._places)))

    def _leave(self, replica: _Replica, number: int) -> None:
        replica.running -= 1
        self._running[number] -= 1
        if queue := replica.queue or self._shared:
            self._begin(replica, number, queue.popleft())

    def _catch_up(self, replica: _Replica, now: float) -> None:
        replica.written += (now - replica.at) * replica.speed * self._pace[replica.running]
        replica.at = now

    def _begin(self, replica: _Replica, number: int, turn: int) -> None:
        replica.running += 1
        self._running[number] += 1
        first = replica.written + self._prompt[turn] / self._reading + 1
        heapq.heappush(replica.marks, (first, _FIRST, turn))
        heapq.heappush(replica.marks, (first + self._output[turn] - 1, _END, turn))

    def _foresee(self, replica: _Replica, number: int) -> None:
        """Note when the replica's next mark is reached, unless its streams change before."""
        replica.version += 1
        if replica.marks:
            left = replica.marks[0][0] - replica.written
            at = replica.at + left / (replica.speed * self._pace[replica.running])
            heapq.heappush(self._events, (at, number, replica.version))
