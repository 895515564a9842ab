"""The parts of a runner: engines, and the loop that owns them."""

import asyncio
import os
import random
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from prometheus_client import CollectorRegistry

from agon.bootstrap.addresses import store_urls
from agon.bootstrap.contestants import configured_contestants, follow_configuration, sync_contestants, tell_operator
from agon.config import Settings
from agon.core.contestants import NGRAM, Contestant
from agon.core.errors import InvalidInput
from agon.core.generation import Engine
from agon.dispatch.policy import Policy
from agon.dispatch.pool import EngineFactory
from agon.dispatch.runner import Runner, RunnerParts, RunnerSettings
from agon.engines.catalogue import default_contestants
from agon.engines.choice import draft_of, weights_of
from agon.engines.embedded import EmbeddedEngine, Household, WarmStart
from agon.engines.llamacpp_options import LlamaCppOptions
from agon.engines.memory import available_bytes
from agon.engines.model_memory import MemoryNews, ModelMemory
from agon.engines.openai_http import OpenAiEngine
from agon.engines.weights import WeightStore
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.database import Database
from agon.stores.redis.bus import RedisBus
from agon.stores.redis.dispatch import RedisDispatch
from agon.telemetry import RunnerMetrics

_MEMORY_MARGIN_BYTES = 512 << 20
"""Of what is free at the start, left to stores, gateways and the page cache."""


@asynccontextmanager
async def runner(settings: Settings, metrics: RunnerMetrics | None = None) -> AsyncGenerator[Runner]:
    """A runner with the configured contestants in the ledger."""
    database_url, redis_url = store_urls(settings)
    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    async with AsyncExitStack() as stack:
        database = Database(database_url)
        await database.open()
        stack.push_async_callback(database.close)
        bus = RedisBus(redis_url, prefix=settings.stores.redis_prefix)
        stack.push_async_callback(bus.close)
        dispatch = RedisDispatch(redis_url, prefix=settings.stores.redis_prefix, executor=name)
        stack.push_async_callback(dispatch.close)
        answers = PostgresAnswers(database, temperature=settings.sampling.temperature, top_p=settings.sampling.top_p)
        stack.push_async_callback(answers.close)
        contestants = PostgresContestants(database)
        weights = WeightStore(settings.data_dir / "models")
        await sync_contestants(await configured_contestants(settings, weights), contestants)
        watching = asyncio.create_task(follow_configuration(weights, contestants))
        stack.callback(watching.cancel)
        measures = metrics or RunnerMetrics(CollectorRegistry())
        policy = Policy(settings.limits.battle_deadline_s, settings.limits.other_deadline_s)
        yield Runner(
            RunnerSettings(name, policy, settings.engine.drain_s, tell_operator),
            RunnerParts(
                answers=answers,
                contestants=contestants,
                bus=bus,
                dispatch=dispatch,
                make_engine=engine_factory(settings, weights, measures),
                measures=measures,
                monotonic_s=time.monotonic,
                chance=random.random,
            ),
        )


def engine_factory(settings: Settings, weights: WeightStore, metrics: RunnerMetrics) -> EngineFactory:
    """How a contestant's engine is made."""
    embedded = [entry.name for entry in settings.contestants if not entry.servers]
    options = llamacpp_options(settings, engines=len(embedded) or len(default_contestants()))
    memory = ModelMemory(_memory_bytes(settings), MemoryNews(metrics.loaded, metrics.evicted))
    order = embedded or [default.name for default in default_contestants()]
    household = Household(weights, memory, WarmStart(order), settings.engine.cold)

    def make(contestant: Contestant, url: str | None, progress: Callable[[str], None]) -> Engine:
        def say(words: str) -> None:
            progress(words)
            tell_operator(contestant.name, words)

        if url is None:
            return _embedded(contestant, household, options, say)
        return OpenAiEngine(
            url,
            contestant.model,
            api_key=_key(contestant.key_env),
            max_connections=contestant.max_concurrent + 1,
        )

    return make


def _embedded(
    contestant: Contestant, household: Household, options: LlamaCppOptions, say: Callable[[str], None]
) -> EmbeddedEngine:
    name, draft = contestant.name, contestant.draft
    ngram = draft == NGRAM
    return EmbeddedEngine(
        name,
        weights_of(name, contestant.model, contestant.sha256),
        household,
        replace(options, ngram=ngram),
        say,
        draft=None if draft is None or ngram else draft_of(name, draft),
    )


def _memory_bytes(settings: Settings) -> int:
    """What models may take: as configured, else what is free now, less something for everything else."""
    if settings.engine.memory_mib is not None:
        return settings.engine.memory_mib << 20
    return max(0, available_bytes() - _MEMORY_MARGIN_BYTES)


def _key(variable: str | None) -> str | None:
    """The key in an environment variable. Raises `InvalidInput` if it is named and not set."""
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise InvalidInput(f"The environment variable {variable} is not set where the runner runs.", field="key_env")
    return os.environ[variable]


def llamacpp_options(settings: Settings, *, engines: int) -> LlamaCppOptions:
    """The options of embedded engines that share this machine."""
    ours = settings.engine
    shared = LlamaCppOptions.for_machine(cores=os.cpu_count() or 1, engines=engines)
    return replace(
        shared,
        n_threads=ours.threads or shared.n_threads,
        n_parallel=ours.slots,
        n_ctx_per_slot=ours.context_tokens,
        cache_mib=ours.cache_mib,
        max_seconds=ours.answer_seconds or shared.max_seconds,
    )
