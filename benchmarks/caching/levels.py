"""How long a key takes at each level, beside the bare command on the same kind of connection."""

import asyncio
import hashlib
import json
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

import asyncpg
from benchmarks.harness.statistics import Claim, Fact, compare, percentile

from agon.core.hot import HotSet
from agon.core.scoring import Score
from agon.rounds.caches import TieredCache
from agon.rounds.known import Known
from agon.rounds.messages import encode_score
from agon.stores.postgres.database import Database
from agon.stores.postgres.shelves import scores_of
from agon.stores.redis.cache import RedisCache
from agon.stores.redis.wire import Wire

VALUE = encode_score(Score(0.125), "reward-1 int8 0123456789abcdef")
ENTRIES = 500
KEYS = 20_000
REPEATS = 11
CALLS = 1_000
IN_A_ROW = 50
TASKS = 200
BATCH = 100
PROMPT = "How do I reverse a linked list in place, and what does it cost? " * 4
ANSWER = "Keep three references, and turn each arrow as you go. " * 12


@dataclass(frozen=True, slots=True)
class Parts:
    cache: TieredCache
    shared: RedisCache


@asynccontextmanager
async def opened(redis_url: str, database: Database, prefix: str = "bench") -> AsyncGenerator[Parts]:
    """A cache as the product builds it, whose filter has read the ledger."""
    shared = RedisCache(redis_url, prefix=prefix, name="scores")
    shelf = scores_of(database)
    known = Known(shelf, shared, capacity=1_000_000)
    following = asyncio.create_task(known.run())
    while not known.whole:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    try:
        yield Parts(TieredCache(HotSet(ENTRIES, 16 << 20), shared, shelf, known), shared)
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await shared.close()


def drawn(count: int) -> list[bytes]:
    return [os.urandom(32) for _ in range(count)]


def key_of(prompt: str, answer: str) -> bytes:
    """As scores are keyed: the digest of everything that decides one."""
    return hashlib.blake2b(json.dumps([1, "reward-1", prompt, answer, None]).encode(), digest_size=32).digest()


async def measure(redis_url: str, database_url: str) -> tuple[list[Claim], list[Fact]]:
    database = Database(database_url)
    await database.open()
    try:
        written = drawn(2_000)
        await _write(database_url, written)
        async with opened(redis_url, database) as parts:
            first = await _first(parts)
            third = await _third(parts, written)
            claims = await _second(parts, redis_url)
    finally:
        await database.close()
    return claims, [*first, *third]


async def _first(parts: Parts) -> list[Fact]:
    prompts = [f"{PROMPT}{number}" for number in range(50)]
    await parts.cache.keep({key_of(prompt, ANSWER): VALUE for prompt in prompts})
    took_s: list[float] = []
    for number in range(5_000):
        prompt = prompts[number % len(prompts)]
        begun_s = time.perf_counter()
        key = key_of(prompt, ANSWER)
        found = await parts.cache.find([key])
        took_s.append(time.perf_counter() - begun_s)
        assert found[key] == VALUE
    return [
        Fact("level 1: one key, hashing of 1 kB included, P50", percentile(took_s, 0.5) * 1e6, "µs"),
        Fact("level 1: one key, hashing of 1 kB included, P99", percentile(took_s, 0.99) * 1e6, "µs"),
    ]


async def _third(parts: Parts, written: Sequence[bytes]) -> list[Fact]:
    took_s: list[float] = []
    for at in range(0, len(written), BATCH):
        begun_s = time.perf_counter()
        found = await parts.cache.find(written[at : at + BATCH])
        took_s.append(time.perf_counter() - begun_s)
        assert len(found) == BATCH
    return [
        Fact(f"level 3: {BATCH} keys from the ledger into the levels above, P50", percentile(took_s, 0.5) * 1e3, "ms")
    ]


async def _second(parts: Parts, redis_url: str) -> list[Claim]:
    keys = drawn(KEYS)
    for at in range(0, KEYS, 500):
        await parts.cache.keep(dict.fromkeys(keys[at : at + 500], VALUE))
    bare = Wire(redis_url, binary=True)
    places = [await _place(bare, parts.shared, key) for key in keys]
    walk = _Walk(KEYS)

    async def ours() -> None:
        key = keys[walk.step()]
        assert key in await parts.cache.find([key])

    async def get() -> None:
        assert await bare.call("GET", places[walk.step()]) is not None

    async def ours_many() -> None:
        at = walk.step(BATCH)
        assert len(await parts.cache.find(keys[at : at + BATCH])) == BATCH

    async def mget() -> None:
        at = walk.step(BATCH)
        assert all(await bare.call("MGET", *places[at : at + BATCH]))

    before = parts.cache.counts.memory
    claims = [await _alternating(ours, get), await _crowded(ours, get), await _in_batches(ours_many, mget)]
    assert parts.cache.counts.memory == before, "these keys were to be found in Redis"
    await bare.close()
    return claims


class _Walk:
    """Through more keys than memory holds, so that none is found there."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._at = 0

    def step(self, by: int = 1) -> int:
        self._at = (self._at + by) % self._length
        return self._at - self._at % by


async def _place(wire: Wire, shared: RedisCache, key: bytes) -> bytes:
    place = shared.place(key)
    assert await wire.call("EXISTS", place)
    return place


Call = Callable[[], Awaitable[None]]


async def _alternating(ours: Call, bare: Call) -> Claim:
    """One caller; the two take turns every few calls, so that both meet the same machine.

    Calls follow each other at once, so that what one leaves to be done behind its reply delays the next of its kind.
    """
    runs: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        took_us: tuple[list[float], list[float]] = ([], [])
        for number in range(2 * CALLS // IN_A_ROW):
            call = (ours, bare)[number % 2]
            for _ in range(IN_A_ROW):
                begun_s = time.perf_counter()
                await call()
                took_us[number % 2].append((time.perf_counter() - begun_s) * 1e6)
        for run, times in zip(runs, took_us, strict=True):
            run.append(percentile(times, 0.5))
    return compare("level 2: one key, P50 µs, over a bare GET", *runs)


async def _crowded(ours: Call, bare: Call) -> Claim:
    """Many callers at once: what counts is the processor time of this process for a key."""

    async def caller(call: Call) -> None:
        for _ in range(CALLS // 40):
            await call()

    async def run(call: Call) -> float:
        begun_s = time.process_time()
        await asyncio.gather(*(caller(call) for _ in range(TASKS)))
        return (time.process_time() - begun_s) / (TASKS * (CALLS // 40)) * 1e6

    pairs = [(await run(ours), await run(bare)) for _ in range(REPEATS)]
    return compare(f"level 2: one key, {TASKS} callers, processor µs, over bare GETs", *zip(*pairs, strict=True))


async def _in_batches(ours: Call, bare: Call) -> Claim:
    async def run(call: Call) -> float:
        begun_s = time.process_time()
        for _ in range(CALLS // 20):
            await call()
        return (time.process_time() - begun_s) / (CALLS // 20) * 1e6

    pairs = [(await run(ours), await run(bare)) for _ in range(REPEATS)]
    return compare(f"level 2: {BATCH} keys, processor µs, over a bare MGET", *zip(*pairs, strict=True))


async def _write(url: str, keys: Sequence[bytes]) -> None:
    """Scored answers, as the pipeline leaves them."""
    connection = await asyncpg.connect(url)
    round_id = uuid4()
    await connection.execute("insert into rounds values ($1, 'r', 's', true, 0, 9, null)", round_id)
    await connection.execute("insert into round_contestants values ($1, 'north', 0, true)", round_id)
    await connection.execute(
        "insert into round_questions select $1, 'q' || n, n, '', '', array['?'], '' from generate_series(1, $2) n",
        round_id,
        len(keys),
    )
    await connection.execute(
        "insert into round_answers (id, round, question, contestant, stage, texts, score, revision, score_key)"
        " select gen_random_uuid(), $1, 'q' || n, 'north', 'scored', array['a'], n, 'reward-1', k"
        " from unnest($2::bytea[]) with ordinality as t (k, n)",
        round_id,
        list(keys),
    )
    await connection.execute("analyze round_answers")
    await connection.close()
