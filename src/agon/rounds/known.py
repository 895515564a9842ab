"""Which keys have a value anywhere: a Bloom filter that follows what every process adds."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from agon.core.bloom import Bloom
from agon.core.errors import Unavailable
from agon.core.round_ports import Shelf

log = logging.getLogger(__name__)

WRONG = 0.0025
"""Share of unknown keys that a full filter lets through."""
_HEADROOM = 2
_RETRY_S = 1.0
_RETRY_MOST_S = 30.0


class News(Protocol):
    """What processes tell each other about keys."""

    async def tell(self, keys: Sequence[bytes]) -> None:
        """Say that these keys have values from now on; later, without waiting, where the server is away."""
        ...

    def heard(self) -> AsyncIterator[Sequence[bytes] | None]:
        """What others told, for ever; `None` where some of it may have been missed, and at the beginning."""
        ...


class Known:
    """What is certainly without a value. Bound to the loop that runs `run`.

    A key is added here, and told, before its value can be found anywhere else, so this process never denies its own.
    Of others' keys it hears a moment later; until then, their values are made once more and nothing worse. Whenever
    something may have been missed, and before the ledger was read for the first time, nothing is denied at all.
    """

    def __init__(self, shelf: Shelf, news: News, *, capacity: int, wrong: float = WRONG) -> None:
        self._shelf = shelf
        self._news = news
        self._share_wrong = wrong
        self._filter = Bloom(capacity, wrong)
        self._next: Bloom | None = None
        """A larger one, while the ledger is read into it."""
        self._gaps = 1
        """How often something may have been missed; the beginning is the first time."""
        self._closed = 0
        """The gap after which the ledger was read last."""
        self._due = asyncio.Event()

    def __len__(self) -> int:
        return len(self._filter)

    @property
    def whole(self) -> bool:
        """Whether it may deny keys."""
        return self._closed == self._gaps

    @property
    def wrong(self) -> float:
        """The share of unknown keys that it lets through."""
        return self._filter.wrong if self.whole else 1.0

    def unknown(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        """Those that have no value anywhere."""
        return self._filter.unknown(keys) if self._closed == self._gaps else ()

    async def add(self, keys: Sequence[bytes]) -> None:
        """Call it before the values are anywhere."""
        new = self._filter.unknown(keys)
        if new:
            self._put(new)
            await self._news.tell(new)

    async def run(self) -> None:
        """Follow the others, and read the ledger when needed; until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._keep_whole())

    async def _follow(self) -> None:
        async for keys in self._news.heard():
            if keys is None:
                self._gaps += 1
                self._due.set()
            else:
                self._put(keys)

    def _put(self, keys: Sequence[bytes]) -> None:
        self._filter.add(keys)
        if self._next is not None:
            self._next.add(keys)
        elif self._filter.full:
            self._due.set()

    async def _keep_whole(self) -> None:
        wait_s = _RETRY_S
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                await self._read_ledger()
                wait_s = _RETRY_S
            except Unavailable as error:
                log.warning("the filter of known keys waits for the ledger: %s", error.message)
                self._due.set()
                await asyncio.sleep(wait_s)
                wait_s = min(_RETRY_MOST_S, wait_s * 2)

    async def _read_ledger(self) -> None:
        """Bring in all that the ledger has; into a larger filter where this one is full."""
        gap = self._gaps
        capacity = self._filter.capacity * (_HEADROOM if self._filter.full else 1)
        try:
            while (read := await self._read_into(capacity)) >= capacity:
                capacity = _HEADROOM * read
            if self._next is not None:
                self._filter = self._next
        finally:
            self._next = None
        self._closed = gap

    async def _read_into(self, capacity: int) -> int:
        """How many keys there are now, those included that were told meanwhile."""
        if capacity > self._filter.capacity:
            self._next = Bloom(capacity, self._share_wrong)
        target, read = self._filter if self._next is None else self._next, 0
        async for keys in self._shelf.every_key():
            target.add(keys)
            read += len(keys)
            # A page takes a millisecond or two: others get their turn between two of them.
            await asyncio.sleep(0)
        return max(read, len(target))
