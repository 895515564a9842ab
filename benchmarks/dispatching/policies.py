"""Who chooses replicas in the simulated fleet: plain ways, one queue for all, and the product's own scripts."""

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Self
from uuid import UUID

from benchmarks.dispatching.fleet import ANY, REFUSED, Fleet, Turns

from agon.core.contestants import EngineState
from agon.core.conversation import Side
from agon.core.errors import Busy
from agon.core.placement import Admission, AnswerRef, Beat, Cost, Job, ReplicaReport
from agon.dispatch.costs import turn_cost
from agon.stores.redis.dispatch import RedisDispatch

CONTESTANT = "model"
MOST_TOKENS = 1024
_EVER_S = 1e6
_PER_RUNNER = 100
"""Replicas that one executor reports."""
_MEASURED_S = 10_000.0
"""Seconds of writing behind a replica's speed: so many that it is taken as it is."""


_TOLD_AT_ONCE = 200


def batches(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


class _Plain:
    """Tells nobody."""

    def spoke(self, turn: int, replica: int) -> None: ...

    def ended(self, turn: int, replica: int) -> None: ...


class RoundRobin(_Plain):
    def __init__(self, fleet: Fleet) -> None:
        self._count = len(fleet.speeds)
        self._next = 0

    async def choose(self, turns: Sequence[int]) -> Sequence[int]:
        chosen = [(self._next + place) % self._count for place in range(len(turns))]
        self._next = (self._next + len(turns)) % self._count
        return chosen


class FewestTurns(_Plain):
    """By the number of turns there, exactly; ties at random."""

    def __init__(self, fleet: Fleet, *, seed: int) -> None:
        self._chance = random.Random(seed)
        self._turns = [0] * len(fleet.speeds)
        self._with: list[set[int]] = [set(range(len(fleet.speeds)))]
        self._least = 0

    async def choose(self, turns: Sequence[int]) -> Sequence[int]:
        return [self._choose() for _ in turns]

    def ended(self, turn: int, replica: int) -> None:
        self._move(replica, -1)

    def _choose(self) -> int:
        while not self._with[self._least]:
            self._least += 1
        # A set's first element is far from random, but nobody has sorted these either.
        replica = next(iter(self._with[self._least]))
        if len(self._turns) <= 1000:
            replica = self._chance.choice(sorted(self._with[self._least]))
        self._move(replica, 1)
        return replica

    def _move(self, replica: int, by: int) -> None:
        count = self._turns[replica]
        self._turns[replica] = count + by
        self._with[count].discard(replica)
        if count + by == len(self._with):
            self._with.append(set())
        self._with[count + by].add(replica)
        self._least = min(self._least, count + by)


class OneQueue(_Plain):
    """The ideal that no gateway can have: turns wait together, and the first place that is free takes the next."""

    async def choose(self, turns: Sequence[int]) -> Sequence[int]:
        return [ANY] * len(turns)


class Dispatched:
    """The product's scripts on a real Valkey, as several gateways call them. Use it as an async context manager."""

    def __init__(
        self,
        url: str,
        fleet: Fleet,
        turns: Turns,
        *,
        prefix: str,
        gateways: int = 4,
        admission: Admission | None = None,
        clock_s: Callable[[], float] | None = None,
    ) -> None:
        self._url, self._prefix = url, prefix
        self._fleet, self._turns = fleet, turns
        self._count = gateways
        self._admission, self._clock_s = admission, clock_s
        self._numbers = {_name(number): number for number in range(len(fleet.speeds))}
        self._spoken: list[list[AnswerRef]] = [[] for _ in range(gateways)]
        self._over: list[list[AnswerRef]] = [[] for _ in range(gateways)]
        self._wrote: list[dict[AnswerRef, int]] = [{} for _ in range(gateways)]
        self._refs: dict[int, AnswerRef] = {}
        self._exits = AsyncExitStack()
        self._gateways: list[RedisDispatch] = []

    async def __aenter__(self) -> Self:
        for start in range(0, len(self._fleet.speeds), _PER_RUNNER):
            runner = self._dispatch(f"runner-{start}")
            reports = [self._report(n) for n in range(start, min(start + _PER_RUNNER, len(self._fleet.speeds)))]
            await runner.beat(Beat(tuple(reports)))
        self._gateways = [self._dispatch(f"gateway-{number}") for number in range(self._count)]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    async def choose(self, turns: Sequence[int]) -> Sequence[int]:
        answers = await asyncio.gather(*self._told(), *(self._reserve(turn) for turn in turns))
        return answers[-len(turns) :]

    async def _reserve(self, turn: int) -> int:
        client = None if self._admission is None else "a client"
        try:
            (placement,) = await self._gateways[turn % self._count].reserve([self._job(turn)], client=client)
        except Busy:
            del self._refs[turn]
            return REFUSED
        return self._numbers[placement.replica]

    def spoke(self, turn: int, replica: int) -> None:
        self._spoken[turn % self._count].append(self._refs[turn])

    def ended(self, turn: int, replica: int) -> None:
        ref = self._refs.pop(turn)
        self._over[turn % self._count].append(ref)
        self._wrote[turn % self._count][ref] = int(self._turns.output[turn])

    async def settle(self) -> None:
        """Tell what is over by now."""
        for call in self._told():
            await call

    def _told(self) -> list[Any]:
        calls: list[Any] = []
        for number, gateway in enumerate(self._gateways):
            calls += [gateway.speak(some) for some in batches(self._spoken[number], _TOLD_AT_ONCE)]
            over, wrote = self._over[number], self._wrote[number]
            calls += [gateway.release(some, wrote=wrote) for some in batches(over, _TOLD_AT_ONCE)]
            self._spoken[number], self._over[number], self._wrote[number] = [], [], {}
        return calls

    def _job(self, turn: int) -> Job:
        ref = AnswerRef(UUID(int=turn), 1, Side.A, CONTESTANT)
        self._refs[turn] = ref
        return Job(ref, cost_of(int(self._turns.prompt[turn])))

    def _dispatch(self, executor: str) -> RedisDispatch:
        dispatch = RedisDispatch(
            self._url,
            prefix=self._prefix,
            executor=executor,
            admission=self._admission,
            alive_s=_EVER_S,
            clock_s=self._clock_s,
        )
        self._exits.push_async_callback(dispatch.close)
        return dispatch

    def _report(self, number: int) -> ReplicaReport:
        fleet = self._fleet
        speed = fleet.speeds[number] * fleet.pace(fleet.places)
        return ReplicaReport(
            id=_name(number),
            contestant=CONTESTANT,
            state=EngineState.READY,
            capacity=fleet.places,
            tokens=int(speed * _MEASURED_S),
            stream_s=_MEASURED_S,
        )


def _name(number: int) -> str:
    return f"{CONTESTANT}@http://replica-{number}:8000/v1"


def cost_of(prompt_tokens: int) -> Cost:
    """What the product takes a prompt of so many tokens to cost."""
    return turn_cost("word" * prompt_tokens, MOST_TOKENS)
