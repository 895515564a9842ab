"""The only place that builds objects: settings in, a gateway's, a runner's or a worker's parts out."""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import uuid4

from celery import Celery

from agon.arena.conversations import Arena, Chance
from agon.arena.roster import Contestants
from agon.boards.live import LiveBoard
from agon.config import ContestantSettings, Settings, config_file, load_settings
from agon.core.contestants import Contestant, ContestantKind, ContestantState, Origin
from agon.core.conversation import Limits
from agon.core.errors import InvalidInput, Unavailable
from agon.core.generation import Engine
from agon.core.ports import BoardStore, ContestantLedger
from agon.dispatch.policy import Policy
from agon.dispatch.pool import EngineFactory
from agon.dispatch.runner import Runner, RunnerSettings
from agon.engines.catalogue import built_in, default_contestants
from agon.engines.embedded import EmbeddedEngine, ensure_or_explain, weights_of
from agon.engines.llamacpp import LlamaCppOptions
from agon.engines.openai_http import OpenAiEngine, chat_url
from agon.engines.weights import WeightStore
from agon.stores.jobs import BoardJobs, celery_app
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresAdminKeys, PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.migrate import migrate
from agon.stores.postgres.votes import PostgresVotes
from agon.stores.redis.boards import RedisBoards
from agon.stores.redis.bus import RedisBus
from agon.telemetry import Metrics

log = logging.getLogger(__name__)

_CONFIGURATION_TICK_S = 1.0
_told: dict[str, str] = {}
_COOKIE_KEY_FILE = "cookie-secret"


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the HTTP routes are given."""

    settings: Settings
    secret: str
    limits: Limits
    arena: Arena
    contestants: Contestants
    boards: BoardStore
    jobs: BoardJobs
    admin_keys: PostgresAdminKeys
    metrics: Metrics


def _stores(settings: Settings) -> tuple[str, str]:
    """Where the ledger and the bus are. Raises `InvalidInput` if either is not said."""
    if not settings.stores.database_url or not settings.stores.redis_url:
        raise InvalidInput(
            "AGON_DATABASE_URL and AGON_REDIS_URL must be set; `agon up` starts embedded servers and sets them itself.",
            code="bad_configuration",
        )
    return settings.stores.database_url, settings.stores.redis_url


def _jobs(settings: Settings) -> Celery:
    return celery_app(settings.stores.redis_url, settings.stores.redis_prefix)


def limits_of(settings: Settings) -> Limits:
    return Limits(settings.limits.prompt_chars, settings.limits.turns, settings.limits.answer_tokens)


@asynccontextmanager
async def gateway(settings: Settings, metrics: Metrics) -> AsyncGenerator[Gateway]:
    """The parts of a gateway, open while the block runs."""
    database_url, redis_url = _stores(settings)
    prefix = settings.stores.redis_prefix
    async with AsyncExitStack() as stack:
        database = Database(database_url)
        await database.open()
        stack.push_async_callback(database.close)
        bus = RedisBus(redis_url, prefix=prefix)
        stack.push_async_callback(bus.close)
        boards = RedisBoards(redis_url, prefix=prefix)
        stack.push_async_callback(boards.close)
        votes = PostgresVotes(database)
        stack.push_async_callback(votes.close)
        answers = PostgresAnswers(database)
        stack.push_async_callback(answers.close)
        jobs = BoardJobs(_jobs(settings))
        stack.push_async_callback(jobs.close)
        contestants = Contestants(PostgresContestants(database), bus, time.monotonic)
        limits = limits_of(settings)
        arena = Arena(
            conversations=PostgresConversations(database),
            answers=answers,
            votes=votes,
            contestants=contestants,
            bus=bus,
            limits=limits,
            chance=Chance(secrets.SystemRandom().random, uuid4),
        )
        yield Gateway(
            settings=settings,
            secret=settings.secret or kept_secret(settings.data_dir),
            limits=limits,
            arena=arena,
            contestants=contestants,
            boards=boards,
            jobs=jobs,
            admin_keys=PostgresAdminKeys(database),
            metrics=metrics,
        )


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


@asynccontextmanager
async def runner(settings: Settings) -> AsyncGenerator[Runner]:
    """A runner with the configured contestants in the ledger."""
    database_url, redis_url = _stores(settings)
    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    async with AsyncExitStack() as stack:
        database = Database(database_url)
        await database.open()
        stack.push_async_callback(database.close)
        bus = RedisBus(redis_url, prefix=settings.stores.redis_prefix, runner=name)
        stack.push_async_callback(bus.close)
        answers = PostgresAnswers(database, temperature=settings.sampling.temperature, top_p=settings.sampling.top_p)
        stack.push_async_callback(answers.close)
        contestants = PostgresContestants(database)
        weights = WeightStore(settings.data_dir / "models")
        await sync_contestants(await configured_contestants(settings, weights), contestants)
        watching = asyncio.create_task(_follow_configuration(weights, contestants))
        stack.callback(watching.cancel)
        policy = Policy(settings.limits.battle_deadline_s, settings.limits.other_deadline_s)
        yield Runner(
            RunnerSettings(name, policy),
            answers=answers,
            contestants=contestants,
            bus=bus,
            make_engine=engine_factory(settings, weights),
            monotonic_s=time.monotonic,
        )


async def sync_contestants(configured: Sequence[Contestant], ledger: ContestantLedger) -> None:
    """Make the ledger's contestants of the configuration equal to it; what an admin added or paused stays."""
    wanted = {contestant.name: contestant for contestant in configured}
    present = {contestant.name: contestant for contestant in await ledger.contestants()}
    for name, contestant in wanted.items():
        before = present.get(name)
        if before is None or before.origin is not Origin.ADMIN:
            state = ContestantState.ACTIVE if before is None else before.state
            await ledger.put_contestant(replace(contestant, state=state), replace=True)
    for name, contestant in present.items():
        if name not in wanted and contestant.origin is not Origin.ADMIN:
            await ledger.put_contestant(replace(contestant, state=ContestantState.REMOVED), replace=True)


async def _follow_configuration(weights: WeightStore, ledger: ContestantLedger) -> None:
    """Bring the contestants up to date whenever the configuration file changes; a bad one changes nothing."""
    seen = _configuration_stamp()
    while True:
        await asyncio.sleep(_CONFIGURATION_TICK_S)
        stamp = await asyncio.to_thread(_configuration_stamp)
        if stamp == seen:
            continue
        try:
            await sync_contestants(await configured_contestants(load_settings(), weights), ledger)
            log.info("the contestants follow the changed configuration")
            seen = stamp
        except InvalidInput as error:
            log.error("the changed configuration is not used: %s", error.message)  # noqa: TRY400 - a user's mistake
            seen = stamp
        except Unavailable as error:
            log.warning("%s", error.message)


def _configuration_stamp() -> tuple[int, int] | None:
    path = config_file()
    if path is None or not path.is_file():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size


async def configured_contestants(settings: Settings, weights: WeightStore) -> list[Contestant]:
    """The contestants of `agon.toml`; if it names none, the built-in ones that can be had."""
    if settings.contestants:
        return [contestant_of(entry, settings, Origin.CONFIG) for entry in settings.contestants]
    if not settings.default_models:
        return []
    names = await asyncio.to_thread(_obtainable_defaults, weights)
    built_ins = [ContestantSettings(name=name, weights=name) for name in names]
    return [contestant_of(entry, settings, Origin.DEFAULT) for entry in built_ins]


def _obtainable_defaults(weights: WeightStore) -> list[str]:
    """The built-in contestants, with the fallback for one that cannot be had. Blocks while weights are fetched."""
    names: list[str] = []
    for default in default_contestants():
        say = partial(tell_operator, default.name)
        problem = ensure_or_explain(weights, built_in(default.name).weights, say)
        if problem is not None:
            say(f"cannot be had. {problem.message}")
        if problem is not None and default.fallback is not None:
            tell_operator(default.fallback, f"plays in its place, as {default.name} cannot be had")
            names.append(default.fallback)
        else:
            names.append(default.name)
    return names


def tell_operator(subject: str, words: str) -> None:
    """A line that `agon up` shows to the person at the terminal; what was just said is not said again."""
    if _told.get(subject) == words:
        return
    _told[subject] = words
    print(f"agon: {subject}: {words}", flush=True)  # noqa: T201 - standard output is how a process speaks to `agon up`


def contestant_of(entry: ContestantSettings, settings: Settings, origin: Origin) -> Contestant:
    """A contestant as it is configured, or as an admin describes it. Raises `InvalidInput`, naming the field."""
    embedded = entry.url is None
    if entry.url is not None:
        chat_url(entry.url)
    elif entry.weights is not None:
        weights_of(entry.name, entry.weights, entry.sha256)
    return Contestant(
        name=entry.name,
        kind=ContestantKind.EMBEDDED if embedded else ContestantKind.OPENAI,
        model=entry.weights or entry.model or entry.name,
        url=entry.url,
        key_env=entry.key_env,
        sha256=entry.sha256,
        weight=entry.weight,
        max_concurrent=settings.engine.slots if embedded else entry.max_concurrent,
        origin=origin,
    )


def engine_factory(settings: Settings, weights: WeightStore) -> EngineFactory:
    """How a contestant's engine is made."""
    embedded = sum(entry.url is None for entry in settings.contestants) or len(default_contestants())
    options = llamacpp_options(settings, engines=embedded)

    def make(contestant: Contestant, progress: Callable[[str], None]) -> Engine:
        def say(words: str) -> None:
            progress(words)
            tell_operator(contestant.name, words)

        if contestant.url is None:
            found = weights_of(contestant.name, contestant.model, contestant.sha256)
            return EmbeddedEngine(contestant.name, found, weights, options, say)
        return OpenAiEngine(
            contestant.url,
            contestant.model,
            api_key=os.environ.get(contestant.key_env) if contestant.key_env else None,
            max_connections=contestant.max_concurrent + 1,
        )

    return make


def llamacpp_options(settings: Settings, *, engines: int) -> LlamaCppOptions:
    """The options of embedded engines that share this machine."""
    ours = settings.engine
    shared = LlamaCppOptions.for_machine(cores=os.cpu_count() or 1, engines=engines)
    return replace(
        shared,
        n_threads=ours.threads or shared.n_threads,
        n_parallel=ours.slots,
        n_ctx_per_slot=ours.context_tokens,
        max_seconds=ours.answer_seconds or shared.max_seconds,
    )


async def migrate_ledger(settings: Settings) -> int:
    """Bring the ledger's schema up to date; returns how many migrations were applied."""
    return await migrate(_stores(settings)[0])


async def ensure_admin_key(settings: Settings, *, another: bool) -> str | None:
    """Make an admin key if there is none, or in any case one more; returns it, the only time it can be seen."""
    async with _admin_keys(settings) as keys:
        if await keys.any() and not another:
            return None
        key = f"agon-{secrets.token_urlsafe(32)}"
        await keys.add(key)
        return key


async def revoke_admin_keys(settings: Settings) -> None:
    async with _admin_keys(settings) as keys:
        await keys.drop_all()


@asynccontextmanager
async def _admin_keys(settings: Settings) -> AsyncGenerator[PostgresAdminKeys]:
    database = Database(_stores(settings)[0], max_connections=1)
    await database.open()
    try:
        yield PostgresAdminKeys(database)
    finally:
        await database.close()


@asynccontextmanager
async def live_board(settings: Settings) -> AsyncGenerator[LiveBoard]:
    """What a worker needs to keep the live board."""
    database_url, redis_url = _stores(settings)
    async with AsyncExitStack() as stack:
        database = Database(database_url, max_connections=4)
        await database.open()
        stack.push_async_callback(database.close)
        boards = RedisBoards(redis_url, prefix=settings.stores.redis_prefix)
        stack.push_async_callback(boards.close)
        yield LiveBoard(
            votes=PostgresVotes(database),
            contestants=PostgresContestants(database),
            boards=boards,
            min_battles=settings.board.min_battles,
            now=lambda: datetime.now(UTC),
        )


def jobs_app(settings: Settings) -> Celery:
    """Celery, for the worker."""
    _stores(settings)
    return _jobs(settings)
