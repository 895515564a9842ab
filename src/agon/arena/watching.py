"""Who watches which turn, and what becomes of a turn that nobody watches any more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Self

from agon.core.errors import AgonError, Unavailable
from agon.core.ports import TurnRef, Watchers

log = logging.getLogger(__name__)

_LEASE_S = 15.0
_RENEW_S = 5.0
_FOR_LATER_S = 30 * 60.0
_FOR_LATER = "later"
_MARGIN_S = 0.05
"""A lease is over by Redis' clock, waiting for its end goes by ours."""


class Watching:
    """The watchers of one gateway.

    A gateway holds a lease on each turn that somebody watches on it. When its last watcher goes away for good, the
    lease is shortened to the grace that the turn has, and whoever finds no lease on it after that has it stopped.
    """

    def __init__(self, watchers: Watchers, gateway: str, abandon: Callable[[TurnRef], Awaitable[None]]) -> None:
        self._watchers = watchers
        self._gateway = gateway
        self._abandon = abandon
        self._counts: dict[TurnRef, int] = {}
        self._leases: dict[TurnRef, float] = {}
        """To be written at the next opportunity."""
        self._written = asyncio.get_running_loop().create_future()
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """Watchers on this gateway now."""
        return sum(self._counts.values())

    def seat(self, turn: TurnRef, grace_s: float) -> "Seat":
        """A watcher's place, for the length of a block."""
        return Seat(self, turn, grace_s)

    async def keep_for_later(self, turn: TurnRef) -> None:
        """Somebody will ask for the answer later; until then nobody need watch it."""
        await self._watchers.hold({turn: _FOR_LATER_S}, _FOR_LATER)

    async def run(self) -> None:
        """Write leases until cancelled: one writer, so that coming and going reach Redis in their order."""
        renewal_s = 0.0
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(renewal_s):
                    await self._wake.wait()
            if loop.time() >= renewal_s:
                renewal_s = loop.time() + _RENEW_S
                self._leases = {**dict.fromkeys(self._counts, _LEASE_S), **self._leases}
            await self._write()

    async def close(self) -> None:
        """Let go of everything; watchers that this gateway leaves behind come back on another one."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def take(self, turn: TurnRef) -> None:
        """One more watches it here."""
        self._counts[turn] = self._counts.get(turn, 0) + 1
        if self._counts[turn] == 1:
            # Shielded: others wait for the same writing.
            await asyncio.shield(self._hold(turn, _LEASE_S))

    def leave(self, turn: TurnRef, grace_s: float | None) -> None:
        """One less does, and may come back within the grace; `None` for one who has seen all there was."""
        self._counts[turn] -= 1
        if self._counts[turn]:
            return
        del self._counts[turn]
        written = self._hold(turn, grace_s or 0.0)
        if grace_s is not None:
            self._spawn(self._abandon_after(turn, grace_s, written))

    def _hold(self, turn: TurnRef, for_s: float) -> "asyncio.Future[None]":
        self._leases[turn] = for_s
        self._wake.set()
        return self._written

    async def _write(self) -> None:
        self._wake.clear()
        leases, self._leases = self._leases, {}
        written, self._written = self._written, asyncio.get_running_loop().create_future()
        try:
            # Without Redis nobody can be asked to stop either; the deadline ends what is abandoned meanwhile.
            with suppress(Unavailable):
                if leases:
                    await self._watchers.hold(leases, self._gateway)
        finally:
            written.set_result(None)

    async def _abandon_after(self, turn: TurnRef, grace_s: float, written: "asyncio.Future[None]") -> None:
        await asyncio.shield(written)
        if grace_s:
            await asyncio.sleep(grace_s + _MARGIN_S)
        try:
            if turn not in self._counts and not await self._watchers.held(turn):
                await self._abandon(turn)
        except AgonError as error:
            log.warning("a turn that nobody watches was not stopped: %s", error.message)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Seat:
    """One who watches a turn. `went` says that they went away before its end."""

    def __init__(self, watching: Watching, turn: TurnRef, grace_s: float) -> None:
        self._watching = watching
        self._turn = turn
        self._grace_s = grace_s
        self._went = False

    async def __aenter__(self) -> Self:
        try:
            await self._watching.take(self._turn)
        except BaseException:
            self._watching.leave(self._turn, None)
            raise
        return self

    def went(self) -> None:
        self._went = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Nothing is awaited here: this must also happen while the request is being cancelled.
        self._watching.leave(self._turn, self._grace_s if self._went else None)
