"""A cache over its three levels, on a real Valkey and a real ledger."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from agon.core.bloom import HASHED_BYTES
from agon.core.hot import HotSet
from agon.core.scoring import Score
from agon.embedded.valkey import ValkeyServer
from agon.rounds.caches import CacheCounts, TieredCache
from agon.rounds.known import Known
from agon.rounds.messages import SCHEMA, decode_answer, decode_score, encode_score, seal
from agon.stores.postgres.database import Database
from agon.stores.postgres.shelves import answers_of, scores_of
from agon.stores.redis.cache import RedisCache
from agon.stores.redis.client import Keys
from agon.stores.redis.wire import Wire
from agon.telemetry import CacheMetrics

VALUE = encode_score(Score(0.25, {"verdict": "光"}), "model-1")


def digest() -> bytes:
    return os.urandom(32)


@dataclass(slots=True)
class Process:
    """A process's cache, with what it is made of."""

    cache: TieredCache
    shared: RedisCache
    known: Known

    @property
    def counts(self) -> CacheCounts:
        return self.cache.counts

    @property
    def levels(self) -> tuple[int, int, int]:
        """Keys found in each."""
        return self.counts.memory, self.counts.shared, self.counts.ledger


async def until(condition: Callable[[], bool | Awaitable[bool]], patience_s: float = 10.0) -> None:
    async with asyncio.timeout(patience_s):
        while True:
            there = condition()
            if there if isinstance(there, bool) else await there:
                return
            await asyncio.sleep(0.01)


Begin = Callable[..., Awaitable[Process]]


@pytest.fixture
async def begin(redis_url: str, key_prefix: str, database: Database) -> AsyncIterator[Begin]:
    """Starts one more process's cache."""
    async with AsyncExitStack() as stack:

        async def start(url: str = redis_url, *, entries: int = 50, capacity: int = 10_000) -> Process:
            shared = RedisCache(url, prefix=key_prefix, name="scores", ttl_s=60)
            stack.push_async_callback(shared.close)
            shelf = scores_of(database)
            known = Known(shelf, shared, capacity=capacity)
            following = asyncio.create_task(known.run())

            async def end() -> None:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following

            stack.push_async_callback(end)
            return Process(TieredCache(HotSet(entries, 1 << 20), shared, shelf, known), shared, known)

        yield start


async def write(database: Database, scores: Mapping[bytes, Score], *, request: bytes | None = None) -> None:
    """As the pipeline leaves them in the ledger."""
    round_id = uuid4()
    async with database.transaction() as connection:
        await connection.execute("insert into rounds values ($1, 'r', 's', true, 0, 9, null)", round_id)
        await connection.execute("insert into round_contestants values ($1, 'north', 0, true)", round_id)
        await connection.execute(
            "insert into round_questions select $1, 'q' || n, n, '', '', array['?'], '' from generate_series(1, $2) n",
            round_id,
            len(scores),
        )
        await connection.executemany(
            "insert into round_answers (id, round, question, contestant, stage, texts, score, detail, revision,"
            " score_key, request_key) values ($1, $2, $3, 'north', 'scored', $4, $5, $6, 'model-1', $7, $8)",
            [
                (
                    uuid4(), round_id, f"q{number}", ["first", "光"], round(score.value * 1e6),
                    None if score.detail is None else json.dumps(dict(score.detail)), key, request,
                )
                for number, (key, score) in enumerate(scores.items(), 1)
            ],
        )  # fmt: skip


async def test_replies_may_be_bytes(redis_url: str, key_prefix: str) -> None:
    wire = Wire(redis_url, binary=True)
    assert await wire.several(("SET", key_prefix, b"\xff\x00"), ("GET", key_prefix)) == [b"OK", b"\xff\x00"]
    await wire.close()


async def test_what_is_kept_is_found_level_by_level(begin: Begin) -> None:
    here = await begin()
    key = digest()
    await here.cache.keep({key: VALUE})
    assert await here.cache.find([key, key]) == {key: VALUE}
    here.cache.hot.clear()
    assert await here.cache.find([key]) == {key: VALUE}
    assert await here.cache.find([key]) == {key: VALUE}
    assert here.levels == (2, 1, 0)
    assert await here.cache.find([]) == {}


async def test_the_ledger_is_the_last_level_and_fills_the_others(begin: Begin, database: Database) -> None:
    keys = [digest() for _ in range(3)]
    await write(database, {keys[0]: Score(0.5), keys[1]: Score(-1.25, {"orders": ["A>B", "光"]})})
    here = await begin()
    found = await here.cache.find(keys)
    assert {key: decode_score(value) for key, value in found.items()} == {
        keys[0]: Score(0.5),
        keys[1]: Score(-1.25, {"orders": ["A>B", "光"]}),
    }
    assert here.levels == (0, 0, 2)
    here.cache.hot.clear()
    assert await here.cache.find(keys) == found
    assert here.levels == (0, 2, 2)


async def test_answers_are_found_by_their_request(database: Database) -> None:
    request, shelf = digest(), answers_of(database)
    await write(database, {digest(): Score(1.0), digest(): Score(2.0)}, request=request)
    found = await shelf.find([request, digest()])
    assert {key: decode_answer(value) for key, value in found.items()} == {request: ("first", "光")}
    assert request in [key async for page in shelf.every_key() for key in page]


async def test_every_key_comes_once(database: Database) -> None:
    keys = [digest() for _ in range(12)]
    await write(database, dict.fromkeys(keys, Score(1.0)))
    await write(database, dict.fromkeys(keys[:5], Score(1.0)))
    listed = [key async for page in scores_of(database).every_key() for key in page]
    assert set(keys) <= set(listed)
    assert len(listed) == len(set(listed))


async def test_a_collision_an_old_schema_and_junk_are_misses(
    begin: Begin, redis: Any, redis_url: str, key_prefix: str
) -> None:
    here = await begin()
    key = digest()
    other = key[:8] + digest()[8:]
    await here.shared.keep({key: VALUE})
    assert await here.shared.find([other]) == {}
    assert await here.shared.find([key, other]) == {key: VALUE}
    [name] = [name async for name in redis.scan_iter(match=Keys(key_prefix).cached("scores", "*"))]
    wire = Wire(redis_url)
    for entry in (seal(key, VALUE, SCHEMA + 1), b"\xff junk", b""):
        await wire.call("SET", name, entry)
        assert await here.shared.find([key]) == {}
    await wire.call("DEL", name)
    await wire.call("RPUSH", name, "a list")
    assert await here.shared.find([key, digest()]) == {}
    assert await here.shared.find([key]) == {}
    assert not here.shared.away, "it has refused, and is there"
    await wire.close()


async def test_entries_end_but_not_together(begin: Begin, redis: Any, key_prefix: str) -> None:
    here = await begin()
    await here.cache.keep({digest(): VALUE for _ in range(40)})
    names = [name async for name in redis.scan_iter(match=Keys(key_prefix).cached("scores", "*"))]
    left_ms = [await redis.pttl(name) for name in names]
    assert len(names) == 40
    assert 45_000 < min(left_ms) < max(left_ms) <= 60_000
    assert max(left_ms) - min(left_ms) > 2_000


async def test_strangers_reach_no_level(begin: Begin, redis: Any, key_prefix: str) -> None:
    here = await begin()
    await until(lambda: here.known.whole)
    before = (await redis.info("commandstats")).get("cmdstat_mget", {}).get("calls", 0)
    assert await here.cache.find([digest() for _ in range(200)]) == {}
    assert (await redis.info("commandstats")).get("cmdstat_mget", {}).get("calls", 0) == before
    assert here.counts.rejected == here.counts.missed == 200


async def test_others_hear_of_a_key_before_they_could_find_it(begin: Begin) -> None:
    here, there = await begin(), await begin()
    await until(lambda: here.known.whole and there.known.whole)
    keys = [digest() for _ in range(1_200)]
    await here.cache.keep(dict.fromkeys(keys, VALUE))
    await until(lambda: not there.known.unknown(keys))
    assert len(await there.cache.find(keys)) == 1_200
    assert there.counts.shared == 1_200


async def test_a_filter_that_is_full_is_read_into_a_larger_one(begin: Begin, database: Database) -> None:
    keys = [digest() for _ in range(300)]
    await write(database, dict.fromkeys(keys, Score(1.0)))
    here = await begin(capacity=100)
    await until(lambda: here.known.whole)
    assert not here.known.unknown(keys)
    assert here.known.wrong < 0.001
    more = [digest() for _ in range(5_000)]
    await write(database, dict.fromkeys(more[:2_500], Score(1.0)))
    await here.cache.keep(dict.fromkeys(more, VALUE))
    await until(lambda: here.known.wrong < 0.001)
    assert not here.known.unknown(keys + more[:2_500])


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    """One that a test may stop."""
    server = ValkeyServer(tmp_path)
    server.start()
    yield server
    server.stop()


async def test_without_redis_the_others_go_on_at_once(
    begin: Begin, database: Database, own_valkey: ValkeyServer
) -> None:
    here = await begin(own_valkey.url)
    there = await begin(own_valkey.url)
    await until(lambda: here.known.whole and there.known.whole)
    written, hot = digest(), digest()
    await write(database, {written: Score(1.0)})
    await here.cache.keep({hot: VALUE})
    here.known.unknown([written])
    await here.known.add([written])
    own_valkey.stop()
    assert set(await here.cache.find([written, hot])) == {written, hot}
    assert here.shared.away
    begun_s = time.monotonic()
    later = [digest() for _ in range(50)]
    for key in later:
        await here.cache.keep({key: VALUE})
        await here.cache.find([key, digest()])
        assert set(await here.shared.take([key], 5)) == {key}
        await here.shared.give_back([key])
    assert time.monotonic() - begun_s < 0.5
    own_valkey.start()
    await until(lambda: not here.shared.away)
    await until(lambda: not there.known.unknown(later))
    await until(lambda: here.known.whole and there.known.whole)
    again = digest()
    await here.cache.keep({again: VALUE})
    assert await here.shared.find([again]) == {again: VALUE}


async def test_after_a_gap_the_ledger_tells_what_was_missed(
    begin: Begin, database: Database, redis: Any, key_prefix: str
) -> None:
    here = await begin()
    await until(lambda: here.known.whole)
    missed = digest()
    await write(database, {missed: Score(1.0)})
    assert here.known.unknown([missed]) == [missed], "nobody has told"
    # What a process says that had too much to tell; a new connection is the same.
    await redis.publish(Keys(key_prefix).made("scores"), "missed")
    await until(lambda: not here.known.unknown([missed]))
    await until(lambda: here.known.whole)
    assert set(await here.cache.find([missed])) == {missed}


async def test_junk_in_the_channel_is_nothing(begin: Begin, redis: Any, key_prefix: str) -> None:
    here = await begin()
    await until(lambda: here.known.whole)
    for junk in ("", "x", "YQ==", "\u5149"):
        await redis.publish(Keys(key_prefix).made("scores"), junk)
    key = digest()
    await here.shared.tell([key])
    await until(lambda: not here.known.unknown([key[:HASHED_BYTES]]))
    assert here.known.whole


async def test_a_lease_is_one_holders_until_it_ends(begin: Begin) -> None:
    here, there = (await begin()).shared, (await begin()).shared
    a, b, c = digest(), digest(), digest()
    assert set(await here.take([a, b], 5)) == {a, b}
    assert set(await there.take([b, c], 0.05)) == {c}
    await there.give_back([b, c])
    assert set(await here.take([a, b, c], 0.05)) == {c}, "nobody gives back what is another's"
    await here.give_back([a])

    async def free() -> bool:
        return set(await there.take([a, c], 5)) == {c} or bool(await there.take([c], 5))

    assert set(await there.take([a], 5)) == {a}
    await until(free)


async def test_a_ledger_that_is_away_is_a_miss(redis_url: str, key_prefix: str) -> None:
    shared = RedisCache(redis_url, prefix=key_prefix, name="scores", ttl_s=60)
    shelf = scores_of(Database("postgresql://nowhere.invalid/x"))
    cache = TieredCache(HotSet(10, 1 << 16), shared, shelf, Known(shelf, shared, capacity=1_000))
    key, stranger = digest(), digest()
    await cache.keep({key: VALUE})
    assert await cache.find([key, stranger]) == {key: VALUE}
    assert cache.counts.missed == 1
    assert cache.counts.rejected == 0, "before the ledger was read nothing is denied"
    await shared.close()


async def flood(cache: TieredCache, hot: Sequence[bytes], strangers: int) -> int:
    """Hits of one round over the hot keys, with so many strangers between each two, who are made and kept."""
    hits = 0
    for key in hot:
        found = await cache.find([key])
        hits += len(found)
        if not found:
            await cache.keep({key: VALUE})
        for stranger in [digest() for _ in range(strangers)]:
            assert await cache.find([stranger]) == {}
            await cache.keep({stranger: VALUE})
    return hits


async def test_a_flood_of_strangers_neither_displaces_nor_asks(begin: Begin) -> None:
    here = await begin(entries=100)
    await until(lambda: here.known.whole)
    hot = [digest() for _ in range(80)]
    for _ in range(3):
        await flood(here.cache, hot, 0)
    before, rejected = here.counts.memory, here.counts.rejected
    hits = sum([await flood(here.cache, hot, 10) for _ in range(4)])
    assert hits == 4 * len(hot)
    first_level = here.counts.memory - before
    assert first_level >= 0.95 * hits
    strangers = 4 * len(hot) * 10
    assert strangers - (here.counts.rejected - rejected) <= 0.01 * strangers


async def test_a_cache_is_measured_by_what_it_counts(begin: Begin) -> None:
    here = await begin()
    await until(lambda: here.known.whole)
    registry = CollectorRegistry()
    CacheMetrics(registry).watch("scores", here.cache)
    key = digest()
    await here.cache.keep({key: VALUE})
    await here.cache.find([key, digest()])
    here.cache.hot.clear()
    await here.cache.find([key])
    told = generate_latest(registry).decode()
    for line in (
        'arena_cache_hits_total{cache="scores",level="1"} 1.0',
        'arena_cache_hits_total{cache="scores",level="2"} 1.0',
        'arena_cache_hits_total{cache="scores",level="3"} 0.0',
        'arena_cache_misses_total{cache="scores"} 1.0',
        'arena_cache_bloom_rejections_total{cache="scores"} 1.0',
        'arena_cache_entries{cache="scores"} 1.0',
    ):
        assert line in told


async def test_a_server_that_is_full_costs_its_level_alone(begin: Begin, own_valkey: ValkeyServer) -> None:
    here = await begin(own_valkey.url)
    kept, refused = digest(), digest()
    await here.cache.keep({kept: VALUE})
    wire = Wire(own_valkey.url)
    await wire.call("CONFIG", "SET", "maxmemory", 1)
    await here.cache.keep({refused: VALUE})
    assert not here.shared.away
    assert await here.cache.find([kept, refused]) == {kept: VALUE, refused: VALUE}
    assert await here.shared.find([kept, refused]) == {kept: VALUE}
    await wire.close()
