"""What a scripted model shares out: its prefix cache, and its places."""

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agon.core.generation import Message

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_PREFIXES = 20_000


def words(messages: Sequence[Message]) -> int:
    """How long messages are in the tokens of this engine, which are words."""
    return sum(len(message.content.split()) for message in messages)


class PrefixCache:
    """Knows which beginnings of conversations were here lately. Messages count whole."""

    def __init__(self, *, size: int = _PREFIXES) -> None:
        self._size = size
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def known(self, messages: Sequence[Message], begun: str) -> int:
        """Tokens of the longest known beginning; then all of it is known."""
        asked = [*messages, Message("assistant", begun)] if begun else list(messages)
        digests = _digests(asked)
        held = next((count for count in range(len(digests), 0, -1) if digests[count - 1] in self._seen), 0)
        self._note(digests)
        return words(asked[:held])

    def keep(self, messages: Sequence[Message], answer: str) -> None:
        """Know a conversation with its answer."""
        self._note(_digests([*messages, Message("assistant", answer)])[-1:])

    def _note(self, digests: Sequence[bytes]) -> None:
        for digest in digests:
            self._seen[digest] = None
            self._seen.move_to_end(digest)
        while len(self._seen) > self._size:
            self._seen.popitem(last=False)


def _digests(messages: Sequence[Message]) -> list[bytes]:
    """One for each beginning."""
    found: list[bytes] = []
    before = b""
    for message in messages:
        before = hashlib.blake2s(before + f"{message.role}:{message.content}".encode(), digest_size=12).digest()
        found.append(before)
    return found


class Places:
    """Who is answered now and who waits: first come, first served."""

    def __init__(self) -> None:
        self.running = 0
        self._limit: int | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return sum(not turn.done() for turn in self._waiting)

    def allow(self, limit: int | None) -> None:
        """Change how many run at a time."""
        self._limit = limit
        self._fill()

    @asynccontextmanager
    async def place(self) -> "AsyncGenerator[None, None]":
        await self._take()
        try:
            yield
        finally:
            self.running -= 1
            self._fill()

    async def _take(self) -> None:
        if not self._waiting and (self._limit is None or self.running < self._limit):
            self.running += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.running -= 1  # it was given a place in the same turn of the loop
                self._fill()
            raise

    def _fill(self) -> None:
        while self._waiting and (self._limit is None or self.running < self._limit):
            turn = self._waiting.popleft()
            if not turn.done():  # else whoever waited has left
                turn.set_result(None)
                self.running += 1
