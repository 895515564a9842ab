"""A crowd in a closed loop: each member does one thing after another, and all are timed within one window."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from benchmarks.harness.statistics import percentile

Member = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Throughput:
    """What happened within the window."""

    per_s: float
    p50_ms: float
    p99_ms: float
    done: int
    """Everything done, before and after the window too."""


async def measure(members: Sequence[Member], *, warm_up_s: float, window_s: float) -> Throughput:
    """Let every member repeat itself; what ends within the window, after the warm-up, counts."""
    begin = time.perf_counter() + warm_up_s
    end = begin + window_s
    latencies_s: list[float] = []
    done = 0

    async def repeat(member: Member) -> None:
        nonlocal done
        finished = time.perf_counter()
        while finished < end:
            started = finished
            await member()
            finished = time.perf_counter()
            done += 1
            if begin <= finished < end:
                latencies_s.append(finished - started)

    await asyncio.gather(*(repeat(member) for member in members))
    return Throughput(
        per_s=len(latencies_s) / window_s,
        p50_ms=percentile(latencies_s, 0.5) * 1000,
        p99_ms=percentile(latencies_s, 0.99) * 1000,
        done=done,
    )
