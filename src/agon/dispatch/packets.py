"""Packets: four tokens, or what is there after 50 ms; the first token goes at once."""

import asyncio
from collections.abc import Awaitable, Callable

from agon.core.errors import Unavailable
from agon.core.splice import Stretch

PACKET_TOKENS = 4
PACKET_DELAY_S = 0.05
_RETRY_S = 0.2


class PacketWriter:
    """Gathers text into packets and hands them to `send`, in order, without holding up the engine.

    When the bus is away it keeps everything, and afterwards sends the whole answer again from its start: what the
    bus had may be lost with it. `whole` gives the answer so far.
    """

    def __init__(self, send: Callable[[Stretch], Awaitable[None]], whole: Callable[[], Stretch]) -> None:
        self._send = send
        self._whole = whole
        self._loop = asyncio.get_running_loop()
        self._pending: Stretch | None = None
        self._due_s = 0.0
        """When the pending text is to go, however little it is; the first goes at once."""
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.Future[None] | None = None
        self._closing = False

    def add(self, stretch: Stretch) -> None:
        """Take text that follows what was added before."""
        self._pending = stretch if self._pending is None else self._pending + stretch
        if self._idle is not None:
            self._wake_or_wait(self._pending)

    async def run(self) -> None:
        """Send until `finish` is called."""
        try:
            while not self._closing or self._pending is not None:
                if self._pending is not None and self._is_due(self._pending):
                    await self._flush(self._pending)
                else:
                    await self._doze()
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def finish(self) -> None:
        """Send what is left, then end `run`."""
        self._closing = True
        self._wake()

    def _is_due(self, pending: Stretch) -> bool:
        return self._closing or pending.tokens >= PACKET_TOKENS or self._loop.time() >= self._due_s

    async def _doze(self) -> None:
        self._idle = self._loop.create_future()
        if self._pending is not None:
            self._wake_or_wait(self._pending)
        try:
            await self._idle
        finally:
            self._idle = None

    def _wake_or_wait(self, pending: Stretch) -> None:
        if self._is_due(pending):
            self._wake()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._due_s, self._ring)

    def _ring(self) -> None:
        """The timer outlives packets that were full before it: then it is wound up again instead of one for each."""
        self._timer = None
        if self._pending is not None and self._idle is not None:
            self._wake_or_wait(self._pending)

    def _wake(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def _flush(self, packet: Stretch) -> None:
        self._pending = None
        try:
            await self._send(packet)
        except Unavailable:
            await asyncio.sleep(_RETRY_S)
            self._pending = self._whole()
        else:
            self._due_s = self._loop.time() + PACKET_DELAY_S
