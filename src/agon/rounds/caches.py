"""The three levels of a cache: this process, Redis, the ledger; and in front of the last two, what is known at all."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(slots=True)
class CacheCounts:
    """What has happened since the start, in keys. Plain numbers: whoever measures reads them when it is asked."""

    memory: int = 0
    """Found in the first level."""
    shared: int = 0
    """In the second."""
    ledger: int = 0
    """In the third."""
    missed: int = 0
    """In none."""
    rejected: int = 0
    """Of those that were missed, the ones that no level had to be asked for."""


class TieredCache:
    """`Cache` over three levels. Bound to one event loop: whoever has it awaits it there, and in no other thread."""

    def __init__(self, hot: HotSet, shared: Level, shelf: Shelf, known: Known) -> None:
        self.hot = hot
        self.known = known
        self.counts = CacheCounts()
        self._shared = shared
        self._shelf = shelf

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        absent: list[bytes] = []
        get = self.hot.get
        for key in keys:
            value = get(key)
            if value is None:
                absent.append(key)
            else:
                found[key] = value
        self.counts.memory += len(found)
        if not absent:
            return found
        elsewhere = await self._find_elsewhere(absent if len(absent) == 1 else list(dict.fromkeys(absent)))
        return {**found, **elsewhere} if found else elsewhere

    async def keep(self, values: Mapping[bytes, bytes]) -> None:
        if not values:
            return
        put = self.hot.put
        for key, value in values.items():
            put(key, value)
        # In this order: nobody may find that a key is unknown which already has a value there.
        await self.known.add(list(values))
        await self._shared.keep(values)

    async def _find_elsewhere(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        counts = self.counts
        unknown = self.known.unknown(keys)
        asked = _without(keys, unknown) if unknown else keys
        found: Mapping[bytes, bytes] = await self._shared.find(asked) if asked else {}
        counts.shared += len(found)
        if len(found) < len(asked):
            written = await self._written(_without(asked, found))
            if written:
                counts.ledger += len(written)
                await self._shared.keep(written)
                found = {**found, **written}
        counts.rejected += len(unknown)
        counts.missed += len(keys) - len(found)
        put = self.hot.put
        for key, value in found.items():
            put(key, value)
        return found

    async def _written(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        try:
            return await self._shelf.find(keys)
        except Unavailable as error:
            log.warning("the ledger was not asked for what is cached: %s", error.message)
            return {}


def _without(keys: Sequence[bytes], others: Iterable[bytes]) -> Sequence[bytes]:
    gone = set(others)
    return [key for key in keys if key not in gone]
