"""Part `balance`: how many turns a simulated fleet takes at the same P99, by who chooses the replicas."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.dispatching.fleet import Course, Fleet, Policy, Simulation, Turns, turns_drawn
from benchmarks.dispatching.load import Stretch
from benchmarks.dispatching.policies import Dispatched, FewestTurns, OneQueue, RoundRobin
from benchmarks.dispatching.systems import agon, ask, await_system, run, script, start_engines, vllm_router
from benchmarks.harness.arena import Arena
from benchmarks.harness.report import console
from benchmarks.harness.statistics import Claim, Fact, compare, percentile

from agon.embedded.valkey import ValkeyServer

TURNS = 4000
SEEDS = (1, 2, 3)
P99_S = 2.0
"""What 99 of 100 turns may wait for their first token."""
_WARM_UP = TURNS // 10
_STEPS = 6
_LOAD = 0.85
OURS, ROUND_ROBIN, FEWEST, ONE_QUEUE = "Agon's scripts", "round robin", "fewest turns", "one queue for all"
PLAIN: dict[str, Callable[[Fleet, int], Policy]] = {
    ROUND_ROBIN: lambda fleet, _: RoundRobin(fleet),
    FEWEST: lambda fleet, seed: FewestTurns(fleet, seed=seed),
    ONE_QUEUE: lambda *_: OneQueue(),
}


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    fleet: Fleet
    told: bool = True


CASES = (
    Case("8 equal replicas", Fleet([50.0] * 8, 8, crowding=0.05)),
    Case("8 replicas, half of them half as fast", Fleet([50.0, 25.0] * 4, 8, crowding=0.05)),
    Case("8 equal replicas, prompts that tell nothing", Fleet([50.0] * 8, 8, crowding=0.05), told=False),
)


class Trial:
    """One case with one draw of turns."""

    def __init__(self, url: str, case: Case, seed: int) -> None:
        self._url, self._case, self._seed = url, case, seed
        self._turns: Turns = turns_drawn(TURNS, seed=seed, told=case.told)
        self._most_per_s = case.fleet.turns_per_s(self._turns)
        self._runs = 0

    async def p99_s(self, name: str, load: float) -> float:
        """P99 to the first token at a share of the most that the fleet can do."""
        async with self._policy(name) as policy:
            simulation = Simulation(self._case.fleet, self._turns, load * self._most_per_s, policy)
            course: Course = await simulation.run()
        return float(np.quantile(course.waited_s[_WARM_UP:], 0.99))

    async def most(self, name: str) -> float:
        """The highest load at which the P99 holds, by halving."""
        low, high = 0.4, 1.04
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if await self.p99_s(name, middle) <= P99_S:
                low = middle
            else:
                high = middle
        return low * self._most_per_s

    @asynccontextmanager
    async def _policy(self, name: str) -> AsyncGenerator[Policy]:
        if name != OURS:
            yield PLAIN[name](self._case.fleet, self._seed)
            return
        self._runs += 1
        prefix = f"{self._case.name} {self._seed} {self._runs}"
        async with Dispatched(self._url, self._case.fleet, self._turns, prefix=prefix) as ours:
            yield ours
            await ours.settle()


async def measure(url: str, cases: Sequence[Case] = CASES) -> tuple[list[Claim], list[Fact]]:
    claims: list[Claim] = []
    facts: list[Fact] = []
    for case in cases:
        trials = [Trial(url, case, seed) for seed in SEEDS]
        most = {name: await asyncio.gather(*(trial.most(name) for trial in trials)) for name in (OURS, *PLAIN)}
        shown = ", ".join(f"{name} {np.median(values):.1f}" for name, values in most.items())
        console.print(f"  {case.name}: {shown} turns/s")
        claims += [
            compare(f"{case.name}: turns/s at a P99 of {P99_S:g} s, over {name}", most[OURS], most[name])
            for name in PLAIN
        ]
        for name in (OURS, *PLAIN):
            p99_s = np.median(await asyncio.gather(*(trial.p99_s(name, _LOAD) for trial in trials)))
            facts.append(
                Fact(f"{case.name}, {_LOAD:.0%} load: P99 to the first token, {name}", float(p99_s) * 1000, "ms")
            )
    return claims, facts


LOAD = 0.8
SECONDS = 12.0
_PLACES, _SERVERS, _SPEED = 4, 4, 200
_LENGTHS = {"low": 20, "high": 800, "alpha": 1.2}
_MEAN_TOKENS = 73.0
"""Of answers of these lengths."""


def real() -> tuple[list[Claim], list[Fact]]:
    """The same on real servers, each with a queue of its own, through gateways that choose."""
    with Arena() as arena:
        engines = start_engines(arena, _SERVERS)
        script(engines, tokens=_LENGTHS, rate_tokens_per_s=_SPEED, max_running=_PLACES, first_token_delay_s=0.02)
        systems = [agon(arena, engines, places=_PLACES), vllm_router(arena, engines)]
        systems.append(vllm_router(arena, engines, policy="power_of_two"))
        for system in systems:
            await_system(arena, system)
        per_s = LOAD * _PLACES * _SERVERS * _SPEED / _MEAN_TOKENS
        p99_ms: dict[str, list[float]] = {system.name: [] for system in systems}
        for seed in SEEDS:
            for system in systems:
                found = run(ask(system, streamed=True, stretches=[Stretch(per_s, SECONDS)], members=16, seed=seed))
                found.check(system.name)
                waited = [each.first - each.due for each in found.asks if each.due > 2.0]
                p99_ms[system.name].append(percentile(waited, 0.99) * 1000)
            shown = ", ".join(f"{name} {values[-1]:,.0f}" for name, values in p99_ms.items())
            console.print(f"  {_SERVERS} servers, {LOAD:.0%} load: P99 to the first token {shown} ms")
    ours, *others = p99_ms
    what = f"{_SERVERS} scripted servers, {LOAD:.0%} load: P99 ms to the first token"
    return [compare(f"{what}, over {name}", p99_ms[ours], p99_ms[name]) for name in others], []


@asynccontextmanager
async def valkey() -> AsyncGenerator[str]:
    """A Valkey of its own, which nothing is written to disk from: only what the scripts choose matters here."""
    with tempfile.TemporaryDirectory(prefix="agon-bench-") as folder:
        server = ValkeyServer(Path(folder))
        server.start()
        try:
            yield server.url
        finally:
            server.stop()
