"""Those who watch a round see each change once, and share their looks at the ledger."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from agon.core.errors import Unavailable
from agon.core.round_ports import Progress, RoundLedger
from agon.core.rounds import AnswerStage, Round
from agon.rounds.board_page import Standings
from agon.rounds.boards import RoundBoardReader
from agon.rounds.watching import RoundState, RoundWatching

ROUND = Round(uuid4(), "r", "format", (), 9)


class Room:
    """A round's ledger and board, changed by hand."""

    def __init__(self) -> None:
        self.scored = 0
        self.looks = 0
        self.away = False
        self.board: object = "first"
        self.made = True
        self._changed: list[asyncio.Event] = []

    async def find(self, round_id: UUID) -> Round:
        assert round_id == ROUND.id
        await asyncio.sleep(0)
        if self.away:
            raise Unavailable("away", code="ledger_unavailable")
        return ROUND

    async def progress(self, round_id: UUID) -> Sequence[Progress]:
        assert round_id == ROUND.id
        self.looks += 1
        return [Progress("m", {AnswerStage.SCORED: self.scored})]

    async def standings(self, round_id: UUID) -> Standings:
        assert round_id == ROUND.id
        if not self.made:
            raise Unavailable("being made", code="board_not_made")
        return cast("Standings", self.board)

    async def changes(self, round_id: UUID) -> AsyncIterator[None]:
        assert round_id == ROUND.id
        changed = asyncio.Event()
        self._changed.append(changed)
        try:
            yield
            while True:
                await changed.wait()
                changed.clear()
                yield
        finally:
            self._changed.remove(changed)

    @property
    def watchers(self) -> int:
        return len(self._changed)

    def publish(self, board: object) -> None:
        self.board = board
        for changed in self._changed:
            changed.set()

    def watching(self) -> RoundWatching:
        part = cast("Any", self)
        return RoundWatching(cast("RoundLedger", part), cast("RoundBoardReader", part))


async def next_of(events: AsyncGenerator[Any]) -> Any:
    async with asyncio.timeout(10):
        return await anext(events)


async def test_state_and_board_come_at_once_and_when_they_change() -> None:
    room = Room()
    async with aclosing(room.watching().events(ROUND.id)) as events:
        state = await next_of(events)
        assert isinstance(state, RoundState)
        assert await next_of(events) == "first"
        room.publish("second")
        assert await next_of(events) == "second"
        # A board that is published anew as it was is no news.
        room.publish("second")
        room.scored = 1
        changed = await next_of(events)
        assert isinstance(changed, RoundState)
        assert changed.progress == (Progress("m", {AnswerStage.SCORED: 1}),)
    assert room.watchers == 0


async def test_a_crowd_shares_its_looks() -> None:
    room = Room()
    watching = room.watching()
    crowd = [watching.events(ROUND.id) for _ in range(50)]
    for events in crowd:
        assert isinstance(await next_of(events), RoundState)
    assert room.looks == 1
    for events in crowd:
        await events.aclose()
    assert room.watchers == 0


async def test_a_board_that_is_being_made_is_waited_for() -> None:
    room = Room()
    room.made = False
    async with aclosing(room.watching().events(ROUND.id)) as events:
        assert isinstance(await next_of(events), RoundState)
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        room.made = True
        room.publish("made")
        assert await asyncio.wait_for(waiting, 10) == "made"


async def test_a_ledger_that_is_away_ends_the_watch_and_the_next_look_is_a_new_one() -> None:
    room = Room()
    watching = room.watching()
    room.away = True
    with pytest.raises(Unavailable):
        await next_of(watching.events(ROUND.id))
    room.away = False
    async with aclosing(watching.events(ROUND.id)) as events:
        assert isinstance(await next_of(events), RoundState)
