"""The stages of battles up to their first texts, told apart from outside: Valkey says what it was asked when."""

import asyncio
import statistics
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from agon.stores.redis.client import connect
from agon.stores.redis.scripts import script

STAGES = (
    "asked until sent to a runner",
    "sent until taken by the runner",
    "taken until the first text is in the stream",
    "in the stream until at the client",
)
_QUIET_S = 0.1


@dataclass(frozen=True, slots=True)
class Sighting:
    """One side of one battle as the client saw it, by the wall clock."""

    conversation: str
    side: str
    asked: float
    first: float


@dataclass(slots=True)
class Trace:
    """When Valkey first saw each side sent to a runner, taken and streamed, by (conversation, side)."""

    sent: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    taken: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    streamed: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def note(self, at: float, words: str) -> None:
        kind, _, rest = words.partition(" ")
        if kind == "EVALSHA" and rest.startswith(script("take").digest):
            # After the digest: number of keys, prefix, executor and beat, then entries and turns by turns.
            for turn in rest.split(" ")[6::2]:
                self.taken.setdefault(_side(turn), at)
        elif kind == "XADD" and ":inbox:" in rest:
            self.sent.setdefault(_side(rest.partition(" * r ")[2]), at)
        elif kind == "XADD" and ":stream:" in rest and '* d ["p",' in rest:
            conversation = rest.partition(":stream:")[2].split(" ", 1)[0]
            side = rest.partition('* d ["p",')[2].split('"')[1]
            self.streamed.setdefault((conversation, side), at)

    def medians_ms(self, seen: Sequence[Sighting]) -> dict[str, float]:
        """The median of each stage over what the client saw."""
        rows = [self._stages_ms(sighting) for sighting in seen]
        return {stage: statistics.median(column) for stage, column in zip(STAGES, zip(*rows, strict=True), strict=True)}

    def _stages_ms(self, seen: Sighting) -> list[float]:
        key = (seen.conversation, seen.side)
        marks = [seen.asked, self.sent[key], self.taken[key], self.streamed[key], seen.first]
        return [(end - begin) * 1000 for begin, end in pairwise(marks)]


def _side(turn: str) -> tuple[str, str]:
    conversation, _number, side, _contestant = turn.split(":", 3)
    return conversation, side


@asynccontextmanager
async def tracing(redis_url: str) -> AsyncGenerator[Trace]:
    """Listen in on Valkey while the block runs. It costs something: trace a run of its own, not a measured one."""
    trace = Trace()
    listening = asyncio.create_task(_listen(redis_url, trace))
    await asyncio.sleep(_QUIET_S)
    try:
        yield trace
        await asyncio.sleep(_QUIET_S)
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


async def _listen(redis_url: str, trace: Trace) -> None:
    client: Any = connect(redis_url, blocking=True)
    try:
        async with client.monitor() as monitor:
            while True:
                seen = await monitor.next_command()
                trace.note(float(seen["time"]), str(seen["command"]))
    finally:
        await client.aclose()
