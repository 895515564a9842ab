"""Part `packets`: 200 battles at once through gateway, bus and runner: the first packet, and what packets cost."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg
from benchmarks.first_token import Course, Load, Waits, configuration, script_engine, start_engine
from benchmarks.harness.arena import Arena, Processor
from benchmarks.harness.report import console
from benchmarks.harness.statistics import Claim, Fact, compare, percentile

from agon.stores.redis.client import connect

REPEATS = 3
TOKENS_PER_S = 16.0
TOKENS = 96
LOAD = Load(200, 1, TOKENS)
_SIDES = 2
_OTHER_ENTRIES = 2
"""Stream entries of a side that are no packets: its turn in a runner's inbox, and its end."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What the stores count by themselves."""

    commands: Mapping[str, tuple[int, float]]
    """Calls and microseconds by command, since the last reset."""
    received: int
    sent: int
    """Bytes of Valkey's connections."""
    transactions: int
    """Of PostgreSQL, reads included."""
    log_bytes: int
    """Written to PostgreSQL's log."""

    @classmethod
    async def read(cls, arena: Arena, *, reset: bool = False) -> "Counts":
        client: Any = connect(arena.redis_url)
        connection = await asyncpg.connect(arena.database_url)
        try:
            stats = await client.info("commandstats")
            traffic = await client.info("stats")
            transactions = await connection.fetchval("select sum(xact_commit)::bigint from pg_stat_database")
            log_bytes = await connection.fetchval("select (pg_current_wal_lsn() - '0/0')::bigint")
            if reset:
                await client.config_resetstat()
        finally:
            await client.aclose()
            await connection.close()
        commands = {name.removeprefix("cmdstat_"): (each["calls"], each["usec"]) for name, each in stats.items()}
        received, sent = traffic["total_net_input_bytes"], traffic["total_net_output_bytes"]
        return cls(commands, received, sent, transactions, log_bytes)

    def calls(self, *names: str) -> int:
        return sum(self.commands.get(name, (0, 0.0))[0] for name in names)

    def spent_us(self, *names: str) -> float:
        return sum(self.commands.get(name, (0, 0.0))[1] for name in names)


@dataclass(frozen=True, slots=True)
class Run:
    waits: Waits
    counts: Counts
    transactions: int
    log_bytes: int
    processor: Mapping[str, Processor]

    @property
    def sides(self) -> int:
        return len(self.waits.side_ms)

    @property
    def packets(self) -> int:
        return self.counts.calls("xadd") - _OTHER_ENTRIES * self.sides


def measure() -> tuple[list[Claim], list[Fact]]:
    with Arena() as arena:
        engine_port = start_engine(arena)
        script_engine(engine_port, TOKENS, rate_tokens_per_s=TOKENS_PER_S)
        arena.configure(configuration(engine_port))
        for process in ("runner", "worker", "gateway"):
            arena.run(process)
        arena.await_http("/readyz")
        course = Course(arena, engine_port, LOAD)
        asyncio.run(course.run(is_direct=False))
        ours: list[Run] = []
        direct: list[Waits] = []
        for repeat in range(REPEATS):
            for is_direct in (repeat % 2 == 0, repeat % 2 == 1):
                if is_direct:
                    direct.append(asyncio.run(course.run(is_direct=True)))
                else:
                    ours.append(_run(arena, course))
            console.print(
                f"  {LOAD.battles} battles, {repeat + 1} of {REPEATS}: P50 to a first text "
                f"{percentile(ours[-1].waits.side_ms, 0.5):.0f} ms, {ours[-1].packets:,} packets"
            )
    return _claims(ours, direct), _facts(ours)


def _run(arena: Arena, course: Course) -> Run:
    before = asyncio.run(Counts.read(arena, reset=True))
    with arena.processor() as processor:
        waits = asyncio.run(course.run(is_direct=False))
    after = asyncio.run(Counts.read(arena))
    transactions, log_bytes = after.transactions - before.transactions, after.log_bytes - before.log_bytes
    return Run(waits, after, transactions, log_bytes, dict(processor))


def _claims(ours: list[Run], direct: list[Waits]) -> list[Claim]:
    return [
        compare(
            f"{LOAD.battles} battles at once: {name} ms to a side's first packet, over the engine alone",
            [percentile(run.waits.side_ms, share) for run in ours],
            [percentile(waits.side_ms, share) for waits in direct],
        )
        for name, share in (("P50", 0.5), ("P99", 0.99))
    ]


def _facts(ours: list[Run]) -> list[Fact]:
    packets, sides = sum(run.packets for run in ours), sum(run.sides for run in ours)
    tokens = sides * TOKENS

    def used_s(*names: str) -> float:
        return sum(run.processor[name].used_s for run in ours for name in names)

    def valkey_us(*names: str) -> float:
        return sum(run.counts.spent_us(*names) for run in ours)

    def per_side(*names: str) -> float:
        return sum(run.counts.calls(*names) for run in ours) / sides

    path = ("gateway", "runner", "valkey", "postgres")
    return [
        Fact("packets of an answer", packets / sides, "packets"),
        Fact("tokens in a packet", tokens / packets, "tokens"),
        Fact("packets per processor second of gateway, runner and stores", packets / used_s(*path), "packets"),
        *(Fact(f"processor for a packet, {name}", used_s(name) / packets * 1e6, "µs") for name in path),
        Fact("gateway's processor for a watcher of a battle", used_s("gateway") / (sides / _SIDES) * 1e3, "ms"),
        Fact("Valkey's time for a packet: appending", valkey_us("xadd") / packets, "µs"),
        Fact("Valkey's time for a packet: reading", valkey_us("xread") / packets, "µs"),
        Fact("Valkey's time for a side: dispatch scripts", valkey_us("evalsha", "eval") / sides, "µs"),
        Fact("calls of dispatch scripts for a side, beats included", per_side("evalsha", "eval"), "calls"),
        Fact("bytes to Valkey for a token", sum(run.counts.received for run in ours) / tokens, "bytes"),
        Fact("bytes from Valkey for a token", sum(run.counts.sent for run in ours) / tokens, "bytes"),
        Fact("transactions of the ledger for a battle", sum(run.transactions for run in ours) * _SIDES / sides, ""),
        Fact("bytes of the ledger's log for a battle", sum(run.log_bytes for run in ours) * _SIDES / sides, "bytes"),
    ]
