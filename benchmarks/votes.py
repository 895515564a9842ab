"""Votes a second at 200 concurrent voters: group commit over a commit for each vote, on one real PostgreSQL."""

import asyncio
import json
import statistics
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import asyncpg
from benchmarks.harness.arena import SECRET, Arena, Processor
from benchmarks.harness.battles import Battle, forget_votes, seed_battles
from benchmarks.harness.crowd import Member, Throughput, measure
from benchmarks.harness.report import console, publish
from benchmarks.harness.statistics import Claim, Fact, compare
from benchmarks.harness.wire import HttpConnection, request_bytes
from itsdangerous import URLSafeSerializer

from agon.api.identity import COOKIE
from agon.core.votes import Ballot, BattleFacts, Vote, Winner, judge
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes

VOTERS = 200
BATTLES_EACH = 300
REPEATS = 7
WARM_UP_S = 0.3
WINDOW_S = 1.5
HTTP_WINDOW_S = 4.0
HTTP_REPEATS = 3
OUR_POOL = 10
PLAIN_POOLS = (10, 20, 50)

Cast = Callable[[Ballot], Awaitable[object]]

_PLAIN_FACTS = """
select c.person, c.kind, c.void_reason is not null as void,
       not exists (select from answers a where a.conversation = c.id and a.state <> 'done') as all_done,
       v.receipt, v.winner, v.idempotency_key, v.created_at
from conversations c left join votes v on v.conversation = c.id
where c.id = $1 for update of c
"""
_PLAIN_INSERT = """
insert into votes (receipt, conversation, person, winner, idempotency_key, contestant_a, contestant_b)
select $1, id, $3, $4, $5, contestant_a, contestant_b from conversations where id = $2
returning created_at
"""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to cast votes."""

    name: str
    open: Callable[[str], AsyncGenerator[Cast]]


async def grouped(url: str) -> AsyncGenerator[Cast]:
    """The product's way."""
    database = Database(url, max_connections=OUR_POOL)
    await database.open()
    votes = PostgresVotes(database)
    try:
        yield votes.cast
    finally:
        await votes.close()
        await database.close()


def same_code(pool: int) -> Arm:
    """The product's own transaction, with one ballot in each."""

    async def open_arm(url: str) -> AsyncGenerator[Cast]:
        database = Database(url, max_connections=pool)
        await database.open()
        votes = PostgresVotes(database)
        try:
            yield lambda ballot: votes.commit([ballot])
        finally:
            await database.close()

    return Arm(f"the same transaction for one ballot, {pool} connections", open_arm)


def plain(pool: int) -> Arm:
    """A transaction written for one ballot: lock and facts in one statement, the vote in another."""

    async def open_arm(url: str) -> AsyncGenerator[Cast]:
        connections = await asyncpg.create_pool(url, min_size=pool, max_size=pool)

        async def cast(ballot: Ballot) -> None:
            async with connections.acquire() as connection, connection.transaction():
                row = await connection.fetchrow(_PLAIN_FACTS, ballot.conversation)
                if judge(ballot, None if row is None else _facts(row)) is not None:
                    return
                values = (ballot.receipt, ballot.conversation, ballot.person, ballot.winner.value)
                await connection.fetchrow(_PLAIN_INSERT, *values, ballot.idempotency_key)

        try:
            yield cast
        finally:
            await connections.close()

    return Arm(f"a transaction written for one ballot, {pool} connections", open_arm)


def _facts(row: asyncpg.Record) -> BattleFacts:
    vote = None
    if row["receipt"] is not None:
        vote = Vote(row["receipt"], Winner(row["winner"]), row["idempotency_key"], row["created_at"])
    return BattleFacts(row["person"], row["kind"] == "battle", row["void"], row["all_done"], vote)


OURS = Arm(f"group commit, {OUR_POOL} connections", grouped)


async def run_arm(arm: Arm, url: str, battles: Sequence[Sequence[Battle]]) -> Throughput:
    """One measurement from a clean table. Raises if the ledger holds another number of votes than were acknowledged."""
    async with asynccontextmanager(arm.open)(url) as cast:
        members = [_voter(cast, iter(own)) for own in battles]
        result = await measure(members, warm_up_s=WARM_UP_S, window_s=WINDOW_S)
    await _check_count(url, result)
    return result


async def _check_count(url: str, result: Throughput) -> None:
    written = await forget_votes(url)
    if written != result.done:
        raise AssertionError(f"{result.done} votes were acknowledged and {written} are in the ledger")


def _voter(cast: Cast, battles: Iterator[Battle]) -> Member:
    async def vote() -> None:
        await cast(next(battles).ballot())

    return vote


async def compare_arms(url: str, battles: Sequence[Sequence[Battle]]) -> list[Claim]:
    """Ours over our own code without the grouping, and over the best of what is written without it."""
    rivals = [plain(pool) for pool in PLAIN_POOLS]
    arms = [OURS, same_code(OUR_POOL), *rivals]
    runs: dict[Arm, list[Throughput]] = {arm: [] for arm in arms}
    for repeat in range(REPEATS):
        # Rotated, so that no arm always comes first.
        start = repeat % len(arms)
        for arm in arms[start:] + arms[:start]:
            runs[arm].append(await run_arm(arm, url, battles))
        console.print(
            f"  repeat {repeat + 1}: " + ", ".join(f"{runs[arm][-1].per_s:,.0f}" for arm in arms) + " votes/s"
        )
    best = max(rivals, key=lambda arm: statistics.median(run.per_s for run in runs[arm]))
    return [claim for arm in (arms[1], best) for claim in _claims(runs[OURS], runs[arm], arm.name)]


def _claims(ours: Sequence[Throughput], baseline: Sequence[Throughput], name: str) -> list[Claim]:
    return [
        compare(f"votes/s, over {name}", [run.per_s for run in ours], [run.per_s for run in baseline]),
        compare(f"P50 ms, over {name}", [run.p50_ms for run in ours], [run.p50_ms for run in baseline]),
        compare(f"P99 ms, over {name}", [run.p99_ms for run in ours], [run.p99_ms for run in baseline]),
    ]


async def through_http(arena: Arena, battles: Sequence[Sequence[Battle]]) -> list[Fact]:
    """The same crowd through a gateway process, on 200 kept-alive connections."""
    runs: list[Throughput] = []
    with arena.processor() as processor:
        for _ in range(HTTP_REPEATS):
            async with AsyncExitStack() as stack:
                members = [await _http_voter(arena, own, stack) for own in battles]
                runs.append(await measure(members, warm_up_s=WARM_UP_S, window_s=HTTP_WINDOW_S))
            await _check_count(arena.database_url, runs[-1])
    return [
        Fact("through HTTP: votes/s", statistics.median(run.per_s for run in runs), "votes/s"),
        Fact("through HTTP: P50", statistics.median(run.p50_ms for run in runs), "ms"),
        Fact("through HTTP: P99", statistics.median(run.p99_ms for run in runs), "ms"),
        *_processor_facts(processor, sum(run.done for run in runs)),
    ]


def _processor_facts(processor: Mapping[str, Processor], votes: int) -> list[Fact]:
    ordered = sorted(processor.items(), key=lambda item: -item[1].used_s)
    return [
        Fact(f"through HTTP: processor time of the {name}", spent.used_s / votes * 1e6, "µs/vote")
        for name, spent in ordered
    ]


async def _http_voter(arena: Arena, battles: Sequence[Battle], stack: AsyncExitStack) -> Member:
    connection = await HttpConnection.open("127.0.0.1", arena.port)
    stack.push_async_callback(connection.close)
    cookie = URLSafeSerializer(SECRET, salt=COOKIE).dumps(str(battles[0].person))
    headers = {"Cookie": f"{COOKIE}={cookie}"}
    body = json.dumps({"winner": Winner.A.value}).encode()
    waiting = iter(battles)

    async def vote() -> None:
        request = request_bytes("POST", f"/arena/battles/{next(waiting).id}/vote", headers=headers, body=body)
        reply = await connection.send(request)
        if reply.status != 200:
            raise ConnectionError(f"a vote was answered with {reply.status}: {reply.body!r}")

    return vote


def main() -> None:
    with Arena() as arena:
        console.print("Seeding battles …")
        battles = asyncio.run(seed_battles(arena.database_url, persons=VOTERS, each=BATTLES_EACH))
        claims = asyncio.run(compare_arms(arena.database_url, battles))
        arena.configure("default_models = false\n")
        arena.run("gateway")
        arena.run("worker")
        arena.await_http("/healthz")
        facts = asyncio.run(through_http(arena, battles))
    publish("votes", claims, facts)


if __name__ == "__main__":
    main()
