"""The parts of a gateway."""

import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from agon.arena.conversations import Arena, Chance, Ledgers
from agon.arena.executor import Executor
from agon.arena.roster import Contestants
from agon.arena.watching import Watching
from agon.boards.reader import BoardReader
from agon.bootstrap.addresses import jobs as jobs_of
from agon.bootstrap.addresses import store_urls
from agon.bootstrap.background import in_background
from agon.bootstrap.executor import executing
from agon.bootstrap.relay import relay
from agon.bootstrap.rounds import RoundParts, round_parts
from agon.bootstrap.scorer_desk import ScorerDesk, scorer_desk
from agon.config import Settings
from agon.core.conversation import Limits
from agon.core.placement import Admission
from agon.dispatch.clearing import Clearing
from agon.relay.relay import Relay
from agon.rounds.engine_checks import EngineChecks
from agon.stores.jobs import BoardJobs
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresAdminKeys, PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.engine_checks import PostgresEngineChecks
from agon.stores.postgres.votes import PostgresVotes
from agon.stores.redis.boards import RedisBoards
from agon.stores.redis.bus import RedisBus
from agon.stores.redis.dispatch import RedisDispatch
from agon.stores.redis.watchers import RedisWatchers
from agon.telemetry import Metrics

_COOKIE_KEY_FILE = "cookie-secret"


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the HTTP routes are given."""

    settings: Settings
    secret: str
    limits: Limits
    arena: Arena
    executor: Executor
    watching: Watching
    contestants: Contestants
    boards: BoardReader
    relay: Relay
    rounds: RoundParts
    scorers: ScorerDesk
    jobs: BoardJobs
    admin_keys: PostgresAdminKeys
    engine_checks: EngineChecks
    metrics: Metrics


def limits_of(settings: Settings) -> Limits:
    return Limits(settings.limits.prompt_chars, settings.limits.turns, settings.limits.answer_tokens)


def admission_of(settings: Settings) -> Admission:
    limits = settings.limits
    return Admission(
        client_tokens_per_s=limits.client_tokens_per_minute / 60,
        client_burst_tokens=limits.client_tokens_per_minute,
        arena_share=limits.arena_share,
        queue_s=limits.queue_s,
    )


@asynccontextmanager
async def gateway(settings: Settings, metrics: Metrics) -> AsyncGenerator[Gateway]:
    """The parts of a gateway, open while the block runs."""
    database_url, redis_url = store_urls(settings)
    prefix = settings.stores.redis_prefix
    name = executor_name()
    async with AsyncExitStack() as stack:
        database = Database(database_url)
        await database.open()
        stack.push_async_callback(database.close)
        bus = RedisBus(redis_url, prefix=prefix)
        stack.push_async_callback(bus.close)
        dispatch = RedisDispatch(redis_url, prefix=prefix, executor=name, admission=admission_of(settings))
        stack.push_async_callback(dispatch.close)
        watchers = RedisWatchers(redis_url, prefix=prefix)
        stack.push_async_callback(watchers.close)
        boards = RedisBoards(redis_url, prefix=prefix)
        stack.push_async_callback(boards.close)
        votes = PostgresVotes(database)
        stack.push_async_callback(votes.close)
        answers = PostgresAnswers(database)
        stack.push_async_callback(answers.close)
        jobs = BoardJobs(jobs_of(settings))
        stack.push_async_callback(jobs.close)
        contestants = Contestants(
            PostgresContestants(database), dispatch, time.monotonic, cold_plays=settings.engine.cold == "wait"
        )
        clearing = Clearing(dispatch, time.monotonic)
        executor = Executor(dispatch, clearing)
        limits = limits_of(settings)
        arena = Arena(
            Ledgers(PostgresConversations(database), answers, votes),
            contestants=contestants,
            executor=executor,
            bus=bus,
            limits=limits,
            chance=Chance(secrets.SystemRandom().random, uuid4),
        )
        watching = Watching(watchers, name, arena.abandon)
        stack.push_async_callback(watching.close)
        relaying = await stack.enter_async_context(
            relay(settings, rosters=contestants, dispatch=dispatch, clearing=clearing, bus=bus)
        )
        rounds = await stack.enter_async_context(round_parts(settings, database, contestants=contestants))
        scorers = await stack.enter_async_context(scorer_desk(settings, database))
        await stack.enter_async_context(executing(dispatch, clearing, relaying.reports))
        stack.push_async_callback(executor.close)
        await stack.enter_async_context(in_background(watching.run))
        yield Gateway(
            settings=settings,
            secret=settings.secret or kept_secret(settings.data_dir),
            limits=limits,
            arena=arena,
            executor=executor,
            watching=watching,
            contestants=contestants,
            boards=BoardReader(boards),
            relay=relaying,
            rounds=rounds,
            scorers=scorers,
            jobs=jobs,
            admin_keys=PostgresAdminKeys(database),
            engine_checks=PostgresEngineChecks(database),
            metrics=metrics,
        )


def executor_name() -> str:
    """Names this process among all that run turns."""
    return f"gateway-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def kept_secret(data_dir: Path) -> str:
    """The secret that signs cookies, made at the first start and kept in the data folder."""
    path = data_dir / _COOKIE_KEY_FILE
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    except FileExistsError:
        pass
    return path.read_text("ascii")
