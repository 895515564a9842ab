"""Part `burst`: three times the usual load for a while, with admission and without.

First on a real gateway with scripted engines, then on a larger fleet in virtual time with the same scripts.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.dispatching.fleet import Fleet, Simulation, Turns, turns_drawn
from benchmarks.dispatching.load import Ask, Stretch
from benchmarks.dispatching.policies import Dispatched
from benchmarks.dispatching.systems import (
    HOST,
    System,
    ask,
    await_system,
    configuration,
    run,
    script,
    start_engines,
)
from benchmarks.harness.arena import Arena
from benchmarks.harness.report import console
from benchmarks.harness.statistics import Claim, Fact, compare, percentile

from agon.config import LimitSettings
from agon.core.placement import Admission
from agon.supervisor.options import free_port

REPEATS = 3
PLACES = 8
LENIENT = 2.5
"""The bound on waiting, in seconds, of an arena that would rather let people wait than send them away."""
SETTINGS: Mapping[str, Admission] = {
    "admission as it is by default": Admission(
        queue_s=LimitSettings().queue_s, arena_share=LimitSettings().arena_share
    ),
    "admission that lets people wait": Admission(queue_s=LENIENT, arena_share=LimitSettings().arena_share),
    "no admission": Admission(queue_s=0, arena_share=0),
}
_ANY_CLIENT = "client_tokens_per_minute = 0\n"
"""All of the load comes from one address."""
USUAL, BURST = Stretch(15.0, 10.0), Stretch(45.0, 6.0)
SETTLE_S = 2.0
ENGINE: dict[str, object] = {
    "tokens": {"low": 20, "high": 400, "alpha": 1.2},
    "rate_tokens_per_s": 200,
    "first_token_delay_s": 0.2,
    "max_running": PLACES,
}


@dataclass(frozen=True, slots=True)
class Burst:
    before_ms: float
    """P99 to the first token of what was let in."""
    during_ms: float
    refused: float
    """Share of what came during the burst."""
    refused_before: float

    @property
    def ratio(self) -> float:
        return self.during_ms / self.before_ms


def real() -> tuple[list[Claim], list[Fact]]:
    with Arena() as arena:
        engines = start_engines(arena, 2)
        script(engines, **ENGINE)
        systems = _gateways(arena, engines)
        seen: dict[str, list[Burst]] = {name: [] for name in systems}
        for repeat in range(REPEATS):
            for name, system in systems.items():
                found = run(ask(system, streamed=True, stretches=[USUAL, BURST], members=16, seed=repeat))
                seen[name].append(_burst(found.asks))
                console.print(f"  {name}, {repeat + 1} of {REPEATS}: {_shown(seen[name][-1])}")
                _rest(system)
    return _told("2 servers", seen)


def _gateways(arena: Arena, engines: Sequence[int]) -> dict[str, System]:
    """A gateway for each setting, all before the same servers, of which one runner tells."""
    systems: dict[str, System] = {}
    for name, admission in SETTINGS.items():
        limits = f"[limits]\nqueue_s = {admission.queue_s}\narena_share = {admission.arena_share}\n{_ANY_CLIENT}"
        settings = arena.folder / f"{name}.toml"
        text = configuration(engines, places=PLACES) + limits
        settings.write_text(text, "utf-8")
        if not systems:
            arena.configure(text)
            arena.run("runner")
        port = free_port(HOST)
        arena.run("gateway", name=name, environment={"AGON_CONFIG": str(settings), "AGON_PORT": str(port)})
        systems[name] = System(name, [port], [name])
    for system in systems.values():
        await_system(arena, system)
    return systems


def _rest(system: System) -> None:
    """Let what is left end, at a low load that keeps the measured speeds fresh."""
    run(ask(system, streamed=True, stretches=[Stretch(5.0, SETTLE_S)]))


def _burst(asks: Sequence[Ask]) -> Burst:
    before = [each for each in asks if 1.0 <= each.due < USUAL.seconds]
    during = [each for each in asks if each.due >= USUAL.seconds]
    if any(each.status == 429 and each.retry_after_s < 1 for each in asks):
        raise RuntimeError("a refusal does not say when to come again")
    return Burst(
        before_ms=_p99_ms(before),
        during_ms=_p99_ms(during),
        refused=sum(each.status == 429 for each in during) / len(during),
        refused_before=sum(each.status == 429 for each in before) / len(before),
    )


def _p99_ms(asks: Sequence[Ask]) -> float:
    return percentile([each.first - each.due for each in asks if each.status == 200 and each.first >= 0], 0.99) * 1000


FLEET = Fleet([50.0] * 8, PLACES, crowding=0.05)
_USUAL_LOAD = 0.5
_USUAL_S, _BURST_S, _WARM_UP_S = 60.0, 12.0, 10.0


async def simulated(url: str) -> tuple[list[Claim], list[Fact]]:
    seen: dict[str, list[Burst]] = {name: [] for name in SETTINGS}
    for seed in range(REPEATS):
        for name, admission in SETTINGS.items():
            seen[name].append(await _simulate(url, f"burst {seed} {name}", admission, seed))
    for name, bursts in seen.items():
        console.print(f"  8 replicas in virtual time, {name}: {_shown(bursts[0])}")
    return _told("8 replicas in virtual time", seen)


async def _simulate(url: str, prefix: str, admission: Admission, seed: int) -> Burst:
    drawn = turns_drawn(6000, seed=seed + 1)
    usual = FLEET.turns_per_s(drawn) * _USUAL_LOAD
    # Turns are drawn at one a second: the axis of time is stretched until each stretch has its rate.
    whole = _USUAL_S * usual + 3 * _BURST_S * usual
    count = int(np.searchsorted(drawn.at, whole))
    at = np.interp(drawn.at[:count], [0, _USUAL_S * usual, whole], [0, _USUAL_S, _USUAL_S + _BURST_S])
    turns = Turns(at, drawn.prompt[:count], drawn.output[:count])
    clock = [0.0]
    async with Dispatched(
        url, FLEET, turns, prefix=prefix, admission=admission, clock_s=lambda: 1e6 + clock[0]
    ) as ours:
        course = await Simulation(FLEET, turns, 1.0, ours, clock=clock).run()
        await ours.settle()
    let_in = ~np.isnan(course.waited_s)
    before, during = (at > _WARM_UP_S) & (at < _USUAL_S), at >= _USUAL_S
    return Burst(
        before_ms=float(np.quantile(course.waited_s[before & let_in], 0.99)) * 1000,
        during_ms=float(np.quantile(course.waited_s[during & let_in], 0.99)) * 1000,
        refused=1 - float(let_in[during].mean()),
        refused_before=1 - float(let_in[before].mean()),
    )


def _shown(burst: Burst) -> str:
    waits = f"P99 {burst.before_ms:,.0f} ms before, {burst.during_ms:,.0f} during"
    return f"{waits}; refused {burst.refused_before:.0%} before, {burst.refused:.0%} during"


def _told(where: str, seen: Mapping[str, Sequence[Burst]]) -> tuple[list[Claim], list[Fact]]:
    claims = [
        compare(
            f"{where}, {name}: P99 ms to the first token in a threefold burst, over before",
            [burst.during_ms for burst in bursts],
            [burst.before_ms for burst in bursts],
        )
        for name, bursts in seen.items()
    ]
    facts: list[Fact] = []
    for name, bursts in seen.items():
        facts += [
            Fact(f"{where}, {name}: refused in the burst", statistics.median(b.refused for b in bursts) * 100, "%"),
            Fact(f"{where}, {name}: refused before", statistics.median(b.refused_before for b in bursts) * 100, "%"),
        ]
    return claims, facts
