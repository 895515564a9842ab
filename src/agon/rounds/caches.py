"""The three levels of a cache: this process, Redis, the ledger; and in front of the last two, what is known at all."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from agon.core.errors import Unavailable
from agon.core.hot import HotSet
from agon.core.round_ports import Shelf
from agon.rounds.known import Known

log = logging.getLogger(__name__)


class Level(Protocol):
    """The second level."""

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """What is there of these keys; nothing, at once, while the server is away."""
        ...

    async def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Never waits for a server that is away."""
        ...


class CacheMeasures(Protocol):
    """Where a cache says what happens. Levels are 1, 2 and 3."""

    def found(self, level: int, keys: int) -> None: ...

    def missed(self, keys: int) -> None:
        """No level has them."""
        ...

    def rejected(self, keys: int) -> None:
        """Of those that were missed, the ones that no level had to be asked for."""
        ...

    def holds(self, *, entries: int, size_bytes: int, evicted: int) -> None:
        """The state of the first level, and how many have left it since the last time."""
        ...

    def knows(self, *, keys: int, wrong: float) -> None:
        """The state of the filter, with the share of unknown keys that it lets through."""
        ...


class TieredCache:
    """`Cache` over three levels. Bound to one event loop: whoever has it awaits it there, and in no other thread."""

    def __init__(self, hot: HotSet, shared: Level, shelf: Shelf, *, known: Known, measures: CacheMeasures) -> None:
        self._hot = hot
        self._shared = shared
        self._shelf = shelf
        self._known = known
        self._measures = measures
        self._evicted = 0

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        absent: dict[bytes, None] = {}
        get = self._hot.get
        for key in keys:
            value = get(key)
            if value is None:
                absent[key] = None
            else:
                found[key] = value
        if found:
            self._measures.found(1, len(found))
        if absent:
            found |= await self._find_elsewhere(list(absent))
        return found

    async def keep(self, values: Mapping[bytes, bytes]) -> None:
        if not values:
            return
        self._put(values)
        # In this order: nobody may find that a key is unknown which already has a value there.
        await self._known.add(list(values))
        await self._shared.keep(values)

    async def _find_elsewhere(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        unknown = self._known.unknown(keys)
        asked = _without(keys, unknown)
        found: Mapping[bytes, bytes] = await self._find_known(asked) if asked else {}
        if unknown:
            self._measures.rejected(len(unknown))
        if len(found) < len(keys):
            self._measures.missed(len(keys) - len(found))
        if found:
            self._put(found)
        return found

    async def _find_known(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        found = await self._shared.find(keys)
        if found:
            self._measures.found(2, len(found))
        if len(found) == len(keys):
            return found
        written = await self._written(_without(keys, found))
        if written:
            self._measures.found(3, len(written))
            await self._shared.keep(written)
        return {**found, **written}

    async def _written(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        try:
            return await self._shelf.find(keys)
        except Unavailable as error:
            log.warning("the ledger was not asked for what is cached: %s", error.message)
            return {}

    def _put(self, values: Mapping[bytes, bytes]) -> None:
        hot = self._hot
        for key, value in values.items():
            hot.put(key, value)
        self._measures.holds(entries=len(hot), size_bytes=hot.size_bytes, evicted=hot.evicted - self._evicted)
        self._evicted = hot.evicted
        self._measures.knows(keys=len(self._known), wrong=self._known.wrong)


def _without(keys: Sequence[bytes], others: Iterable[bytes]) -> Sequence[bytes]:
    gone = set(others)
    return [key for key in keys if key not in gone] if gone else keys
