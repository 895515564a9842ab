"""When a turn counts as left, over two gateways on one Redis."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from agon.arena.watching import Watching
from agon.core.errors import Unavailable
from agon.core.ports import TurnRef
from agon.stores.redis.watchers import RedisWatchers

GRACE_S = 0.3


class Gateway:
    """The watchers of one gateway, and the turns that it has had stopped."""

    def __init__(self, store: RedisWatchers, name: str) -> None:
        self.abandoned: list[TurnRef] = []
        self.watching = Watching(store, name, self._abandon)

    async def _abandon(self, turn: TurnRef) -> None:
        self.abandoned.append(turn)

    async def look_in(self, turn: TurnRef, grace_s: float = GRACE_S) -> None:
        """Watch, and go away."""
        async with self.watching.seat(turn, grace_s) as seat:
            seat.went()


@asynccontextmanager
async def gateways(url: str, prefix: str, count: int = 1) -> AsyncGenerator[list[Gateway]]:
    store = RedisWatchers(url, prefix=prefix)
    running = [Gateway(store, f"gateway {number}") for number in range(count)]
    tasks = [asyncio.create_task(gateway.watching.run()) for gateway in running]
    try:
        yield running
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for gateway in running:
            await gateway.watching.close()
        await store.close()


def a_turn() -> TurnRef:
    return TurnRef(uuid4(), 1)


async def test_the_last_one_who_goes_away_takes_the_turn_along(redis_url: str, key_prefix: str) -> None:
    async with gateways(redis_url, key_prefix) as [gateway]:
        turn = a_turn()
        async with gateway.watching.seat(turn, 0.0):
            await gateway.look_in(turn, 0.0)
            await asyncio.sleep(0.1)
            assert gateway.abandoned == [], "somebody else watches"
            assert gateway.watching.count == 1
        await asyncio.sleep(0.1)
        assert gateway.abandoned == [], "they have seen the end"
        await gateway.look_in(turn, 0.0)
        await asyncio.sleep(0.1)
        assert gateway.abandoned == [turn]
        assert gateway.watching.count == 0


async def test_there_is_time_to_come_back(redis_url: str, key_prefix: str) -> None:
    async with gateways(redis_url, key_prefix) as [gateway]:
        left, returned, again = a_turn(), a_turn(), a_turn()
        for turn in (left, returned, again):
            await gateway.look_in(turn)
        await asyncio.sleep(0.2)
        assert gateway.abandoned == []
        async with gateway.watching.seat(returned, GRACE_S):
            # Whoever comes back and goes again has the whole grace once more.
            await gateway.look_in(again)
            await asyncio.sleep(0.25)
            assert gateway.abandoned == [left]
            await asyncio.sleep(0.25)
            assert set(gateway.abandoned) == {left, again}


async def test_a_watcher_on_another_gateway_counts(redis_url: str, key_prefix: str) -> None:
    async with gateways(redis_url, key_prefix, 2) as [one, other]:
        turn = a_turn()
        async with other.watching.seat(turn, GRACE_S):
            await one.look_in(turn, 0.0)
            await asyncio.sleep(0.1)
        await one.look_in(turn)
        await asyncio.sleep(0.1)
        await other.look_in(turn)
        await asyncio.sleep(0.25)
        assert one.abandoned == other.abandoned == [], "the first grace is over, the second is not"
        await asyncio.sleep(0.25)
        assert one.abandoned + other.abandoned == [turn]


async def test_what_is_asked_for_later_is_never_left(redis_url: str, key_prefix: str) -> None:
    async with gateways(redis_url, key_prefix) as [gateway]:
        turn = a_turn()
        await gateway.watching.keep_for_later(turn)
        await gateway.look_in(turn, 0.0)
        await gateway.look_in(TurnRef(turn.conversation, 2), 0.0)
        await asyncio.sleep(0.1)
        assert gateway.abandoned == [TurnRef(turn.conversation, 2)]


async def test_coming_and_going_at_once_ends_as_it_should(redis_url: str, key_prefix: str) -> None:
    async with gateways(redis_url, key_prefix, 2) as [one, other]:
        kept, left = a_turn(), a_turn()
        async with one.watching.seat(kept, 0.0):
            await asyncio.gather(
                *(gateway.look_in(turn, 0.0) for _ in range(50) for gateway in (one, other) for turn in (kept, left))
            )
            await asyncio.sleep(0.2)
            assert kept not in one.abandoned + other.abandoned
            assert left in one.abandoned + other.abandoned


async def test_a_gateway_that_is_shut_down_leaves_its_watchers_their_turns(redis_url: str, key_prefix: str) -> None:
    async with gateways(redis_url, key_prefix, 2) as [one, other]:
        turn = a_turn()
        await one.look_in(turn)
        await one.watching.close()
        async with other.watching.seat(turn, GRACE_S):
            await asyncio.sleep(GRACE_S + 0.2)
        assert one.abandoned == other.abandoned == []


async def test_without_redis_one_watches_and_nothing_is_stopped() -> None:
    async with gateways("unix:///nowhere.sock", "none") as [gateway]:
        async with asyncio.timeout(5), gateway.watching.seat(a_turn(), 0.0) as seat:
            seat.went()
        await asyncio.sleep(0.1)
        assert gateway.abandoned == []
        with pytest.raises(Unavailable):
            await gateway.watching.keep_for_later(a_turn())
