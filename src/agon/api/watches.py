"""One who watches a turn, however it reaches them, and who asks for turns."""

import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from uuid import UUID

from agon.arena.asks import Asked
from agon.bootstrap.gateway import Gateway
from agon.core.conversation import Conversation, Turn
from agon.core.errors import Unavailable
from agon.core.events import Packet, Position, Sent
from agon.core.ports import TurnRef


async def counted(gateway: Gateway, asking: Awaitable[Asked]) -> Asked:
    """Ask, and count what becomes of it."""
    try:
        asked = await asking
    except Unavailable as error:
        gateway.metrics.refusals.labels(error.code).inc()
        raise
    if asked.fresh:
        gateway.metrics.turns.labels(asked.conversation.kind.value).inc()
    return asked


class Watch:
    """A turn as one watcher sees it. `seat` is to be taken for as long as its events are read."""

    def __init__(
        self,
        gateway: Gateway,
        person: UUID,
        conversation: Conversation,
        turn: Turn,
        *,
        after: Position | None = None,
        alone: bool = False,
        grace_s: float | None = None,
    ) -> None:
        """Everything after a position, or with `alone` just this turn. The grace is the arena's unless it is given."""
        self._metrics = gateway.metrics
        self._turn = turn
        self._begun_s = time.perf_counter()
        self._followed = gateway.arena.follow(
            person, conversation.id, after or Position(turn.number), until=turn.number if alone else None
        )
        grace_s = gateway.settings.limits.abandon_s if grace_s is None else grace_s
        self.seat = gateway.watching.seat(TurnRef(conversation.id, turn.number), grace_s)

    async def events(self) -> AsyncGenerator[Sent | None]:
        """What is owed, as `Arena.follow`; the first text of an answer that was not there yet is timed."""
        timed = not self._turn.settled
        async with aclosing(self._followed) as followed:
            async for sent in followed:
                if timed and sent is not None and self._opens(sent):
                    timed = False
                    self._metrics.first_token_s.observe(time.perf_counter() - self._begun_s)
                yield sent

    async def see_out(self) -> None:
        """Wait for the end."""
        async with aclosing(self.events()) as events:
            async for _ in events:
                pass

    def _opens(self, sent: Sent) -> bool:
        event = sent.event
        return isinstance(event, Packet) and event.turn == self._turn.number and event.offset == 0
