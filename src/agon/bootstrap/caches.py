"""Caches of scores and of rounds' answers, for processes that make them."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from agon.bootstrap.addresses import store_urls
from agon.bootstrap.background import in_background
from agon.config import Settings
from agon.core.hot import HotSet
from agon.core.round_ports import Shelf
from agon.rounds.caches import TieredCache
from agon.rounds.flights import SingleFlight
from agon.rounds.known import Known
from agon.stores.postgres.database import Database
from agon.stores.postgres.shelves import answers_of, scores_of
from agon.stores.redis.cache import RedisCache
from agon.telemetry import CacheMetrics

SCORES = "scores"
ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class Caching:
    """A cache, and making what it lacks once. Both are bound to the loop in which they were built."""

    cache: TieredCache
    flight: SingleFlight


@asynccontextmanager
async def score_cache(settings: Settings, database: Database, metrics: CacheMetrics) -> AsyncGenerator[Caching]:
    """The cache of scores, open while the block runs. Make one a process, and its metrics once."""
    async with _caching(settings, SCORES, scores_of(database), metrics) as caching:
        yield caching


@asynccontextmanager
async def answer_cache(settings: Settings, database: Database, metrics: CacheMetrics) -> AsyncGenerator[Caching]:
    """The same of rounds' answers."""
    async with _caching(settings, ANSWERS, answers_of(database), metrics) as caching:
        yield caching


@asynccontextmanager
async def _caching(settings: Settings, name: str, shelf: Shelf, metrics: CacheMetrics) -> AsyncGenerator[Caching]:
    limits = settings.cache
    _, redis_url = store_urls(settings)
    async with AsyncExitStack() as stack:
        shared = RedisCache(redis_url, prefix=settings.stores.redis_prefix, name=name, ttl_s=limits.redis_s)
        stack.push_async_callback(shared.close)
        known = Known(shelf, shared, capacity=limits.known_keys)
        await stack.enter_async_context(in_background(known.run))
        cache = TieredCache(HotSet(limits.entries, limits.mib << 20), shared, shelf, known)
        metrics.watch(name, cache)
        yield Caching(cache, SingleFlight(cache, shared, lease_s=limits.lease_s))
