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

    def __init__(self, send: Callable[[Stretch], Awaitable[None]], whole: Callable[[], str]) -> None:
        self._send = send
        self._whole = whole
        self._pending = Stretch(0, "")
        self._tokens = 0
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._closing = False

    def add(self, stretch: Stretch, tokens: int) -> None:
        """Take text that follows what was added before."""
        pending = self._pending
        self._pending = Stretch(pending.offset, pending.text + stretch.text) if pending.text else stretch
        self._tokens += tokens
        self._some.set()
        if self._tokens >= PACKET_TOKENS:
            self._enough.set()

    async def run(self) -> None:
        """Send until `finish` is called."""
        first = True
        while True:
            await self._some.wait()
            if not first and not self._closing:
                await self._linger()
            first = False
            if self._pending.text:
                await self._flush()
            if self._closing and not self._pending.text:
                return

    def finish(self) -> None:
        """Send what is left, then end `run`."""
        self._closing = True
        self._some.set()
        self._enough.set()

    async def _linger(self) -> None:
        try:
            async with asyncio.timeout(PACKET_DELAY_S):
                await self._enough.wait()
        except TimeoutError:
            return

    async def _flush(self) -> None:
        packet = self._pending
        self._pending = Stretch(0, "")
        self._tokens = 0
        if not self._closing:
            self._some.clear()
            self._enough.clear()
        try:
            await self._send(packet)
        except Unavailable:
            await asyncio.sleep(_RETRY_S)
            self._pending = Stretch(0, self._whole())
            self._some.set()
