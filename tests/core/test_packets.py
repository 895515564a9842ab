"""Pacing of packets. Nothing here waits longer than the pacing itself."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agon.core.errors import Unavailable
from agon.core.splice import Stretch
from agon.dispatch.packets import PACKET_TOKENS, PacketWriter


class Bus:
    """Takes packets; while it is away it refuses them, and while its gate is shut it holds them up."""

    def __init__(self) -> None:
        self.said = ""
        self.packets: list[Stretch] = []
        self.refusals_left = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._came = asyncio.Condition()

    async def send(self, stretch: Stretch) -> None:
        await self.gate.wait()
        if self.refusals_left:
            self.refusals_left -= 1
            raise Unavailable("away")
        async with self._came:
            self.packets.append(stretch)
            self._came.notify_all()

    async def came(self, count: int) -> list[Stretch]:
        async with asyncio.timeout(5), self._came:
            await self._came.wait_for(lambda: len(self.packets) >= count)
        return self.packets

    @property
    def shown(self) -> str:
        text = ""
        for packet in self.packets:
            assert packet.offset <= len(text)
            text = text[: packet.offset] + packet.text
        return text


@asynccontextmanager
async def writing(bus: Bus) -> AsyncGenerator[PacketWriter]:
    writer = PacketWriter(bus.send, lambda: Stretch(0, bus.said))
    task = asyncio.create_task(writer.run())
    yield writer
    writer.finish()
    async with asyncio.timeout(5):
        await task


def say(bus: Bus, writer: PacketWriter, *tokens: str) -> None:
    for token in tokens:
        offset = len(bus.said)
        bus.said += token
        writer.add(Stretch(offset, token, 1))


async def turn_over() -> None:
    """Let everything that can run now, run."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_first_token_goes_at_once() -> None:
    bus = Bus()
    async with writing(bus) as writer:
        say(bus, writer, "Hi")
        await turn_over()
        assert bus.packets == [Stretch(0, "Hi")]


async def test_four_tokens_fill_a_packet_and_three_wait() -> None:
    bus = Bus()
    async with writing(bus) as writer:
        say(bus, writer, "0")
        await turn_over()
        say(bus, writer, *"123")
        await turn_over()
        assert len(bus.packets) == 1
        say(bus, writer, "4")
        await turn_over()
        assert bus.packets == [Stretch(0, "0"), Stretch(1, "1234")]
        assert PACKET_TOKENS == 4


async def test_a_lone_token_goes_when_its_time_is_up() -> None:
    bus = Bus()
    async with writing(bus) as writer:
        say(bus, writer, "a")
        await bus.came(1)
        say(bus, writer, "b")
        await turn_over()
        assert len(bus.packets) == 1
        assert (await bus.came(2))[1] == Stretch(1, "b")


async def test_what_is_left_goes_at_the_end_without_waiting() -> None:
    bus = Bus()
    async with writing(bus) as writer:
        say(bus, writer, "a")
        await turn_over()
        say(bus, writer, "b", "c")
    assert bus.packets == [Stretch(0, "a"), Stretch(1, "bc")]


async def test_a_slow_bus_gathers_more_to_a_packet_and_loses_nothing() -> None:
    bus = Bus()
    async with writing(bus) as writer:
        bus.gate.clear()
        say(bus, writer, "0")
        await turn_over()
        say(bus, writer, *"123456789")
        await turn_over()
        bus.gate.set()
    assert bus.packets == [Stretch(0, "0"), Stretch(1, "123456789")]


async def test_after_the_bus_was_away_everything_is_said_again() -> None:
    bus = Bus()
    async with writing(bus) as writer:
        say(bus, writer, "a")
        await bus.came(1)
        bus.refusals_left = 2
        say(bus, writer, *"bcdef")
        await bus.came(2)
        assert bus.packets[1] == Stretch(0, "abcdef")
        say(bus, writer, "g")
    assert bus.shown == bus.said == "abcdefg"


async def test_the_end_waits_for_a_bus_that_is_away() -> None:
    bus = Bus()
    async with writing(bus) as writer:
        bus.refusals_left = 2
        say(bus, writer, *"abc")
    assert bus.shown == "abc"


async def test_an_answer_without_text_ends_without_a_packet() -> None:
    bus = Bus()
    async with writing(bus):
        await turn_over()
    assert bus.packets == []
