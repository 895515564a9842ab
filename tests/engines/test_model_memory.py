"""The memory that models share, with models that only pretend to be large."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon.core.errors import AgonError, EngineError, EngineRejected, EngineUnreachable
from agon.engines.embedded import WarmStart
from agon.engines.model_memory import MemoryNews, ModelMemory


@dataclass(eq=False)
class Shelf:
    """Says what is in memory, and watches that it is never too much."""

    budget: int
    held: dict[str, int] = field(default_factory=dict[str, int])
    most: int = 0

    def put(self, key: str, size: int) -> None:
        assert key not in self.held, "it was loaded twice"
        self.held[key] = size
        self.most = max(self.most, sum(self.held.values()))
        assert self.most <= self.budget


@dataclass(eq=False)
class Block:
    """A model that takes room and time, and that counts who uses it."""

    name: str
    needed_bytes: int
    shelf: Shelf
    breaks: bool | Exception = False
    users: int = 0
    loads: int = 0

    @property
    def key(self) -> str:
        return self.name

    async def load(self) -> None:
        self.loads += 1
        self.shelf.put(self.key, self.needed_bytes)
        await asyncio.sleep(0)
        if self.breaks:
            del self.shelf.held[self.key]
            if isinstance(self.breaks, Exception):
                raise self.breaks
            raise EngineRejected("It is broken.", code="engine_bad_weights")

    async def unload(self) -> None:
        assert not self.users, "it was put out while in use"
        await asyncio.sleep(0)
        self.shelf.held.pop(self.key, None)

    async def write(self, memory: ModelMemory, turns: int = 1) -> None:
        async with memory.use(self):
            assert self.key in self.shelf.held
            self.users += 1
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            finally:
                self.users -= 1


def blocks(*sizes: int, budget: int = 100) -> tuple[Shelf, list[Block]]:
    shelf = Shelf(budget)
    return shelf, [Block("abcdefgh"[number], size, shelf) for number, size in enumerate(sizes)]


async def test_one_load_serves_all_who_wait_for_it() -> None:
    _, (a,) = blocks(60)
    memory = ModelMemory(100)
    await asyncio.gather(*(a.write(memory) for _ in range(20)))
    assert a.loads == 1
    assert memory.holds(a)


async def test_two_that_do_not_fit_together_take_turns_and_are_counted() -> None:
    shelf, (a, b) = blocks(60, 70)
    told = Counter[str]()
    memory = ModelMemory(
        100, MemoryNews(lambda name: told.update(["+" + name]), lambda name: told.update(["-" + name]))
    )
    for _ in range(3):
        await a.write(memory)
        await b.write(memory)
    assert told == {"+a": 3, "+b": 3, "-a": 3, "-b": 2}
    assert shelf.most == 70
    assert list(shelf.held) == ["b"]


async def test_nobody_starves_and_nobody_is_put_out_in_use() -> None:
    """However busy one model is, a turn of the other waits for no more than those that came before it."""
    _, (a, b) = blocks(60, 70)
    memory = ModelMemory(100)
    over = asyncio.Event()

    async def keep_busy() -> None:
        while not over.is_set():
            await a.write(memory, turns=3)

    busy = [asyncio.create_task(keep_busy()) for _ in range(3)]
    await asyncio.sleep(0.01)
    async with asyncio.timeout(1):
        await b.write(memory)
    over.set()
    await asyncio.gather(*busy)


async def test_one_that_can_never_fit_is_refused_at_once_with_what_is_missing() -> None:
    shelf, (a,) = blocks(150 << 20, budget=100 << 20)
    memory = ModelMemory(shelf.budget)
    with pytest.raises(EngineRejected, match="50 MiB more") as caught:
        await a.write(memory)
    assert caught.value.code == "not_enough_memory"
    assert a.loads == 0


@pytest.mark.parametrize("breaks", [True, RuntimeError("nobody thought of this")])
async def test_a_failed_load_is_told_to_all_who_wait_and_leaves_room(breaks: bool | Exception) -> None:
    shelf, (a, b) = blocks(60, 70)
    a.breaks = breaks
    memory = ModelMemory(100)
    async with asyncio.timeout(2):
        results = await asyncio.gather(*(a.write(memory) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(result, EngineError) for result in results)
    assert not shelf.held
    await b.write(memory)
    a.breaks = False
    await a.write(memory)


async def test_at_the_start_memory_is_filled_and_nobody_put_out() -> None:
    shelf, (a, b, c) = blocks(60, 70, 30)
    memory = ModelMemory(100)
    assert [await memory.fill(model) for model in (a, b, c)] == [True, False, True]
    assert list(shelf.held) == ["a", "c"]


async def test_the_order_of_the_start_is_that_of_the_configuration() -> None:
    start, came = WarmStart(["b", "a"]), list[str]()
    for name in ("x", "a", "b"):
        start.enter(name)

    async def come(name: str) -> None:
        await start.turn(name)
        came.append(name)
        start.decide(name)

    await asyncio.gather(*(come(name) for name in ("x", "a", "b")))
    assert came == ["b", "a", "x"]


async def test_one_that_is_asked_for_in_the_background_is_loaded() -> None:
    _, (a, b) = blocks(60, 70)
    memory = ModelMemory(100)
    await a.write(memory)
    memory.fetch(b)
    for _ in range(10):
        await asyncio.sleep(0)
    assert memory.holds(b)
    assert [one.users for one in memory.residents] == [0]
    b.breaks = True
    memory.fetch(a)
    memory.fetch(b)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not memory.holds(b)


async def test_whoever_waits_for_one_that_is_taken_away_is_told() -> None:
    _, (a, b) = blocks(60, 70)
    memory = ModelMemory(100)
    async with memory.use(a):
        waiting = asyncio.create_task(b.write(memory))
        await asyncio.sleep(0)
        await memory.remove(b)
        with pytest.raises(EngineUnreachable):
            await waiting
        await a.write(memory)
    await memory.remove(a)
    assert memory.residents == []


@settings(deadline=None)
@given(st.lists(st.integers(10, 60), min_size=2, max_size=6), st.integers(0, 2**20))
def test_whatever_happens_all_is_served_and_all_comes_back(sizes: list[int], seed: int) -> None:
    """Turns for all models at once, some of them given up, some models broken, some taken away."""

    async def run() -> None:
        chance = random.Random(seed)
        shelf, models = blocks(*sizes)
        memory = ModelMemory(shelf.budget)
        models[0].breaks = chance.random() < 0.3
        tasks: list[asyncio.Task[None]] = []
        for _ in range(60):
            model = chance.choice(models)
            tasks.append(asyncio.create_task(model.write(memory, turns=chance.randrange(4))))
            if chance.random() < 0.15:
                chance.choice(tasks).cancel()
            if chance.random() < 0.1:
                memory.fetch(chance.choice(models))
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
        async with asyncio.timeout(5):
            results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(one is None or isinstance(one, AgonError | asyncio.CancelledError) for one in results)
        for _ in range(20):
            await asyncio.sleep(0)
        assert all(one.users == 0 and not one.loading for one in memory.residents)
        assert {one.key for one in memory.residents} == set(shelf.held)
        for model in models:
            await memory.remove(model)
        assert not shelf.held
        assert memory.residents == []

    asyncio.run(run())
