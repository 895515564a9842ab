"""The engine pool: one bad entry leaves the others alone, and what is dropped finishes first."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from agon.core.contestants import Contestant, ContestantKind, EngineState
from agon.core.errors import EngineUnreachable, InvalidInput
from agon.core.generation import Engine, Finish, FinishReason, GenerationRequest, Piece
from agon.dispatch.pool import EnginePool, Member


class StillEngine:
    """Comes up at once, answers with one word, and remembers whether it was closed."""

    def __init__(self) -> None:
        self.is_closed = False

    async def warm_up(self) -> None:
        if self.is_closed:
            raise EngineUnreachable("closed")

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish]:
        del request
        yield Piece("word")
        yield Finish(FinishReason.STOP)

    async def close(self) -> None:
        self.is_closed = True


def contestant(name: str) -> Contestant:
    return Contestant(name, ContestantKind.OPENAI, name, urls=("http://127.0.0.1:1",))


class Bench:
    """A pool with its ears."""

    def __init__(self) -> None:
        self.engines: dict[str, StillEngine] = {}
        self.ready: list[str] = []
        self.told: list[tuple[str, str]] = []
        self.pool = EnginePool(
            self.make,
            on_ready=lambda member: self.ready.append(member.contestant.name),
            tell=lambda name, words: self.told.append((name, words)),
        )

    def make(self, wanted: Contestant, progress: Callable[[str], None]) -> Engine:
        del progress
        if wanted.name == "bad":
            raise InvalidInput("The key is not set.", field="key_env")
        self.engines[wanted.name] = StillEngine()
        return self.engines[wanted.name]

    def member(self, name: str) -> Member:
        return next(member for member in self.pool.members if member.contestant.name == name)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
                await asyncio.sleep(0.01)


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    made = Bench()
    yield made
    await made.pool.close()


async def test_an_engine_that_cannot_be_made_leaves_the_others_alone(bench: Bench) -> None:
    await bench.pool.match([contestant("bad"), contestant("good")])
    await bench.until(lambda: "good" in bench.ready and bool(bench.told))
    assert bench.member("bad").state is EngineState.FAILED
    assert ("bad", "not ready. The key is not set.") in bench.told
    assert bench.ready == ["good"]


async def test_what_leaves_the_roster_finishes_its_answers_first(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    await bench.until(lambda: bench.ready == ["good"])
    member, engine = bench.member("good"), bench.engines["good"]
    await member.places.acquire()
    member.begin()
    await bench.pool.match([])
    assert not bench.pool.holds(member)
    await asyncio.sleep(0.05)
    assert not engine.is_closed
    member.end()
    await bench.until(lambda: engine.is_closed)


async def test_a_new_weight_keeps_the_engine_and_a_new_address_does_not(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    first = bench.engines["good"]
    heavier = Contestant("good", ContestantKind.OPENAI, "good", urls=("http://127.0.0.1:1",), weight=3.0)
    await bench.pool.match([heavier])
    assert bench.engines["good"] is first
    moved = Contestant("good", ContestantKind.OPENAI, "good", urls=("http://127.0.0.1:2",))
    await bench.pool.match([moved])
    assert bench.engines["good"] is not first
    await bench.until(lambda: first.is_closed)


async def test_an_engine_that_keeps_failing_is_down_until_it_answers_again(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    await bench.until(lambda: bench.ready == ["good"])
    member = bench.member("good")
    for _ in range(3):
        member.failed("engine_unreachable: gone")
    assert member.state is EngineState.FAILED
    await bench.until(lambda: member.state is EngineState.READY)
    assert bench.ready == ["good"]
