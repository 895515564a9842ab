"""One write a tick, in order, with nothing kept back at the end."""

import asyncio
from typing import Any, cast

from agon.api.coalescing import CoalescingTransport


class Wire:
    """Keeps what reaches it."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = self.aborted = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.writes.append(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed


def over(wire: Wire) -> CoalescingTransport:
    return CoalescingTransport(cast("Any", wire))


async def test_what_is_written_in_one_tick_leaves_together() -> None:
    wire = Wire()
    transport = over(wire)
    for part in (b"head", b"body", b"end"):
        transport.write(part)
    assert wire.writes == []
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert wire.writes == [b"headbodyend"]
    transport.write(b"more")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert wire.writes == [b"headbodyend", b"more"]


async def test_much_is_not_kept_back() -> None:
    wire = Wire()
    transport = over(wire)
    transport.write(b"a")
    transport.write(100_000 * b"b")
    assert [len(data) for data in wire.writes] == [100_001]
    await asyncio.sleep(0)
    assert len(wire.writes) == 1


async def test_closing_sends_the_rest_first_and_aborting_does_not() -> None:
    wire, other = Wire(), Wire()
    for transport, one in ((over(wire), wire), (over(other), other)):
        transport.writelines([b"la", b"st"])
        transport.close() if one is wire else transport.abort()
    assert (wire.writes, wire.closed) == ([b"last"], True)
    assert (other.writes, other.aborted) == ([], True)
    await asyncio.sleep(0)
    assert other.writes == []
    assert over(wire).is_closing()
