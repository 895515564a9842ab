"""Medians are found seldom, and nobody waits for those that take long."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from tests.boards.conftest import Clock, Desk
from tests.contract.ledger import contestant, done, new, ref

from agon.boards.first_tokens import FirstTokens
from agon.core.board_ports import VoteSource
from agon.core.conversation import Side
from agon.core.errors import Unavailable


@dataclass
class Ledger:
    """One whose medians take a while, and which is away now and then."""

    clock: Clock
    takes_s: float = 0.0
    looks: int = 0
    away: bool = False
    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def ttft_medians_ms(self) -> Mapping[str, float]:
        self.looks += 1
        if self.away:
            raise Unavailable("It is away.")
        if self.takes_s:
            await self.free.wait()
        self.clock.wait(seconds=self.takes_s)
        return {"north": float(self.looks)}


def watched(**behaviour: float) -> tuple[Ledger, FirstTokens]:
    ledger = Ledger(Clock(), **behaviour)  # pyright: ignore[reportArgumentType]
    return ledger, FirstTokens(cast("VoteSource", ledger), ledger.clock)


async def test_brief_ones_are_found_every_moment() -> None:
    ledger, medians = watched(takes_s=0.04)
    ledger.free.set()
    for wait, expected in ((0, 1), (0.7, 1), (0.2, 2), (0.7, 2), (9, 3)):
        ledger.clock.wait(seconds=wait)
        assert (await medians.medians_ms())["north"] == expected


async def test_nobody_waits_for_long_ones_but_the_first() -> None:
    ledger, medians = watched(takes_s=2.0)
    ledger.free.set()
    assert (await medians.medians_ms())["north"] == 1
    ledger.free.clear()
    ledger.clock.wait(seconds=39)
    assert (await medians.medians_ms())["north"] == 1
    ledger.clock.wait(seconds=2)
    for _ in range(3):
        assert (await medians.medians_ms())["north"] == 1
        await asyncio.sleep(0)
    assert ledger.looks == 2
    ledger.free.set()
    await asyncio.sleep(0.01)
    assert (await medians.medians_ms())["north"] == 2


async def test_a_ledger_that_is_away_is_asked_again() -> None:
    ledger, medians = watched(takes_s=1.0)
    ledger.free.set()
    await medians.medians_ms()
    ledger.clock.wait(seconds=30)
    ledger.away = True
    for _ in range(2):
        assert (await medians.medians_ms())["north"] == 1
        await asyncio.sleep(0.01)
    ledger.away = False
    await medians.medians_ms()
    await asyncio.sleep(0.01)
    assert (await medians.medians_ms())["north"] == ledger.looks == 4


async def test_a_board_at_rest_tells_them_soon(desk: Desk) -> None:
    await desk.ledger.contestants.put_contestant(contestant("north"), replace=True)
    started, _ = await desk.ledger.conversations.start(new())
    await desk.live.refresh()
    await desk.ledger.answers.settle(done(ref(started, Side.A), ttft_ms=70.0))
    desk.clock.wait(seconds=11)
    await desk.live.refresh_if_needed()
    board = await desk.live.refresh()
    assert {row.model: row.ttft_median_ms for row in board.rows} == {"north": 70.0, "south": None}
