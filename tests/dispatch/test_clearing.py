"""What an executor has to tell when it is ended in the middle of telling."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast
from uuid import uuid4

from agon.core.conversation import Side
from agon.core.placement import AnswerRef, Cost, Job, Placement
from agon.dispatch.clearing import Clearing


class Listener:
    """`Dispatch` as far as it is told; what is said first takes long."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.released: list[AnswerRef] = []

    async def speak(self, refs: Sequence[AnswerRef]) -> None:
        assert refs
        self.asked.set()
        await asyncio.Event().wait()

    async def release(self, refs: Sequence[AnswerRef], *, wrote: Mapping[AnswerRef, int] | None = None) -> None:
        del wrote
        self.released += refs


async def test_what_has_ended_is_told_though_the_telling_was_cut_short() -> None:
    listener = Listener()
    clearing = Clearing(cast("Any", listener), lambda: 0.0)
    ended, spoken = (AnswerRef(uuid4(), 1, Side.A, "north") for _ in range(2))
    for ref in (ended, spoken):
        clearing.hold(Placement(Job(ref, Cost(1, 1)), "north@here", "me"))
    clearing.spoke(spoken)
    clearing.ended(ended)
    running = asyncio.create_task(clearing.run())
    await listener.asked.wait()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    await clearing.flush()
    assert listener.released == [ended]
