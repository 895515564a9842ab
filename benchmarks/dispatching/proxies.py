"""Part `proxies`: `/v1/chat/completions` through Agon, through other programs, and without anything between."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.dispatching.load import Ask, Found, Stretch
from benchmarks.dispatching.systems import System, ask, run, script
from benchmarks.harness.arena import Arena
from benchmarks.harness.report import console
from benchmarks.harness.statistics import Claim, Fact, compare, percentile

REPEATS = 3
MEMBERS = 32
WINDOW_S = 2.0
WATCHERS = 1000
_REST_S = 90.0
ENGINE = "the engines alone"


@dataclass(frozen=True, slots=True)
class Run:
    """What one system did in one task of one repeat."""

    found: Found
    used_s: float
    """Processor time of the system."""

    @property
    def lost(self) -> int:
        """Of the answers, those that never came or were not whole."""
        return len(self.found.asks) - len(self.found.done()) + len(self.found.faults)

    @property
    def per_s(self) -> float:
        """Answers a second; what ends within the window, after the warm-up, counts."""
        ends = [each.end for each in self.found.done()]
        begin = min(ends) + 0.3
        return sum(end >= begin for end in ends) / (max(ends) - begin)

    @property
    def used_us(self) -> float:
        return self.used_s / len(self.found.done()) * 1e6

    def ms(self, share: float, *, to_first: bool = False) -> float:
        return percentile([_waited(each, to_first=to_first) for each in self.found.done()], share) * 1000


def _waited(each: Ask, *, to_first: bool) -> float:
    return (each.first if to_first else each.end) - each.due


Runs = dict[tuple[str, str], list[Run]]
"""By task and system."""


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    engine: dict[str, object]
    """How the engines behave."""
    plan: dict[str, object]
    streamed: bool


SHORT: dict[str, object] = {"tokens": 8, "rate_tokens_per_s": 0, "tick_ms": 10}
QUICK: dict[str, object] = {"tokens": 64, "rate_tokens_per_s": 6400, "tick_ms": 1}
SLOW: dict[str, object] = {"tokens": 64, "rate_tokens_per_s": 16, "tick_ms": 250}
TASKS = (
    Task("one at a time", SHORT, {"members": 1, "seconds": 1.0}, streamed=False),
    Task("80 a second", SHORT, {"stretches": [Stretch(80, 3.0)], "members": 8}, streamed=False),
    Task("short answers", SHORT, {"members": MEMBERS, "seconds": WINDOW_S}, streamed=False),
    Task("streams", QUICK, {"members": MEMBERS, "seconds": WINDOW_S}, streamed=True),
    Task(
        "watchers",
        SLOW,
        {"stretches": [Stretch(WATCHERS / 2, 2.0)], "is_even": True, "checked": WATCHERS},
        streamed=True,
    ),
)


def measure(arena: Arena, engines: Sequence[int], systems: Sequence[System]) -> Runs:
    """Every task of every system, in turns; by (task, system)."""
    runs: Runs = {}
    for repeat in range(REPEATS):
        for task in TASKS:
            script(engines, **task.engine)
            start = repeat % len(systems)
            for system in [*systems[start:], *systems[:start]]:
                done = runs.setdefault((task.name, system.name), [])
                if task is TASKS[-1] and done and done[-1].lost:
                    # It has more to do than it can, and would still be at it while others are measured.
                    continue
                done.append(_run(arena, task, system, repeat))
                console.print(f"  {task.name}, {repeat + 1} of {REPEATS}, {system.name}: {_shown(done[-1])}")
    return runs


def _run(arena: Arena, task: Task, system: System, repeat: int) -> Run:
    with arena.processor() as processor:
        found = run(ask(system, streamed=task.streamed, seed=repeat, **task.plan))
    run_ = Run(found, sum(processor[name].used_s for name in system.processes))
    if run_.lost:
        console.print(f"  {system.name}, {task.name}: {run_.lost} of {len(found.asks)} lost {found.faults[:2]}")
        _await_rest(arena, system)
    return run_


def _await_rest(arena: Arena, system: System) -> None:
    """Wait until it is through with what nobody waits for any longer."""
    give_up = time.monotonic() + _REST_S
    while time.monotonic() < give_up:
        with arena.processor() as processor:
            time.sleep(0.5)
        if sum(processor[name].used_s for name in system.processes) < 0.1:
            return


def _shown(run: Run) -> str:
    return f"{run.per_s:,.0f}/s P50 {run.ms(0.5):.1f} P99 {run.ms(0.99):.1f} ms {run.used_us:,.0f} µs"


def results(runs: Runs, ours: str, others: Sequence[str]) -> tuple[list[Claim], list[Fact]]:
    claims: list[Claim] = []
    for task, unit in (("short answers", "short answer"), ("streams", "stream")):
        claims += [
            _claim(f"{unit}s a second, {MEMBERS} at once", runs, (task, ours, other), "per_s")
            for other in (*others, ENGINE)
        ]
        claims += [_claim(f"processor µs for a {unit}", runs, (task, ours, other), "used_us") for other in others]
    claims += [
        compare(
            f"P50 ms added to a short answer, {task}, over {other}", _added(runs, task, ours), _added(runs, task, other)
        )
        for task in ("one at a time", "80 a second")
        for other in others
    ]
    return claims, _facts(runs, (ours, *others, ENGINE))


def _claim(text: str, runs: Runs, who: tuple[str, str, str], figure: str) -> Claim:
    task, ours, other = who
    mine, theirs = ([getattr(each, figure) for each in runs[task, name]] for name in (ours, other))
    return compare(f"{text}, over {other}", mine, theirs)


def _added(runs: Runs, task: str, name: str) -> list[float]:
    """What a system adds to the median of the engines alone, repeat by repeat; never less than a hundredth of a ms."""
    pairs = zip(runs[task, name], runs[task, ENGINE], strict=True)
    return [max(0.01, mine.ms(0.5) - alone.ms(0.5)) for mine, alone in pairs]


def _facts(runs: Runs, names: Sequence[str]) -> list[Fact]:
    facts: list[Fact] = []
    for name in names:
        facts += [
            Fact(f"{name}: {what} of a short answer, {task}", statistics.median(r.ms(share) for r in each), "ms")
            for task in ("one at a time", "80 a second")
            for what, share in (("P50", 0.5), ("P99", 0.99))
            if (each := runs[task, name])
        ]
    for name in names:
        each = runs["watchers", name]
        whole = min(len(run.found.done()) for run in each)
        silent = statistics.median(percentile([ask.gap for ask in run.found.done()], 0.99) for run in each)
        facts += [
            Fact(f"{name}: whole of {WATCHERS:,} streams at once, worst repeat", whole, "streams"),
            Fact(f"{name}: P99 to the first text", statistics.median(r.ms(0.99, to_first=True) for r in each), "ms"),
            Fact(f"{name}: P99 of a stream's longest silence", silent * 1000, "ms"),
        ]
        if name != ENGINE:
            facts.append(
                Fact(f"{name}: processor per such stream", statistics.median(r.used_us for r in each) / 1000, "ms")
            )
    return facts
