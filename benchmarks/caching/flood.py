"""What a flood of strangers does to the hot set, and to the levels behind it."""

import os
import random
from collections import OrderedDict
from collections.abc import Sequence

from benchmarks.caching.levels import ENTRIES, VALUE, Parts, drawn, opened
from benchmarks.harness.statistics import Claim, Fact, compare

from agon.core.bloom import Bloom
from agon.rounds.known import WRONG
from agon.stores.postgres.database import Database

HOT = 400
ASKINGS = 4_000
STRANGERS = 10
"""For each asking of a hot key."""
REPEATS = 3
FILTER = 1_000_000


class PlainLru:
    """What one would write without a doorman."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._values: OrderedDict[bytes, bytes] = OrderedDict()

    def ask(self, key: bytes) -> bool:
        if key in self._values:
            self._values.move_to_end(key)
            return True
        self._values[key] = VALUE
        if len(self._values) > self._entries:
            self._values.popitem(last=False)
        return False


async def measure(redis_url: str, database_url: str) -> tuple[list[Claim], list[Fact]]:
    database = Database(database_url)
    await database.open()
    during: list[float] = []
    before: list[float] = []
    plain: list[float] = []
    asked: list[float] = []
    try:
        for repeat in range(REPEATS):
            hot, chance = drawn(HOT), random.Random(repeat)
            async with opened(redis_url, database, prefix=f"flood{repeat}") as parts:
                await _ask(parts, hot, chance, strangers=0)
                before.append((await _ask(parts, hot, chance, strangers=0))[0])
                rate, reads = await _ask(parts, hot, chance, strangers=STRANGERS)
                during.append(rate)
                asked.append(reads)
            plain.append(_plain(hot, chance))
    finally:
        await database.close()
    claims = [
        compare("hot set in memory during the flood, %, over before", during, before),
        compare("hot set in memory during the flood, %, over a plain LRU", during, plain),
    ]
    return claims, [Fact("strangers for which Redis or the ledger was asked", sum(asked) / len(asked), "%"), *_full()]


def _full() -> list[Fact]:
    """The filter at its worst: as many keys as it is made for, just before it is read into a larger one."""
    full = Bloom(FILTER, WRONG)
    for _ in range(0, FILTER, 5_000):
        full.add(drawn(5_000))
    let_through = FILTER - sum(len(full.unknown(drawn(5_000))) for _ in range(0, FILTER, 5_000))
    return [
        Fact("the same with a full filter of a million keys", 100 * let_through / FILTER, "%"),
        Fact("what that filter says of itself", 100 * full.wrong, "%"),
        Fact("its size", full.size_bytes / 2**20, "MiB"),
    ]


async def _ask(parts: Parts, hot: Sequence[bytes], chance: random.Random, *, strangers: int) -> tuple[float, float]:
    """Shares in %: of hot askings answered from memory, and of strangers that reached another level."""
    from_memory, known = 0, 0
    for _ in range(ASKINGS):
        key = chance.choice(hot)
        before = parts.cache.counts.memory
        if not await parts.cache.find([key]):
            await parts.cache.keep({key: VALUE})
        from_memory += parts.cache.counts.memory - before
        for _ in range(strangers):
            stranger, before = os.urandom(32), parts.cache.counts.rejected
            # What is unknown is scored, and kept: that is what would push others out.
            assert not await parts.cache.find([stranger])
            known += before == parts.cache.counts.rejected
            await parts.cache.keep({stranger: VALUE})
    return 100 * from_memory / ASKINGS, 100 * known / max(1, ASKINGS * strangers)


def _plain(hot: Sequence[bytes], chance: random.Random) -> float:
    lru = PlainLru(ENTRIES)
    for key in hot:
        lru.ask(key)
    hits = 0
    for _ in range(ASKINGS):
        hits += lru.ask(chance.choice(hot))
        for _ in range(STRANGERS):
            lru.ask(os.urandom(32))
    return 100 * hits / ASKINGS
