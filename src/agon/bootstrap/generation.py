"""The parts that ask contestants in the background, and that make the answers of rounds."""

import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from agon.arena.roster import Contestants
from agon.bootstrap.addresses import store_urls
from agon.bootstrap.background import in_background
from agon.bootstrap.caches import Caching
from agon.bootstrap.executor import executing
from agon.config import Settings
from agon.core.contestants import Contestant, ContestantKind
from agon.core.generation import Sampling
from agon.dispatch.clearing import Clearing
from agon.engines.choice import weights_of
from agon.engines.sources import PathSource
from agon.rounds.asking import Asking, AskingRules, Ways
from agon.rounds.generation import Generation, GenerationParts, GenerationRules
from agon.rounds.requests import model_revision
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_generation import PostgresGeneration
from agon.stores.redis.bus import RedisBus
from agon.stores.redis.dispatch import RedisDispatch

_PATIENCE_S = 60.0
"""How long it is tried to have somebody asked, before an answer is laid aside for a moment."""


@dataclass(frozen=True, slots=True)
class AskingParts:
    """How a worker asks contestants: for the answers of rounds, and for what judges say of them."""

    name: str
    """Of this executor."""
    asks: Asking
    rosters: Contestants


@asynccontextmanager
async def asking(settings: Settings, database: Database) -> AsyncGenerator[AskingParts]:
    """One a process, open while the block runs. Bound to the loop in which it is opened."""
    _, redis_url = store_urls(settings)
    prefix = settings.stores.redis_prefix
    name = f"worker-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    async with AsyncExitStack() as stack:
        bus = RedisBus(redis_url, prefix=prefix)
        stack.push_async_callback(bus.close)
        dispatch = RedisDispatch(redis_url, prefix=prefix, executor=name)
        stack.push_async_callback(dispatch.close)
        rosters = Contestants(PostgresContestants(database), dispatch, time.monotonic)
        clearing = Clearing(dispatch, time.monotonic)
        # It serves no replica, and holds turns only until their runners have them.
        await stack.enter_async_context(executing(dispatch, clearing, tuple))
        ways = Ways(dispatch, clearing, bus, rosters, time.monotonic)
        rules = AskingRules(settings.rounds.share, settings.limits.other_deadline_s, _PATIENCE_S)
        yield AskingParts(name, Asking(ways, rules), rosters)


@asynccontextmanager
async def generation(
    settings: Settings, database: Database, *, asking: AskingParts, answers: Caching, came: Callable[[], None]
) -> AsyncGenerator[Generation]:
    """Makes the answers of rounds while the block runs; `came` is called for each that is there to be scored."""
    sampling = settings.sampling
    rules = GenerationRules(
        holder=asking.name,
        share=settings.rounds.share,
        lease_s=settings.rounds.lease_s,
        sampling=lambda max_tokens: Sampling(max_tokens, sampling.temperature, sampling.top_p),
    )
    parts = GenerationParts(
        ledger=PostgresGeneration(database),
        asks=asking.asks,
        rosters=asking.rosters,
        flight=answers.flight,
        revision=revision_of,
        came=came,
    )
    making = Generation(rules, parts)
    async with in_background(making.run):
        yield making


def revision_of(contestant: Contestant) -> str:
    """Names everything of a contestant that decides what it says."""
    return model_revision(contestant, _weights(contestant) if contestant.kind is ContestantKind.EMBEDDED else "")


def _weights(contestant: Contestant) -> str:
    """The digest of a model's weights; of a file that nobody has vouched for, its size and age where it is here."""
    weights = weights_of(contestant.name, contestant.model, contestant.sha256)
    if weights.sha256 is not None or not isinstance(weights.source, PathSource):
        return f"{weights.source} {weights.sha256}"
    try:
        found = weights.source.path.stat()
    except OSError:
        return str(weights.source)
    return f"{weights.source} {found.st_size} {found.st_mtime_ns}"
