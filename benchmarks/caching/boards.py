"""What merging 100,000 records into a board costs Redis, by its own account."""

import random
import time
from collections.abc import Mapping
from uuid import uuid4

from benchmarks.harness.statistics import Claim, Fact, compare, percentile

from agon.stores.redis.rounds import RedisRoundBoards
from agon.stores.redis.wire import Wire

RECORDS = 100_000
MEMBERS = (200, 10_000)
REPEATS = 7
COUNTED = ("zadd", "expire", "evalsha", "eval", "zincrby")
"""Commands that are sent; what scripts call is within these."""


async def measure(redis_url: str) -> tuple[list[Claim], list[Fact]]:
    wire, boards = Wire(redis_url), RedisRoundBoards([redis_url], prefix="bench")
    claims: list[Claim] = []
    facts: list[Fact] = []
    for members in MEMBERS:
        ours, plain, outside = await _measure(wire, boards, members)
        claims.append(compare(f"Redis ms for 100,000 records, {members:,} members, over ZINCRBY for each", ours, plain))
        facts.append(Fact(f"board of {members:,}: time until published, P50", percentile(outside, 0.5), "ms"))
    await boards.close()
    await wire.close()
    return claims, facts


async def _measure(wire: Wire, boards: RedisRoundBoards, members: int) -> tuple[list[float], list[float], list[float]]:
    chance, at = random.Random(members), uuid4()
    names = [f"contestant-{number:05}" for number in range(members)]
    sums, counts = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
    ours: list[float] = []
    plain: list[float] = []
    outside: list[float] = []
    page = "x" * 200 * min(members, 200)
    for version in range(REPEATS):
        records = [(names[number % members], chance.gauss(0, 1)) for number in range(RECORDS)]
        for name, score in records:
            sums[name] += score
            counts[name] += 1
        means = {name: sums[name] / counts[name] for name in names}
        before_ms = await _spent_ms(wire)
        begun_s = time.perf_counter()
        assert await boards.publish(at, means, page, version)
        outside.append((time.perf_counter() - begun_s) * 1e3)
        between_ms = await _spent_ms(wire)
        for first in range(0, RECORDS, 5_000):
            part = records[first : first + 5_000]
            await wire.several(*(("ZINCRBY", "bench:plain", repr(score), name) for name, score in part))
        ours.append(between_ms - before_ms)
        plain.append(await _spent_ms(wire) - between_ms)
        assert dict(await boards.ranked(at)) == means
    await wire.call("DEL", "bench:plain")
    return ours, plain, outside


async def _spent_ms(wire: Wire) -> float:
    stats: Mapping[str, str] = dict(
        line.removeprefix("cmdstat_").split(":", 1)
        for line in (await wire.call("INFO", "commandstats")).splitlines()
        if ":" in line
    )
    return sum(float(stats[name].split("usec=")[1].split(",")[0]) for name in COUNTED if name in stats) / 1e3
