"""Part `scale`: what dispatch costs Valkey by the size of the fleet, and a fleet of 10,000 replicas in virtual time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from benchmarks.dispatching.fleet import Course, Fleet, Policy, Simulation, Turns, turns_drawn
from benchmarks.dispatching.policies import CONTESTANT, Dispatched, FewestTurns, OneQueue, RoundRobin, batches, cost_of
from benchmarks.harness.report import console
from benchmarks.harness.statistics import Claim, Fact

from agon.core.contestants import EngineState
from agon.core.conversation import Side
from agon.core.placement import AnswerRef, Beat, Job, Placement, ReplicaReport
from agon.stores.redis.client import connect
from agon.stores.redis.dispatch import RedisDispatch

SIZES = (10, 1000, 10_000)
CALLS = 3000
HELD = 2000
_AT_ONCE = 100
_EVER_S = 1e6
_FIRST = 1 << 100
"""Turns of this part have names of their own."""


class Meter:
    """Valkey's own account of what it did."""

    def __init__(self, url: str) -> None:
        self._client: Any = connect(url)

    async def close(self) -> None:
        await self._client.aclose()

    async def spent_us(self, work: Callable[[], Awaitable[object]]) -> float:
        """Microseconds that Valkey spends on scripts while `work` is done."""
        await self._client.config_resetstat()
        await work()
        stats: Mapping[str, Mapping[str, float]] = await self._client.info("commandstats")
        return sum(each["usec"] for name, each in stats.items() if name.startswith("cmdstat_eval"))

    async def most_memory_bytes(self) -> int:
        found: Mapping[str, int] = await self._client.info("memory")
        return found["used_memory_peak"]


async def costs(url: str) -> list[Fact]:
    """Microseconds of Valkey for each call, by the number of replicas of one contestant."""
    facts: list[Fact] = []
    for size in SIZES:
        fleet = Fleet([50.0] * size, 8)
        turns = turns_drawn(2 * size, seed=1)
        async with Dispatched(url, fleet, turns, prefix=f"size {size}") as crowd:
            # Everybody has something to do already.
            for start in range(0, len(turns), _AT_ONCE):
                await crowd.choose(range(start, min(start + _AT_ONCE, len(turns))))
            found = await _calls(url, f"size {size}")
        shown = ", ".join(f"{name} {us:.0f}" for name, us in found.items())
        console.print(f"  {size:,} replicas: {shown} µs")
        facts += [Fact(f"{size:,} replicas: Valkey's time for {name}", us, "µs") for name, us in found.items()]
    return facts


async def _calls(url: str, prefix: str) -> dict[str, float]:
    meter = Meter(url)
    gateway = RedisDispatch(url, prefix=prefix, executor="measured gateway", alive_s=_EVER_S)
    runner = RedisDispatch(url, prefix=prefix, executor="runner-0", alive_s=_EVER_S)
    jobs = [_job(number) for number in range(CALLS)]
    refs = [job.ref for job in jobs]
    placed: list[Placement] = []

    async def reserve() -> None:
        placed.extend(await _reserved(gateway, jobs))

    async def each(call: Callable[[Sequence[AnswerRef]], Awaitable[object]]) -> None:
        for some in batches(refs, _AT_ONCE):
            await asyncio.gather(*(call([ref]) for ref in some))

    try:
        found = {"reserve": await meter.spent_us(reserve) / CALLS}
        held = {each.job.ref: (each.replica, each.job.cost.prompt, each.job.cost.output) for each in placed[:HELD]}
        found["a beat, for each turn held"] = await _per_held(meter, gateway, held)
        found["speak"] = await meter.spent_us(lambda: each(gateway.speak)) / CALLS
        found["release"] = await meter.spent_us(lambda: each(gateway.release)) / CALLS
        found |= await _through_a_runner(meter, gateway, runner)
        reports = [_report(number) for number in range(min(100, int(prefix.rpartition(" ")[2])))]
        beat = Beat(tuple(reports))
        await runner.beat(beat)
        found["a beat, for each replica"] = await meter.spent_us(lambda: runner.beat(beat)) / len(reports)
    finally:
        for each_ in (meter, gateway, runner):
            await each_.close()
    return found


async def _reserved(gateway: RedisDispatch, jobs: Sequence[Job]) -> list[Placement]:
    placed: list[Placement] = []
    for some in batches(jobs, _AT_ONCE):
        placed += [each[0] for each in await asyncio.gather(*(gateway.reserve([job]) for job in some))]
    return placed


async def _per_held(meter: Meter, gateway: RedisDispatch, held: Mapping[AnswerRef, tuple[str, int, int]]) -> float:
    beat = Beat(held=held)
    await gateway.beat(beat)
    return await meter.spent_us(lambda: gateway.beat(beat)) / len(held)


async def _through_a_runner(meter: Meter, gateway: RedisDispatch, runner: RedisDispatch) -> dict[str, float]:
    """`send` and `take`, at the one runner whose inbox is read here."""
    jobs = [_job(CALLS + number) for number in range(CALLS)]
    placed = [
        each[0]
        for some in batches(jobs, _AT_ONCE)
        for each in await asyncio.gather(*(gateway.reserve([j]) for j in some))
    ]

    async def send() -> None:
        for some in batches(placed, _AT_ONCE):
            await asyncio.gather(*(gateway.send([each]) for each in some))

    sent_us = await meter.spent_us(send)
    taken = 0

    async def take() -> None:
        nonlocal taken
        while some := await runner.take(0.05):
            taken += len(some)

    took_us = await meter.spent_us(take)
    await gateway.release([job.ref for job in jobs])
    await runner.release([job.ref for job in jobs])
    return {"send": sent_us / CALLS} | ({"take": took_us / taken} if taken else {})


def _job(number: int) -> Job:
    return Job(AnswerRef(UUID(int=_FIRST + number), 1, Side.A, CONTESTANT), cost_of(40))


def _report(number: int) -> ReplicaReport:
    name = f"{CONTESTANT}@http://replica-{number}:8000/v1"
    return ReplicaReport(id=name, contestant=CONTESTANT, state=EngineState.READY, capacity=8, tokens=50, stream_s=1.0)


@dataclass(frozen=True, slots=True)
class Crowd:
    """A fleet and how many people ask it at once."""

    replicas: int = 10_000
    places: int = 104
    at_once: int = 1_000_000
    after: int = 20_000
    """Turns that come once all the others are there."""
    gateways: int = 16

    def fleet(self) -> Fleet:
        return Fleet([50.0] * self.replicas, self.places, crowding=0.02)

    def turns(self) -> Turns:
        """First a rush, faster than answers end, and then as many as the fleet can do."""
        drawn = turns_drawn(self.at_once + self.after, seed=1)
        steady = self.fleet().turns_per_s(drawn) * 0.95
        rush_s = 0.2
        at = np.concatenate(
            (drawn.at[: self.at_once] / self.at_once * rush_s, rush_s + np.arange(1, self.after + 1) / steady)
        )
        return Turns(at, drawn.prompt, drawn.output)


async def crowd(url: str, plan: Crowd) -> list[Fact]:
    fleet, turns = plan.fleet(), plan.turns()
    slice_s = float(turns.at[plan.at_once - 1]) / plan.at_once * 500
    facts: list[Fact] = []
    meter = Meter(url)
    before = await meter.most_memory_bytes()
    async with Dispatched(url, fleet, turns, prefix="crowd", gateways=plan.gateways) as ours:
        begun = time.perf_counter()
        course = await Simulation(fleet, turns, 1.0, ours, slice_s=slice_s).run()
        took_s = time.perf_counter() - begun
        most_bytes = await meter.most_memory_bytes()
        await ours.settle()
    await meter.close()
    facts += _told("Agon's scripts", course, turns, plan)
    facts += [
        Fact(f"{plan.replicas:,} replicas: turns at once, at most", course.most_at_once, "turns"),
        Fact(f"{plan.replicas:,} replicas: seconds the simulation took", took_s, "s"),
        Fact(f"{plan.replicas:,} replicas: turns through the scripts", len(turns) / took_s, "turns/s"),
        Fact(
            f"{plan.replicas:,} replicas: Valkey's memory for a turn",
            (most_bytes - before) / course.most_at_once,
            "bytes",
        ),
    ]
    plain: dict[str, Policy] = {
        "round robin": RoundRobin(fleet),
        "fewest turns": FewestTurns(fleet, seed=1),
        "one queue for all": OneQueue(),
    }
    for name, policy in plain.items():
        facts += _told(name, await Simulation(fleet, turns, 1.0, policy, slice_s=slice_s).run(), turns, plan)
    return facts


def _told(name: str, course: Course, turns: Turns, plan: Crowd) -> list[Fact]:
    p99_ms = float(np.quantile(course.waited_s, 0.99)) * 1000
    facts = [Fact(f"{plan.replicas:,} replicas: P99 to the first token, {name}", p99_ms, "ms")]
    if course.replica.min() >= 0:
        tokens = np.bincount(course.replica, weights=turns.output, minlength=plan.replicas)
        spread = float(np.quantile(tokens, 0.99) / tokens.mean())
        facts.append(
            Fact(f"{plan.replicas:,} replicas: P99 of a replica's tokens over their mean, {name}", spread, "x")
        )
        console.print(f"  {plan.replicas:,} replicas, {name}: P99 {p99_ms:,.0f} ms, tokens {spread:.2f} x the mean")
    return facts


async def measure(url: str, plan: Crowd | None = None) -> tuple[list[Claim], list[Fact]]:
    return [], [*await costs(url), *await crowd(url, plan or Crowd())]
