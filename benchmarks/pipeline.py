"""Answers a second from the ledger to the board, with a scorer that costs nothing, over plain consumers of a stream."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen
from uuid import UUID, uuid4

import asyncpg
import redis
from benchmarks.harness.arena import Arena
from benchmarks.harness.report import console, publish
from benchmarks.harness.statistics import Claim, Fact, compare
from benchmarks.pipelining.streams import BOARD, DONE, GROUP, STREAM

from agon.stores.redis.nudges import AnswerNews
from agon.supervisor.options import free_port
from agon.supervisor.service import command

PLUGIN = Path(__file__).parent / "pipelining" / "plugin"
MODELS = 10
QUESTIONS = 2_000
ANSWERS = MODELS * QUESTIONS
REPEATS = 5
AT_ONCE = 256
"""Answers of a batch of ours, and of a read of the consumer that batches."""
_PATIENCE_S = 120.0

_SEED = """
with made as (
    insert into rounds (id, name, scorer, strict, seed, max_tokens) values ($1, 'bench', 'ratio', true, 0, 9)
    returning id
), banked as (
    insert into round_questions (round, question, place, category, language, turns, digest)
    select id, 'q' || n, n, '', '', array['What is said of the number ' || n || ' in this round?'], ''::bytea
    from made, generate_series(1, $2) n
), named as (
    insert into round_contestants (round, contestant, place, made_here)
    select id, 'model ' || m, m, false from made, generate_series(1, $3) m
)
select 1
"""
_ANSWERS = """
insert into round_answers (id, round, question, contestant, stage, texts, answered_at)
select gen_random_uuid(), $1::uuid, 'q' || n, 'model ' || m, 'answered',
       array[repeat('Something is said of it, ', 1 + (n * 7 + m * 3) % 8) || n || ' by ' || m
             || ' for ' || $1::uuid::text],
       now()
from generate_series(1, $2) n, generate_series(1, $3) m
"""


async def pipeline(arena: Arena) -> float:
    """Answers a second from the moment in which they are there to the one in which nothing is open any more."""
    ledger = await asyncpg.connect(arena.database_url)
    round_id = uuid4()
    news = AnswerNews(arena.redis_url)
    try:
        await ledger.execute("vacuum analyze round_answers")
        async with ledger.transaction():
            await ledger.fetch(_SEED, round_id, QUESTIONS, MODELS)
            await ledger.execute(_ANSWERS, round_id, QUESTIONS, MODELS)
        begun = time.perf_counter()
        news.came()
        await _until(lambda: _is_done(ledger))
        took_s = time.perf_counter() - begun
        await _check(ledger, round_id)
    finally:
        await news.close()
        await ledger.close()
    return ANSWERS / took_s


async def _is_done(ledger: "asyncpg.Connection[asyncpg.Record]") -> bool:
    left = "select exists (select from round_answers where stage = 'answered') or exists (select from round_batches)"
    return not await ledger.fetchval(left)


async def _check(ledger: "asyncpg.Connection[asyncpg.Record]", round_id: UUID) -> None:
    counted = await ledger.fetchval("select sum(scored) from round_totals where round = $1", round_id)
    if counted != ANSWERS:
        raise AssertionError(f"{counted} of {ANSWERS} answers are in the totals")


async def consumer(arena: Arena, at_once: int) -> float:
    """The same of a plain consumer; its answers are in a stream, which it is told to read when it is up."""
    client: Any = redis.Redis.from_url(arena.redis_url, decode_responses=True)
    client.delete(STREAM, BOARD, DONE)
    client.xgroup_create(STREAM, GROUP, mkstream=True)
    name = f"consumer-{at_once}-{uuid4().hex[:8]}"
    words = [*command()[:1], "-m", "benchmarks.pipelining.streams", arena.redis_url, str(ANSWERS), str(at_once)]
    root = str(Path(__file__).parents[1])
    with client.pipeline(transaction=False) as pipe:
        for number in range(ANSWERS):
            prompt = f"What is said of the number {number // MODELS} in this round?"
            answer = "Something is said of it, " * (1 + number % 8)
            pipe.xadd(STREAM, {"id": str(number), "prompt": prompt, "answer": answer})
        pipe.execute()
    arena.launch(name, words, arena.environment | {"PYTHONPATH": root})
    await _until(lambda: _some(client, lambda: client.zcard(BOARD) > 0))
    begun, there = time.perf_counter(), int(client.zcard(BOARD))
    await _until(lambda: _some(client, lambda: client.exists(DONE)))
    return (ANSWERS - there) / (time.perf_counter() - begun)


async def _some(_: object, look: Callable[[], object]) -> bool:
    return bool(look())


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def await_worker(port: int) -> None:
    def ready() -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{port}/ready", timeout=1):
                return True
        except (URLError, OSError):
            return False

    await _until(lambda: asyncio.to_thread(ready))


def claims(ours: Sequence[float], batched: Sequence[float], single: Sequence[float]) -> list[Claim]:
    return [
        compare(f"answers/s, over a consumer that reads {AT_ONCE} at once", ours, batched),
        compare("answers/s, over a consumer that reads one at a time", ours, single),
    ]


async def measure(arena: Arena, port: int) -> list[Claim]:
    await await_worker(port)
    ours: list[float] = []
    batched: list[float] = []
    single: list[float] = []
    await pipeline(arena)
    for repeat in range(REPEATS):
        ours.append(await pipeline(arena))
        batched.append(await consumer(arena, AT_ONCE))
        single.append(await consumer(arena, 1))
        figures = ", ".join(f"{each[-1]:,.0f}" for each in (ours, batched, single))
        console.print(f"  repeat {repeat + 1}: {figures} answers/s")
    return claims(ours, batched, single)


def main() -> None:
    port = free_port("127.0.0.1")
    with Arena() as arena:
        arena.configure(f"default_models = false\n\n[rounds]\nbatch_answers = {AT_ONCE}\n")
        environment = {"PYTHONPATH": str(PLUGIN), "AGON_WORKER_METRICS_PORT": str(port)}
        arena.run("worker", environment=environment)
        found = asyncio.run(measure(arena, port))
    facts = [Fact("answers of a round", ANSWERS, ""), Fact("of a batch", AT_ONCE, "")]
    publish("pipeline", found, facts)


if __name__ == "__main__":
    main()
