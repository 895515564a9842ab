"""The contract of `Bus`."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any
from uuid import UUID, uuid4

import pytest

from agon.core.conversation import AnswerState, Side
from agon.core.errors import Unavailable
from agon.core.events import Event, Packet, Said, Settled, Void
from agon.core.placement import AnswerRef
from agon.stores.redis.bus import RedisBus
from agon.stores.redis.client import Client, Keys


def ref(contestant: str = "north", *, conversation: UUID | None = None, side: Side = Side.A) -> AnswerRef:
    return AnswerRef(conversation or uuid4(), 1, side, contestant)


def packet(number: int) -> Packet:
    return Packet(1, Side.A, 1, number, "x", opening=number == 0)


async def next_events(events: AsyncGenerator[Event | None], count: int) -> list[Event]:
    """The next events, quiet seconds left out."""
    found: list[Event] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            event = await anext(events)
            found += [] if event is None else [event]
    return found


async def test_every_kind_of_event_arrives_as_it_was(bus: RedisBus, other_bus: RedisBus) -> None:
    conversation = uuid4()
    events: list[Event] = [
        Packet(2, Side.B, 3, 17, '光 👩‍🚀\n"quoted"\x00', opening=True),
        Settled(2, Side.B, 3, AnswerState.DONE, 40, "length"),
        Settled(2, Side.A, 1, AnswerState.FAILED, 0),
        Void("Model A could not complete its answer."),
    ]
    for event in events:
        await bus.append(conversation, event)
    async with aclosing(other_bus.watch(conversation)) as watched:
        assert await next_events(watched, len(events)) == events


async def test_watchers_see_everything_from_the_start_once_whenever_they_come(
    bus: RedisBus, other_bus: RedisBus
) -> None:
    conversation, count = uuid4(), 300

    async def write() -> None:
        for number in range(count):
            await bus.append(conversation, packet(number))
            await asyncio.sleep(0.001)

    async def watch(delay_s: float, upto: int) -> list[Event]:
        await asyncio.sleep(delay_s)
        async with aclosing(other_bus.watch(conversation)) as events:
            return await next_events(events, upto)

    watchers = [watch(0.02 * number, count if number % 3 else 40) for number in range(20)]
    writing = asyncio.create_task(write())
    for events in await asyncio.gather(*watchers):
        assert events == [packet(number) for number in range(len(events))]
    await writing


async def test_one_who_leaves_and_comes_back_at_once_starts_at_the_beginning(
    bus: RedisBus, other_bus: RedisBus
) -> None:
    """While a read of the stream's end is still under way in the same process."""
    conversation = uuid4()
    stop = asyncio.Event()

    async def write() -> int:
        number = 0
        while not stop.is_set():
            await bus.append(conversation, packet(number))
            number += 1
        return number

    writer = asyncio.create_task(write())
    for turn in range(40):
        async with aclosing(other_bus.watch(conversation)) as events:
            assert await next_events(events, 3 + turn) == [packet(number) for number in range(3 + turn)]
    stop.set()
    assert await writer > 40


async def test_streams_do_not_mix(bus: RedisBus, other_bus: RedisBus) -> None:
    conversations = [uuid4() for _ in range(30)]

    async def follow(conversation: UUID) -> list[Event]:
        async with aclosing(other_bus.watch(conversation)) as events:
            return await next_events(events, 5)

    async def write(conversation: UUID, index: int) -> None:
        for number in range(5):
            await bus.append(conversation, packet(100 * index + number))
            await asyncio.sleep(0.005)

    followers = [asyncio.create_task(follow(conversation)) for conversation in conversations]
    await asyncio.gather(*(write(conversation, index) for index, conversation in enumerate(conversations)))
    for index, events in enumerate(await asyncio.gather(*followers)):
        assert events == [packet(100 * index + number) for number in range(5)]


async def test_one_who_joins_need_not_wait_for_the_others_streams(bus: RedisBus, other_bus: RedisBus) -> None:
    quiet, told = uuid4(), uuid4()
    await bus.append(told, packet(0))
    async with aclosing(other_bus.watch(quiet)) as nothing, asyncio.timeout(3):
        joined = asyncio.create_task(anext(nothing))
        await asyncio.sleep(0.1)
        async with aclosing(other_bus.watch(told)) as events:
            async with asyncio.timeout(0.8):
                assert await anext(events) == packet(0)
        assert await joined is None


async def test_a_quiet_stream_says_so(bus: RedisBus) -> None:
    async with aclosing(bus.watch(uuid4())) as events, asyncio.timeout(10):
        assert await anext(events) is None


async def test_a_stream_survives_that_everything_is_lost(
    bus: RedisBus, other_bus: RedisBus, redis: Client, key_prefix: str
) -> None:
    conversation = uuid4()
    async with aclosing(other_bus.watch(conversation)) as events:
        await bus.append(conversation, packet(0))
        assert await next_events(events, 1) == [packet(0)]
        await redis.delete(Keys(key_prefix).stream(conversation))
        await bus.append(conversation, packet(1))
        assert await next_events(events, 1) == [packet(1)]


async def test_streams_go_away_in_time(bus: RedisBus, other_bus: RedisBus, redis: Client, key_prefix: str) -> None:
    conversation = uuid4()
    key = Keys(key_prefix).stream(conversation)
    await bus.append(conversation, packet(0))
    assert 60 < await redis.ttl(key) <= 600
    await redis.expire(key, 5)
    await bus.append(conversation, packet(1))
    assert 0 < await redis.ttl(key) <= 5
    await bus.append(conversation, Settled(1, Side.A, 1, AnswerState.DONE, 2, "stop"))
    assert 30 < await redis.ttl(key) <= 60, "the ledger has it"
    await other_bus.append(conversation, Packet(1, Side.B, 1, 7, "x"))
    assert 60 < await redis.ttl(key) <= 600, "the other side is still being written"


async def test_an_entry_that_cannot_be_read_harms_nobody(bus: RedisBus, redis: Client, key_prefix: str) -> None:
    odd, even = uuid4(), uuid4()
    await redis.xadd(Keys(key_prefix).stream(odd), {"d": '["a new kind of event"]'})
    await redis.xadd(Keys(key_prefix).stream(odd), {"d": "no JSON"})
    async with aclosing(bus.watch(odd)) as first, aclosing(bus.watch(even)) as second:
        await bus.append(even, packet(0))
        assert await next_events(second, 1) == [packet(0)]
        await bus.append(odd, packet(0))
        assert await next_events(first, 1) == [packet(0)]


async def test_a_thousand_streams_are_watched_at_once(bus: RedisBus, other_bus: RedisBus) -> None:
    conversations = [uuid4() for _ in range(1000)]

    async def follow(conversation: UUID) -> list[Event]:
        async with aclosing(other_bus.watch(conversation)) as events:
            return await next_events(events, 3)

    followers = [asyncio.create_task(follow(conversation)) for conversation in conversations * 2]
    await asyncio.sleep(0.05)
    for number in range(3):
        await asyncio.gather(*(bus.append(conversation, packet(number)) for conversation in conversations))
    for events in await asyncio.gather(*followers):
        assert events == [packet(number) for number in range(3)]


async def test_what_was_said_is_put_together_from_the_stream(bus: RedisBus, other_bus: RedisBus) -> None:
    mine = ref()
    assert await other_bus.said(mine) == Said()
    for event in (
        Packet(1, Side.A, 1, 0, "Hello ", opening=True),
        Packet(1, Side.B, 1, 0, "Another", opening=True),
        Packet(1, Side.A, 1, 6, "wurld"),
        Packet(1, Side.A, 2, 7, "orld", opening=True),
    ):
        await bus.append(mine.conversation, event)
    assert await other_bus.said(mine) == Said("Hello world", 2)


async def test_what_the_ledger_has_is_cleared_and_watchers_go_on(
    bus: RedisBus, other_bus: RedisBus, redis: Client, key_prefix: str
) -> None:
    conversation = uuid4()
    later = [Packet(2, Side.A, 1, number, "y", opening=number == 0) for number in range(3)]
    await bus.append(conversation, packet(0))
    async with aclosing(other_bus.watch(conversation)) as watched:
        assert await next_events(watched, 1) == [packet(0)]
        await bus.clear(conversation)
        assert await redis.xlen(Keys(key_prefix).stream(conversation)) == 0
        for event in later:
            await bus.append(conversation, event)
        assert await next_events(watched, 3) == later
    async with aclosing(bus.watch(conversation)) as watched:
        assert await next_events(watched, 3) == later
    await bus.clear(uuid4())


async def test_requests_to_stop_reach_every_runner(
    bus: RedisBus, other_bus: RedisBus, redis: Client, key_prefix: str
) -> None:
    asked = [ref(), ref("south", side=Side.B)]
    anybody: Any = redis

    async def hear(listener: RedisBus) -> list[AnswerRef]:
        heard: list[AnswerRef] = []
        async for one in listener.stops():
            heard.append(one)
            if len(set(heard)) == 2:
                break
        return heard

    async with asyncio.timeout(10):
        listeners = [asyncio.create_task(hear(one)) for one in (bus, other_bus)]
        while not all(listener.done() for listener in listeners):
            # What another version may say is passed over.
            await anybody.publish(Keys(key_prefix).stops, "[1]")
            await bus.stop(asked)
            await asyncio.sleep(0.05)
    for listener in listeners:
        assert set(listener.result()) == set(asked)
    await bus.stop([])


CALLS: dict[str, Callable[[RedisBus], Awaitable[object]]] = {
    "append": lambda bus: bus.append(uuid4(), packet(0)),
    "said": lambda bus: bus.said(ref()),
    "clear": lambda bus: bus.clear(uuid4()),
    "stop": lambda bus: bus.stop([ref()]),
}


@pytest.mark.parametrize("call", CALLS)
async def test_without_its_server_the_bus_is_unavailable(call: str) -> None:
    bus = RedisBus("unix:///nowhere/at/all.sock")
    with pytest.raises(Unavailable) as refused:
        await CALLS[call](bus)
    assert refused.value.code == "bus_unavailable"
    await bus.close()


async def test_a_watcher_outlives_a_bus_that_is_away() -> None:
    bus = RedisBus("unix:///nowhere/at/all.sock")
    async with aclosing(bus.watch(uuid4())) as events, asyncio.timeout(10):
        assert await anext(events) is None
    await bus.close()
