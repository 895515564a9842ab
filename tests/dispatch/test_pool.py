"""The engine pool: one bad entry leaves the others alone, and what is dropped finishes first."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import pytest

from agon.core.contestants import Contestant, ContestantKind, EngineState
from agon.core.errors import EngineUnreachable, InvalidInput
from agon.core.generation import Engine, Finish, FinishReason, GenerationRequest, Piece
from agon.dispatch.breaker import Breaker, BreakerRules
from agon.dispatch.pool import EnginePool, Member, PoolSurroundings

URL = "http://127.0.0.1:1"


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


def contestant(name: str, *urls: str) -> Contestant:
    return Contestant(name, ContestantKind.OPENAI, name, urls=urls or (URL,))


class Bench:
    """A pool with its ears."""

    def __init__(self) -> None:
        self.engines: dict[str, StillEngine] = {}
        self.kinds: dict[str, type[StillEngine]] = {}
        self.left: list[Member] = []
        self.told: list[tuple[str, str]] = []
        self.now_s = 0.0
        self.pool = EnginePool(
            "here",
            PoolSurroundings(
                make=self.make,
                changed=self.left.append,
                tell=lambda name, words: self.told.append((name, words)),
                monotonic_s=lambda: self.now_s,
            ),
        )

    def make(self, wanted: Contestant, url: str | None, progress: Callable[[str], None]) -> Engine:
        del progress
        if wanted.name == "bad":
            raise InvalidInput("The key is not set.", field="key_env")
        self.engines[f"{wanted.name}@{url or 'here'}"] = made = self.kinds.get(wanted.name, StillEngine)()
        return made

    def member(self, name: str, url: str = URL) -> Member:
        found = self.pool.get(f"{name}@{url}")
        assert found is not None
        return found

    async def until_ready(self, name: str) -> Member:
        await self.until(lambda: self.member(name).state is EngineState.READY)
        return self.member(name)

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
    await bench.until_ready("good")
    await bench.until(lambda: bench.member("bad").state is EngineState.FAILED)
    assert ("bad", "not ready. The key is not set.") in bench.told
    assert bench.left == [bench.member("bad")]


async def test_an_error_that_nobody_thought_of_is_tried_again_like_any_other(bench: Bench) -> None:
    tries = 0

    class Odd(StillEngine):
        async def warm_up(self) -> None:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise ZeroDivisionError

    bench.kinds["odd"] = Odd
    await bench.pool.match([contestant("odd"), contestant("good")])
    await bench.until(lambda: bench.member("odd").state is EngineState.FAILED)
    await bench.until_ready("good")
    await bench.until_ready("odd")


async def test_each_server_is_a_replica_and_so_is_a_model_that_runs_here(bench: Bench) -> None:
    local = Contestant("small", ContestantKind.EMBEDDED, "small")
    await bench.pool.match([contestant("big", "http://a", "http://b"), local])
    assert {member.replica for member in bench.pool.members} == {"big@http://a", "big@http://b", "small@here"}
    assert set(bench.engines) == {"big@http://a", "big@http://b", "small@here"}
    kept = bench.engines["big@http://b"]
    await bench.pool.match([contestant("big", "http://b", "http://c")])
    assert bench.engines["big@http://b"] is kept
    await bench.until(lambda: {member.replica for member in bench.pool.members} == {"big@http://b", "big@http://c"})
    assert bench.engines["small@here"].is_closed


async def test_what_leaves_the_roster_finishes_its_answers_first(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    member = await bench.until_ready("good")
    async with member.place():
        await bench.pool.match([])
        assert bench.pool.get(member.replica) is None
        assert (member.state, bench.left) == (EngineState.DRAINING, [member])
        assert list(bench.pool.members) == [member]
        await asyncio.sleep(0.05)
        assert not bench.engines[member.replica].is_closed
    await bench.until(lambda: bench.engines[member.replica].is_closed)
    await bench.until(lambda: not bench.pool.members)


async def test_a_new_weight_keeps_the_engine_and_another_model_does_not(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    first = bench.engines[f"good@{URL}"]
    await bench.pool.match([replace(contestant("good"), weight=3.0)])
    assert bench.engines[f"good@{URL}"] is first
    await bench.pool.match([replace(contestant("good"), model="better")])
    assert bench.engines[f"good@{URL}"] is not first
    await bench.until(lambda: first.is_closed)


async def test_a_replica_that_an_admin_drains_keeps_its_engine(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    member = await bench.until_ready("good")
    await bench.pool.match([replace(contestant("good"), draining=(member.replica,))])
    assert (member.state, member.usable, bench.left) == (EngineState.DRAINING, False, [member])
    await bench.pool.match([contestant("good")])
    assert (member.state, member.usable) == (EngineState.READY, True)


async def test_places_are_given_in_turn_and_counted(bench: Bench) -> None:
    await bench.pool.match([replace(contestant("good"), max_concurrent=1)])
    member, order = await bench.until_ready("good"), list[int]()

    async def work(number: int) -> None:
        async with member.place():
            order.append(number)
            await asyncio.sleep(0)

    async with member.place():
        works = [asyncio.create_task(work(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert (member.active, member.waiting) == (1, 3)
        works[1].cancel()
        await asyncio.sleep(0)
        assert (member.active, member.waiting) == (1, 2)
    await asyncio.gather(*works, return_exceptions=True)
    assert (member.active, member.waiting, order) == (0, 0, [0, 2])
    assert member.idle.is_set()


async def test_a_replica_that_keeps_failing_rests_until_a_probe_succeeds(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    member = await bench.until_ready("good")
    member.breaker = Breaker(BreakerRules(ejection_s=0.05))
    assert [member.failed("gone", 0.0, 0.5) for _ in range(5)] == [False, False, False, False, True]
    assert (member.state, member.detail, member.usable) == (EngineState.EJECTED, "gone", True)
    await bench.until(lambda: ("good", "gets a rest. gone") in bench.told)
    bench.now_s = 100.0
    await bench.until_ready("good")


async def test_a_probe_that_fails_takes_the_replica_down(bench: Bench) -> None:
    await bench.pool.match([contestant("good")])
    member = await bench.until_ready("good")
    await member.engine.close()
    member.breaker = Breaker(BreakerRules(ejection_s=0.05))
    bench.now_s = 100.0
    for _ in range(5):
        member.failed("gone", 0.0, 0.5)
    await bench.until(lambda: member.state is EngineState.FAILED)
    assert member.detail == "closed"
    assert bench.left == [member]


async def test_a_runner_that_leaves_drains_every_replica(bench: Bench) -> None:
    await bench.pool.match([contestant("one"), contestant("two")])
    bench.pool.leave()
    assert {member.state for member in bench.pool.members} == {EngineState.DRAINING}
    assert {member.contestant.name for member in bench.left} == {"one", "two"}
