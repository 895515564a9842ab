"""The contract of `Watchers`."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
import pytest_asyncio

from agon.core.errors import Unavailable
from agon.core.ports import TurnRef, Watchers
from agon.stores.redis.watchers import RedisWatchers


@pytest_asyncio.fixture
async def watchers(redis_url: str, key_prefix: str) -> AsyncIterator[Watchers]:
    store = RedisWatchers(redis_url, prefix=key_prefix)
    yield store
    await store.close()


def a_turn() -> TurnRef:
    return TurnRef(uuid4(), 1)


async def test_a_turn_is_watched_as_long_as_anybody_holds_it(watchers: Watchers) -> None:
    turn, next_turn = a_turn(), a_turn()
    assert not await watchers.held(turn)
    await watchers.hold({turn: 5.0, next_turn: 5.0}, "one")
    await watchers.hold({turn: 5.0}, "two")
    await watchers.hold({turn: 0.0}, "one")
    assert await watchers.held(turn)
    await watchers.hold({turn: 0.0}, "two")
    assert not await watchers.held(turn)
    assert await watchers.held(next_turn)
    assert not await watchers.held(TurnRef(next_turn.conversation, 2))


async def test_a_lease_ends_by_itself_and_can_be_shortened_and_renewed(watchers: Watchers) -> None:
    silent, renewed, shortened = a_turn(), a_turn(), a_turn()
    await watchers.hold({silent: 0.2, renewed: 0.2, shortened: 60.0}, "one")
    await watchers.hold({renewed: 60.0, shortened: 0.2}, "one")
    assert await watchers.held(silent)
    assert await watchers.held(shortened)
    await asyncio.sleep(0.25)
    assert not await watchers.held(silent)
    assert not await watchers.held(shortened)
    assert await watchers.held(renewed)


async def test_a_longer_lease_outlives_a_shorter_one_of_somebody_else(watchers: Watchers) -> None:
    turn = a_turn()
    await watchers.hold({turn: 60.0}, "one")
    await watchers.hold({turn: 0.1}, "two")
    await asyncio.sleep(0.15)
    assert await watchers.held(turn)


async def test_nothing_is_held_at_a_bus_that_is_away() -> None:
    store = RedisWatchers("unix:///nowhere.sock")
    with pytest.raises(Unavailable):
        await store.held(a_turn())
    with pytest.raises(Unavailable):
        await store.hold({a_turn(): 1.0}, "one")
    await store.close()
