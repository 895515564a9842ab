"""The contract of `Dispatch`: whose a turn is, and that it is counted once and taken off once."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from tests.contract.fleet import Fleet, held, job, ref, report, server_of

from agon.core.contestants import EngineState
from agon.core.errors import Unavailable
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.placement import Beat, Cost, Job, Placement
from agon.stores.redis.dispatch import RedisDispatch


async def test_a_turn_goes_from_the_gateway_to_a_runner_and_leaves_nothing(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    asked = [job(prompt=30, output=70, prefix="talk"), job(output=50)]
    placed = await gateway.reserve(asked)
    assert [(each.job, each.executor) for each in placed] == [(each, "gateway") for each in asked]
    await gateway.send(placed)
    taken = await runner.take(0.5)
    assert [(each.job, each.replica, each.executor) for each in taken] == [
        (each, "north@one", "runner") for each in asked
    ]
    assert await fleet.outstanding() == {"one": 150}
    await runner.speak([asked[0].ref])
    await runner.speak([each.ref for each in asked])
    assert await fleet.outstanding() == {"one": 120}
    await runner.release([asked[0].ref, asked[0].ref, ref()])
    await runner.release([asked[0].ref])
    assert await fleet.outstanding() == {"one": 50}
    await runner.release([asked[1].ref])
    await fleet.assert_nothing_left()
    assert await runner.take(0) == []


async def test_a_job_arrives_as_it_was(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one", contestant="a b:c|d@e\u00e9"))
    gateway = fleet.executor("gateway")
    request = GenerationRequest(
        messages=(Message("system", "é\x00\ud800"), Message("user", "光\n\n👩‍🚀")),
        sampling=Sampling(10, 0.0, None),
        seed=7,
        budget_s=1.5,
        said="a b",
        extra={"stop": ["x"], "logit_bias": {"1": 0}},
    )
    asked = Job(ref("a b:c|d@e\u00e9"), Cost(3, 4, 1), "p:q", ("x@http://y",), request, reruns=2, deaths=1)
    await gateway.reserve([job("a b:c|d@e\u00e9", prefix="p:q")])
    placed = await gateway.reserve([asked])
    await gateway.send(placed)
    assert await runner.take(0.5) == [Placement(asked, placed[0].replica, "runner", holds_prefix=True)]


async def test_one_who_waits_is_woken(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    waiting = asyncio.create_task(runner.take(5.0))
    await asyncio.sleep(0.05)
    asked = job()
    await gateway.send(await gateway.reserve([asked]))
    async with asyncio.timeout(1.0):
        assert [each.job for each in await waiting] == [asked]
    begun = time.monotonic()
    assert await runner.take(0.05) == []
    assert time.monotonic() - begun < 1.0


async def test_the_runner_with_the_fewest_turns_gets_it(fleet: Fleet) -> None:
    runners = [await fleet.runner(f"runner {number}", report("shared")) for number in range(3)]
    await fleet.runner("sick runner", report("shared", EngineState.EJECTED))
    gateway = fleet.executor("gateway")
    for _ in range(6):
        await gateway.send(await gateway.reserve([job(), job()]))
    assert [len(await runner.take(0)) for runner in runners] == [4, 4, 4]


async def test_a_turn_is_not_sent_to_the_dead(fleet: Fleet) -> None:
    await fleet.runner("dead", report("one"), report("two"))
    gateway = fleet.executor("gateway")
    placed = await gateway.reserve([job() for _ in range(4)])
    await fleet.pass_s(2)
    await gateway.beat(Beat(held=held(*placed)))
    alive = await fleet.runner("alive", report("two"))
    await gateway.send(placed)
    taken = await alive.take(0.5)
    assert {each.job.ref for each in taken} == {each.job.ref for each in placed}
    assert {server_of(each) for each in taken} == {"two"}
    assert await fleet.outstanding() == {"one": 0, "two": 400}


@pytest.mark.parametrize("state", [EngineState.UNKNOWN, EngineState.FAILED, EngineState.DRAINING])
async def test_a_turn_is_sent_elsewhere_if_its_replica_gets_nothing_new_by_now(
    fleet: Fleet, state: EngineState
) -> None:
    runner = await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    placed = await gateway.reserve([job(), job()])
    other = await fleet.runner("other", report("two"))
    await gateway.beat(Beat((report("one", EngineState.UNKNOWN),), held(*placed)))
    await runner.beat(Beat((report("one", state),)))
    await gateway.send(placed[:1])
    assert [server_of(each) for each in await other.take(0.5)] == ["two"]
    await other.leave()
    with pytest.raises(Unavailable):
        await gateway.send(placed[1:])


async def test_a_turn_that_nobody_can_be_sent_is_nobodys(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    placed = await gateway.reserve([job()])
    await runner.leave()
    with pytest.raises(Unavailable) as refused:
        await gateway.send(placed)
    assert refused.value.code == "model_not_ready"
    assert await gateway.unheld([placed[0].job.ref]) == [placed[0].job.ref]
    assert not {key for key in await fleet.keys() if key.startswith(("replica", "turn", "holds", "ranked", "servers"))}


async def test_only_what_is_still_held_is_taken_and_once(fleet: Fleet) -> None:
    runner, other = await fleet.runner("runner", report("one")), fleet.executor("other")
    moved, again, stays = job(), job(), job()
    await other.send(await other.reserve([moved, again, stays]))
    await other.reserve([moved])
    await other.send(await other.reserve([again]))
    assert [each.job for each in await runner.take(0.5)] == [stays, again]
    assert await runner.take(0) == []


async def test_a_turn_that_another_has_by_now_is_not_sent(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"))
    late, other = fleet.executor("late"), fleet.executor("other")
    placed = await late.reserve([job()])
    await other.reserve([placed[0].job])
    await late.send(placed)
    assert await runner.take(0) == []
    assert await fleet.turns() == {"one": 1}
    await late.release([placed[0].job.ref])
    assert await fleet.turns() == {"one": 1}


async def test_a_turn_that_was_given_out_is_not_sent(fleet: Fleet) -> None:
    late = fleet.executor("late")
    runner = await fleet.runner("runner", report("one"))
    placed = await late.reserve([job()])
    await fleet.pass_s(1.6)
    await runner.beat(Beat((report("one"),)))
    assert await runner.reap() == [placed[0].job]
    await late.send(placed)
    assert await runner.take(0) == []
    await late.beat(Beat(held=held(*placed)))
    await fleet.assert_nothing_left()


async def test_a_turn_that_was_lost_with_redis_is_sent_all_the_same(fleet: Fleet) -> None:
    gateway = fleet.executor("gateway")
    runner = await fleet.runner("runner", report("one"))
    placed = await gateway.reserve([job(prompt=10, output=20)])
    await fleet.lose_everything()
    await runner.beat(Beat((report("one"),)))
    await gateway.send(placed)
    assert [each.job for each in await runner.take(0.5)] == [placed[0].job]
    assert await fleet.outstanding() == {"one": 30}


async def started(fleet: Fleet, count: int) -> tuple[RedisDispatch, list[Placement]]:
    """A runner on replica one that has taken some turns of 100 tokens."""
    runner = await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    await gateway.send(await gateway.reserve([job(prompt=20, output=80) for _ in range(count)]))
    return runner, [*await runner.take(0.5)]


async def test_a_beat_says_what_remains(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 3)
    first, second, third = (each.job.ref for each in taken)
    await runner.speak([first])
    # The statement is older than the first token, whose prompt does not come back.
    statement = {first: ("north@one", 20, 80), second: ("north@one", 0, 10), third: ("north@one", 20, 85)}
    await runner.beat(Beat((report("one"),), statement))
    assert await fleet.outstanding() == {"one": 80 + 10 + 105}
    await runner.release([first, second])
    assert await fleet.outstanding() == {"one": 105}
    await runner.release([third])
    await fleet.assert_nothing_left()


async def test_what_a_beat_does_not_name_is_dropped_unless_it_is_new(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 3)
    named = Beat((report("one"),), held(*taken[:1]))
    await runner.beat(named)
    assert await fleet.turns() == {"one": 3}
    await runner.beat(named)
    assert await fleet.turns() == {"one": 1}
    assert set(await runner.unheld([each.job.ref for each in taken])) == {each.job.ref for each in taken[1:]}
    await runner.release([each.job.ref for each in taken])
    await fleet.assert_nothing_left()


async def test_what_waits_in_the_inbox_is_not_dropped(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    asked = job()
    await gateway.send(await gateway.reserve([asked]))
    for _ in range(5):
        await runner.beat(Beat((report("one"),)))
    assert await fleet.turns() == {"one": 1}
    assert [each.job for each in await runner.take(0.5)] == [asked]


async def test_a_statement_does_not_bring_back_what_is_over(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 2)
    statement = Beat((report("one"),), held(*taken))
    await runner.release([taken[0].job.ref])
    await runner.send(taken[1:])
    await runner.beat(statement)
    assert await fleet.turns() == {"one": 1}
    (again,) = await runner.take(0.5)
    await runner.release([again.job.ref])
    await runner.beat(statement)
    await fleet.assert_nothing_left()


async def test_beats_restore_what_was_lost(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 3)
    other = await fleet.runner("other", report("two", EngineState.COLD))
    before = await fleet.status()
    await fleet.lose_everything()
    assert not await fleet.status()
    for _ in range(2):
        await runner.beat(Beat((report("one"),), held(*taken)))
        await other.beat(Beat((report("two", EngineState.COLD),)))
    assert await fleet.status() == before
    assert await runner.unheld([each.job.ref for each in taken]) == []
    await runner.release([each.job.ref for each in taken])
    await fleet.assert_nothing_left()


async def test_beats_mend_a_total_that_is_wrong(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 2)
    key = f"{fleet.prefix}:replica:north@one"
    await fleet.redis.hincrby(key, "tokens", 1234)
    await fleet.redis.hincrby(key, "turns", -1)
    await fleet.redis.hincrby(key, "t:runner", 77)
    await fleet.redis.hincrby(key, "n:runner", 1)
    for _ in range(3):
        await runner.beat(Beat((report("one"), report("two")), held(*taken)))
    assert await fleet.turns() == {"one": 2, "two": 0}
    assert await fleet.outstanding() == {"one": 200, "two": 0}


async def test_a_beat_of_many_turns_is_quick(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one", capacity=1000))
    placed = await runner.reserve([job(prompt=5, output=5) for _ in range(1000)])
    beat = Beat((report("one", capacity=1000),), {each.job.ref: (each.replica, 0, 4) for each in placed})
    await runner.beat(beat)
    assert await fleet.outstanding() == {"one": 4000}
    await fleet.lose_everything()
    begun = time.perf_counter()
    await runner.beat(beat)
    assert time.perf_counter() - begun < 1.0
    assert await fleet.outstanding() == {"one": 4000}
    await runner.release([each.job.ref for each in placed])
    await fleet.assert_nothing_left()


async def test_what_the_dead_held_is_given_to_one_caller_only(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 40)
    others = [await fleet.runner(f"other {number}", report("two")) for number in range(4)]
    for _ in range(2):
        fleet.now_s += 0.7
        for other in others:
            await other.beat(Beat((report("two"),)))
    assert await others[0].reap() == []
    fleet.now_s += 0.2
    shares = await asyncio.gather(*(other.reap() for other in others for _ in range(3)))
    given = [each for share in shares for each in share]
    assert sorted(str(each.ref) for each in given) == sorted(str(each.job.ref) for each in taken)
    assert {each.cost for each in given} == {Cost(20, 80)}
    assert await fleet.outstanding() == {"two": 0}
    redis: Any = fleet.redis
    assert set(await redis.zrange(f"{fleet.prefix}:alive", 0, -1)) == {f"other {number}" for number in range(4)}
    # It was only held up; what it says is late.
    await runner.beat(Beat((report("one"),), held(*taken)))
    assert await fleet.outstanding() == {"one": 0, "two": 0}
    await fleet.assert_nothing_left()
    await others[0].send(await others[0].reserve(given[:2]))


async def test_one_that_asks_for_a_place_lives(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    await gateway.reserve([job()])
    await fleet.pass_s(1.6)
    await runner.beat(Beat((report("one"),)))
    placed = await gateway.reserve([job()])
    assert await runner.reap() == []
    await gateway.send(placed)
    assert [each.job for each in await runner.take(0.5)] == [placed[0].job]


async def test_much_that_the_dead_held_is_given_out_in_parts(fleet: Fleet) -> None:
    _, taken = await started(fleet, 5)
    many = fleet.executor("many")
    placed = await many.reserve([job() for _ in range(1100)])
    await fleet.pass_s(2)
    parts = [await many.reap() for _ in range(3)]
    assert [len(part) for part in parts] == [1000, 105, 0]
    expected = {each.job.ref for each in (*taken, *placed)}
    assert {each.ref for part in parts for each in part} == expected
    assert not {key.split(":")[0] for key in await fleet.keys()} & {"turn", "holds", "replica", "inbox", "ranked"}


async def test_nobody_dies_while_redis_stands_still(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 3)
    other = await fleet.runner("other", report("two"))
    refs = [each.job.ref for each in taken]
    fleet.now_s += 60
    # Whatever comes first when it goes on.
    assert await other.unheld(refs) == []
    assert not await other.seize(refs[0])
    assert await other.reap() == []
    await other.beat(Beat((report("two"),)))
    assert await other.reap() == []
    assert await fleet.outstanding() == {"one": 300, "two": 0}
    # One that is silent from then on has died.
    await fleet.pass_s(1.6)
    assert {each.ref for each in await other.reap()} == set(refs)
    await runner.beat(Beat((report("one"),), held(*taken)))
    await fleet.assert_nothing_left()


async def test_whoever_is_slow_to_come_back_to_a_restarted_redis_lives(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 3)
    other = await fleet.runner("other", report("two"))
    # It was away for a while, but for less than a life.
    fleet.now_s += 1.2
    await other.beat(Beat((report("two"),)))
    fleet.now_s += 0.7
    assert await other.reap() == []
    await runner.beat(Beat((report("one"),), held(*taken)))
    assert await fleet.turns() == {"one": 3, "two": 0}


async def test_one_that_leaves_is_sent_nothing_and_what_it_holds_is_given_out(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 1)
    gateway = fleet.executor("gateway")
    await runner.leave()
    with pytest.raises(Unavailable):
        await gateway.reserve([job()])
    assert await gateway.unheld([taken[0].job.ref]) == []
    await fleet.pass_s(1.6)
    assert await gateway.reap() == [taken[0].job]


async def test_one_that_leaves_with_nothing_is_gone_at_once(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 1)
    await runner.release([taken[0].job.ref])
    await runner.leave()
    left = {key for key in await fleet.keys() if not key.startswith(("audited", "capacity"))}
    assert left == {"alive"}, "of the gateway, which has had something to lose"
    assert await fleet.redis.get(f"{fleet.prefix}:capacity") == "0"


async def test_a_turn_is_unheld_when_nobody_has_it_or_is_about_to(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 2)
    gone, kept = (each.job.ref for each in taken)
    await runner.release([gone])
    unknown = ref()
    assert await runner.unheld([gone, kept, unknown]) == [gone, unknown]
    assert await runner.unheld([]) == []
    await fleet.pass_s(1.6)
    # Whoever reaps gets it, and has some time to do something about it.
    other = fleet.executor("other")
    assert await other.unheld([kept]) == []
    assert [each.ref for each in await other.reap()] == [kept]
    assert await other.unheld([kept]) == []
    given: Any = fleet.redis
    for key in await fleet.keys():
        if key.startswith("given:"):
            await given.pexpire(f"{fleet.prefix}:{key}", 26_000)
    assert await other.unheld([kept]) == [kept]


async def test_one_of_many_seizes_a_turn_that_nobody_holds(fleet: Fleet) -> None:
    runner, taken = await started(fleet, 1)
    mine = taken[0].job.ref
    others = [fleet.executor(f"other {number}") for number in range(5)]
    assert not await others[0].seize(mine)
    await fleet.pass_s(1.6)
    results = await asyncio.gather(*(other.seize(mine) for other in others))
    assert sum(results) == 1
    assert await fleet.outstanding() == {"one": 0}
    winner = others[results.index(True)]
    for _ in range(3):
        await winner.beat(Beat())
    assert await runner.unheld([mine]) == []
    await winner.release([mine])
    assert await runner.unheld([mine]) == [mine]
    await fleet.assert_nothing_left()


async def test_another_life_under_the_same_name_begins_with_nothing(fleet: Fleet) -> None:
    _, taken = await started(fleet, 2)
    waiting = job()
    gateway = fleet.executor("gateway")
    await gateway.send(await gateway.reserve([waiting]))
    await asyncio.sleep(0.005)
    reborn = await fleet.runner("runner", report("one"))
    assert set(await reborn.unheld([each.job.ref for each in taken])) == {each.job.ref for each in taken}
    assert [each.job for each in await reborn.take(0.5)] == [waiting]


CALLS: dict[str, Callable[[RedisDispatch], Awaitable[object]]] = {
    "reserve": lambda dispatch: dispatch.reserve([job()]),
    "send": lambda dispatch: dispatch.send([Placement(job(), "north@one", "me")]),
    "take": lambda dispatch: dispatch.take(0),
    "speak": lambda dispatch: dispatch.speak([ref()]),
    "release": lambda dispatch: dispatch.release([ref()]),
    "beat": lambda dispatch: dispatch.beat(Beat()),
    "leave": lambda dispatch: dispatch.leave(),
    "reap": lambda dispatch: dispatch.reap(),
    "unheld": lambda dispatch: dispatch.unheld([ref()]),
    "seize": lambda dispatch: dispatch.seize(ref()),
    "seed": lambda dispatch: dispatch.seed(uuid4(), 1, 7),
    "replicas": lambda dispatch: dispatch.replicas(),
}


@pytest.mark.parametrize("call", CALLS)
async def test_without_its_server_dispatch_is_unavailable(call: str) -> None:
    dispatch = RedisDispatch("unix:///nowhere/at/all.sock", executor="me")
    with pytest.raises(Unavailable) as refused:
        await CALLS[call](dispatch)
    assert refused.value.code == "bus_unavailable"
    await dispatch.close()
