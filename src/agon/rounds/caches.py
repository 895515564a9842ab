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
        # In one piece: each call of another coroutine would cost as much as one of its steps.
        hot, counts = self.hot, self.counts
        found: dict[bytes, bytes] = {}
        absent: list[bytes] = []
        for key in keys:
            value = hot.get(key)
            if value is None:
                absent.append(key)
            else:
                found[key] = value
        counts.memory += len(found)
        if not absent:
            return found
        if len(absent) > 1:
            absent = list(dict.fromkeys(absent))
        unknown = self.known.unknown(absent)
        asked = _without(absent, unknown) if unknown else absent
        if asked:
            elsewhere = await self._shared.find(asked)
            counts.shared += len(elsewhere)
            if len(elsewhere) < len(asked):
                elsewhere = {**elsewhere, **await self._find_written(_without(asked, elsewhere))}
            counts.missed += len(asked) - len(elsewhere)
            for key, value in elsewhere.items():
                hot.offer(key, value)
                found[key] = value
        counts.rejected += len(unknown)
        counts.missed += len(unknown)
        return found

    async def keep(self, values: Mapping[bytes, bytes]) -> None:
        if not values:
            return
        put = self.hot.put
        for key, value in values.items():
            put(key, value)
        # In this order: nobody may find that a key is unknown which already has a value there.
        await self.known.add(list(values))
        await self._shared.keep(values)

    async def _find_written(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        try:
            written = await self._shelf.find(keys)
        except Unavailable as error:
            log.warning("the ledger was not asked for what is cached: %s", error.message)
            return {}
        self.counts.ledger += len(written)
        await self._shared.keep(written)
        return written


def _without(keys: Sequence[bytes], others: Iterable[bytes]) -> Sequence[bytes]:
    gone = set(others)
    return [key for key in keys if key not in gone]
