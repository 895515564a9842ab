"""One makes it, all have it; who fails wakes the others."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

import pytest

from agon.core.errors import Unavailable
from agon.rounds.flights import SingleFlight

A, B, C = (letter * 32 for letter in (b"a", b"b", b"c"))


class Shelf:
    """A cache in memory that several processes share; it counts its readings."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        await asyncio.sleep(0)
        return {key: self.values[key] for key in keys if key in self.values}

    async def keep(self, values: Mapping[bytes, bytes]) -> None:
        await asyncio.sleep(0)
        self.values |= values


class Leases:
    """Leases that never run out, for several makers; one who has none gets all."""

    def __init__(self) -> None:
        self.held: set[bytes] = set()

    async def take(self, keys: Sequence[bytes], for_s: float) -> Collection[bytes]:
        assert for_s > 0
        taken = [key for key in keys if key not in self.held]
        self.held |= set(taken)
        return taken

    async def give_back(self, keys: Collection[bytes]) -> None:
        self.held -= set(keys)


class Maker:
    """Makes values when it is let; remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Sequence[bytes]] = []
        self.let = asyncio.Event()
        self.fails = 0
        self.without: set[bytes] = set()

    async def __call__(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        self.asked.append(keys)
        await self.let.wait()
        if self.fails:
            self.fails -= 1
            raise Unavailable("not now")
        return {key: b"made " + key[:1] for key in keys if key not in self.without}

    async def begun(self, times: int) -> None:
        async with asyncio.timeout(5):
            while len(self.asked) < times:  # noqa: ASYNC110
                await asyncio.sleep(0)


async def test_what_is_there_is_not_made() -> None:
    shelf, make = Shelf(), Maker()
    shelf.values[A] = b"old"
    make.let.set()
    assert await SingleFlight(shelf, Leases()).find_or_make([A, B, A], make) == {A: b"old", B: b"made b"}
    assert make.asked == [[B]]
    assert shelf.values[B] == b"made b"


async def test_of_many_who_want_it_one_makes_it() -> None:
    flight, make = SingleFlight(Shelf(), Leases()), Maker()
    wanting = [asyncio.create_task(flight.find_or_make(keys, make)) for keys in ([A, B], [B, C], [A], [C, A])]
    await make.begun(2)
    make.let.set()
    results = await asyncio.gather(*wanting)
    assert make.asked == [[A, B], [C]]
    assert [set(result) for result in results] == [{A, B}, {B, C}, {A}, {C, A}]


async def test_a_leader_that_fails_wakes_the_others_who_try_themselves() -> None:
    flight, make = SingleFlight(Shelf(), Leases()), Maker()
    make.fails = 1
    leader = asyncio.create_task(flight.find_or_make([A, B], make))
    await make.begun(1)
    others = [asyncio.create_task(flight.find_or_make([A], make)) for _ in range(3)]
    await asyncio.sleep(0)
    make.let.set()
    with pytest.raises(Unavailable):
        await leader
    assert [await other for other in others] == [{A: b"made a"}] * 3
    assert make.asked == [[A, B], [A]]


async def test_a_leader_that_is_cancelled_wakes_the_others() -> None:
    flight, make = SingleFlight(Shelf(), Leases()), Maker()
    leader = asyncio.create_task(flight.find_or_make([A], make))
    await make.begun(1)
    other = asyncio.create_task(flight.find_or_make([A], make))
    await asyncio.sleep(0)
    leader.cancel()
    await make.begun(2)
    make.let.set()
    assert await other == {A: b"made a"}


async def test_what_the_leader_leaves_out_is_left_out_once_each() -> None:
    flight, make = SingleFlight(Shelf(), Leases()), Maker()
    make.without = {A}
    first = asyncio.create_task(flight.find_or_make([A, B], make))
    await make.begun(1)
    second = asyncio.create_task(flight.find_or_make([A, B], make))
    await asyncio.sleep(0)
    make.let.set()
    assert await first == await second == {B: b"made b"}
    assert make.asked == [[A, B], [A]], "the second has tried by itself, once"


async def test_another_process_is_waited_for_and_taken_over_from() -> None:
    shelf, leases, make, theirs = Shelf(), Leases(), Maker(), Maker()
    make.let.set()
    there = asyncio.create_task(SingleFlight(shelf, leases).find_or_make([A, B], theirs, shared=True))
    await theirs.begun(1)
    here = asyncio.create_task(SingleFlight(shelf, leases).find_or_make([A, C], make, shared=True))
    await asyncio.sleep(0.12)
    assert make.asked == [[C]]
    theirs.let.set()
    assert await here == {A: b"made a", C: b"made c"}
    assert await there == {A: b"made a", B: b"made b"}
    assert make.asked == [[C]]
    assert not leases.held


async def test_another_process_that_fails_is_succeeded() -> None:
    shelf, leases, make, theirs = Shelf(), Leases(), Maker(), Maker()
    make.let.set()
    theirs.fails = 1
    there = asyncio.create_task(SingleFlight(shelf, leases).find_or_make([A], theirs, shared=True))
    await theirs.begun(1)
    here = asyncio.create_task(SingleFlight(shelf, leases).find_or_make([A], make, shared=True))
    await asyncio.sleep(0)
    theirs.let.set()
    with pytest.raises(Unavailable):
        await there
    assert await here == {A: b"made a"}
    assert make.asked == [[A]]
