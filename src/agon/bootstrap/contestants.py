"""Who takes part, by configuration: read from it, written to the ledger, kept up with its changes."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from agon.config import ContestantSettings, Settings, config_file, load_settings
from agon.core.contestants import Contestant, ContestantKind, ContestantState, Origin
from agon.core.errors import AgonError, InvalidInput, Unavailable
from agon.core.ports import ContestantLedger
from agon.engines.catalogue import built_in, default_contestants
from agon.engines.choice import draft_of, weights_of
from agon.engines.openai_http import chat_url
from agon.engines.progress import in_words
from agon.engines.weights import WeightStore

log = logging.getLogger(__name__)

_CONFIGURATION_TICK_S = 1.0
_told: dict[str, str] = {}


async def sync_contestants(configured: Sequence[Contestant], ledger: ContestantLedger) -> None:
    """Make the ledger's contestants of the configuration equal to it; what an admin added, paused or drains stays."""
    wanted = {contestant.name: contestant for contestant in configured}
    present = {contestant.name: contestant for contestant in await ledger.contestants()}
    for name, contestant in wanted.items():
        before = present.get(name)
        if before is None or before.origin is not Origin.ADMIN:
            kept = {} if before is None else {"state": before.state, "draining": before.draining}
            await ledger.put_contestant(replace(contestant, **kept), replace=True)
    for name, contestant in present.items():
        if name not in wanted and contestant.origin is not Origin.ADMIN:
            await ledger.put_contestant(replace(contestant, state=ContestantState.REMOVED), replace=True)


async def follow_configuration(weights: WeightStore, ledger: ContestantLedger) -> None:
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
        try:
            weights.ensure(built_in(default.name).weights, lambda step, say=say: say(in_words(step)))
        except AgonError as error:
            say(f"cannot be had. {error.message}")
            names.append(default.fallback or default.name)
        else:
            names.append(default.name)
    return names


def tell_operator(subject: str, words: str) -> None:
    """A line that `agon up` shows to the person at the terminal; what was just said is not said again."""
    if _told.get(subject) == words:
        return
    _told[subject] = words
    print(f"agon: {subject}: {words}", flush=True)  # noqa: T201 - standard output is how a process speaks to `agon up`


def with_urls(contestant: Contestant, urls: Sequence[str]) -> Contestant:
    """A contestant with other servers. Raises `InvalidInput`, naming the field."""
    if contestant.kind is ContestantKind.EMBEDDED:
        raise InvalidInput("A model that runs inside the runner has no servers.", field="urls")
    if len(set(urls)) < len(urls):
        raise InvalidInput("urls names a server twice.", field="urls")
    for url in urls:
        chat_url(url)
    return replace(contestant, urls=tuple(urls))


def contestant_of(entry: ContestantSettings, settings: Settings, origin: Origin) -> Contestant:
    """A contestant as it is configured, or as an admin describes it. Raises `InvalidInput`, naming the field."""
    for url in entry.servers:
        chat_url(url)
    embedded = not entry.servers
    if entry.weights is not None:
        weights_of(entry.name, entry.weights, entry.sha256)
    if entry.draft is not None:
        draft_of(entry.name, entry.draft)
    return Contestant(
        name=entry.name,
        kind=ContestantKind.EMBEDDED if embedded else ContestantKind.OPENAI,
        model=entry.weights or entry.model or entry.name,
        urls=entry.servers,
        key_env=entry.key_env,
        sha256=entry.sha256,
        draft=entry.draft or entry.speculative,
        weight=entry.weight,
        max_concurrent=settings.engine.slots if embedded else entry.max_concurrent,
        prefill=embedded or entry.prefill,
        origin=origin,
    )
