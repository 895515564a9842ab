"""The contract of `Dispatch`: which replica gets a turn, and who is let in."""

import asyncio
from collections import Counter
from uuid import uuid4

import pytest
from tests.contract.fleet import NOTHING_BOUND, Fleet, job, ref, report, server_of

from agon.core.contestants import EngineState
from agon.core.conversation import Side
from agon.core.errors import Busy, Unavailable
from agon.core.placement import Admission, Balance, Beat

HELD_BACK = (EngineState.LOADING, EngineState.DRAINING, EngineState.FAILED, EngineState.UNKNOWN)


async def test_a_turn_goes_where_it_waits_least(fleet: Fleet) -> None:
    # 100 and 400 tokens a second.
    await fleet.runner("runner", report("small", capacity=2), report("large", capacity=8))
    gateway = fleet.executor("gateway")
    await gateway.reserve([job(output=200)])
    placed = [server_of((await gateway.reserve([job(output=200)]))[0]) for _ in range(9)]
    assert Counter(await fleet.turns()) == {"small": 2, "large": 8}, placed
    assert await fleet.outstanding() == {"small": 400, "large": 1600}
    # Both are full; among eight a place is free sooner than among two.
    await gateway.reserve([job(output=1), job(output=1)])
    assert Counter(await fleet.turns()) == {"small": 2, "large": 10}


async def test_a_free_place_counts_more_than_the_work_beside_it(fleet: Fleet) -> None:
    await fleet.runner("runner", report("short", capacity=2), report("long", capacity=2))
    gateway = fleet.executor("gateway")
    turns = [job(output=10), job(output=10), job(output=1000), job(output=10)]
    placed = [server_of((await gateway.reserve([turn]))[0]) for turn in turns[:3]]
    assert placed[0] != placed[1]
    assert server_of((await gateway.reserve(turns[3:]))[0]) != placed[2]
    # All four places are taken now: it waits where what is written is short.
    assert server_of((await gateway.reserve([job(output=10)]))[0]) != placed[2]


async def test_among_free_places_a_stream_is_fastest_where_few_write(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one", capacity=8), report("two", capacity=8))
    gateway = fleet.executor("gateway")
    (long,) = await gateway.reserve([job(output=1000)])
    others = [server_of((await gateway.reserve([job(output=10)]))[0]) for _ in range(6)]
    assert Counter(others)[server_of(long)] == 1, others


async def test_what_others_have_there_counts_too(fleet: Fleet) -> None:
    await fleet.runner("runner", report("busy", foreign=1000), report("idle"))
    gateway = fleet.executor("gateway")
    assert [server_of((await gateway.reserve([job()]))[0]) for _ in range(9)] == ["idle"] * 9
    assert await fleet.outstanding() == {"busy": 1000, "idle": 900}


async def test_equals_are_drawn_at_random(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"), report("two"), report("three"))
    gateway = fleet.executor("gateway")
    drawn = Counter[str]()
    for _ in range(300):
        (placed,) = await gateway.reserve([job()])
        drawn[server_of(placed)] += 1
        await gateway.release([placed.job.ref])
    assert min(drawn.values()) > 60, drawn
    assert len(drawn) == 3


async def test_any_number_of_gateways_agree(fleet: Fleet) -> None:
    await fleet.runner("runner", *(report(f"s{number}") for number in range(8)))
    gateways = [fleet.executor(f"gateway {number}") for number in range(4)]
    await asyncio.gather(*(gateways[number % 4].reserve([job()]) for number in range(80)))
    assert set((await fleet.turns()).values()) == {10}


async def test_a_measured_speed_decides(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("fast", tokens=900, stream_s=3.0), report("slow"))
    await runner.beat(Beat((report("fast"), report("slow", tokens=300, stream_s=3.0))))
    rates = {server: replica.rate_tokens_per_s for server, replica in (await fleet.status()).items()}
    assert rates == {"fast": 600, "slow": 200}
    gateway = fleet.executor("gateway")
    for _ in range(80):
        await gateway.reserve([job()])
    assert Counter(await fleet.turns())["fast"] == pytest.approx(60, abs=1)


async def test_a_speed_follows_what_is_measured_by_anybody(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one", capacity=1, tokens=1000, stream_s=10.0))
    gateway = fleet.executor("gateway")
    rates = [100.0]
    for _ in range(12):
        await gateway.beat(Beat((report("one", EngineState.UNKNOWN, tokens=100, stream_s=10.0),)))
        rates.append((await fleet.status())["one"].rate_tokens_per_s)
    assert rates == sorted(rates, reverse=True)
    assert rates[1] > 50
    assert 10 <= rates[-1] < 11


async def test_what_nobody_has_measured_is_taken_for_the_best_that_is_known(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("new"), report("old"))
    assert (await fleet.status())["new"].rate_tokens_per_s == 100
    for speed in (80, 20):
        await runner.beat(Beat((report("new"), report("old", tokens=speed * 1000, stream_s=1000.0))))
        await runner.beat(Beat((report("new"), report("old"))))
        assert (await fleet.status())["new"].rate_tokens_per_s == pytest.approx(2 * speed)


async def test_a_prefix_is_worth_a_wait_within_bounds(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"), report("two"))
    gateway = fleet.executor("gateway")
    (first,) = await gateway.reserve([job(prompt=60, output=340, prefix="talk")])
    assert not first.holds_prefix
    has, other = server_of(first), "two" if server_of(first) == "one" else "one"
    (second,) = await gateway.reserve([job(prompt=100, output=300, cached=60, prefix="talk")])
    assert (server_of(second), second.holds_prefix) == (has, True)
    assert await fleet.outstanding() == {has: 400 + 340, other: 0}
    # It would wait for a third of 7.4 s there: for more than 2 s, and more than twice as long as elsewhere.
    (third,) = await gateway.reserve([job(prompt=100, cached=60, prefix="talk")])
    assert (server_of(third), third.holds_prefix) == (other, False)
    assert (await fleet.outstanding())[other] == 200
    # Now the other one has it.
    (fourth,) = await gateway.reserve([job(cached=1, prefix="talk")])
    assert server_of(fourth) == other


async def test_a_prefix_keeps_its_replica_while_that_is_not_much_busier(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"), report("two"))
    gateway = fleet.executor("gateway")
    (first,) = await gateway.reserve([job(output=900, prefix="talk")])
    (other,) = await gateway.reserve([job(output=500)])
    assert other.replica != first.replica
    # 9 s of work against 5 s, and a place is free at both.
    (second,) = await gateway.reserve([job(output=200, cached=1, prefix="talk")])
    assert second.replica == first.replica
    # Both its places are taken now: it would wait for a third of 11 s.
    (third,) = await gateway.reserve([job(output=200, cached=1, prefix="talk")])
    assert third.replica == other.replica


async def test_a_first_turn_is_noted_and_goes_where_there_is_least_to_do(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"), report("two"))
    gateway = fleet.executor("gateway")
    (first,) = await gateway.reserve([job(prefix="hello")])
    (second,) = await gateway.reserve([job(prefix="hello")])
    assert second.replica != first.replica
    await gateway.release([first.job.ref])
    (third,) = await gateway.reserve([job(cached=1, prefix="hello")])
    assert third.replica == second.replica, "where the last of them was, although the other one is idle"


async def test_the_note_of_a_prefix_goes_away_in_time(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"))
    await fleet.executor("gateway").reserve([job(prefix="talk")])
    assert 590 < await fleet.redis.ttl(f"{fleet.prefix}:prefix:talk") <= 600


async def test_a_replica_to_avoid_is_used_only_where_there_is_no_other(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"), report("two"), report("three"))
    gateway = fleet.executor("gateway")
    for _ in range(5):
        (placed,) = await gateway.reserve([job(output=9000, avoid=("north@one", "north@two"))])
        assert server_of(placed) == "three"
    (placed,) = await gateway.reserve([job(avoid=("north@three",), prefix="talk")])
    (again,) = await gateway.reserve([job(avoid=(placed.replica,), cached=1, prefix="talk")])
    assert again.replica != placed.replica, "a prefix is no reason to go where it has just failed"
    (placed,) = await gateway.reserve([job(avoid=("north@one", "north@two", "north@three", "north@gone"))])
    assert server_of(placed) in {"one", "two"}


async def test_one_that_failed_too_often_is_used_when_it_is_the_last(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("good"), report("bad"))
    gateway = fleet.executor("gateway")
    while server_of((await gateway.reserve([job(output=1, prefix="talk")]))[0]) != "bad":
        await fleet.redis.delete(f"{fleet.prefix}:prefix:talk")
    await runner.beat(Beat((report("good"), report("bad", EngineState.EJECTED))))
    assert server_of((await gateway.reserve([job(output=90_000, cached=1, prefix="talk")]))[0]) == "good"
    assert server_of((await gateway.reserve([job()]))[0]) == "good"
    await runner.beat(Beat((report("good", EngineState.EJECTED), report("bad", EngineState.EJECTED))))
    assert server_of((await gateway.reserve([job()]))[0]) == "bad"


async def test_one_that_must_load_first_is_used_when_the_others_are_busier_than_that_takes(fleet: Fleet) -> None:
    await fleet.runner("runner", report("warm"), report("cold", EngineState.COLD))
    gateway = fleet.executor("gateway", balance=Balance(cold_penalty_s=8.0))
    placed = [server_of((await gateway.reserve([job(output=1500)]))[0]) for _ in range(3)]
    assert placed == ["warm", "warm", "cold"]


@pytest.mark.parametrize("state", HELD_BACK)
async def test_one_that_is_not_up_gets_nothing(fleet: Fleet, state: EngineState) -> None:
    runner = await fleet.runner("runner", report("one", state), report("two"))
    gateway = fleet.executor("gateway")
    for _ in range(4):
        assert server_of((await gateway.reserve([job()]))[0]) == "two"
    await runner.beat(Beat((report("one", state),)))
    with pytest.raises(Unavailable) as refused:
        await gateway.reserve([job()])
    assert refused.value.code == "model_not_ready"
    await runner.beat(Beat((report("one"),)))
    await gateway.reserve([job()])


async def test_a_replica_is_as_good_as_its_best_executor_says(fleet: Fleet) -> None:
    one = await fleet.runner("runner 1", report("shared", capacity=4))
    two = await fleet.runner("runner 2", report("shared", EngineState.EJECTED, capacity=4))
    await fleet.executor("gateway").beat(Beat((report("shared", EngineState.UNKNOWN, capacity=4, foreign=7),)))
    shared = (await fleet.status())["shared"]
    assert (shared.state, shared.capacity, shared.outstanding_tokens) == (EngineState.READY, 4, 7)
    await one.beat(Beat((report("shared", EngineState.FAILED, capacity=4),)))
    assert (await fleet.status())["shared"].state is EngineState.EJECTED
    await two.beat(Beat())
    assert (await fleet.status())["shared"].state is EngineState.FAILED


async def test_all_of_a_call_or_none(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    with pytest.raises(Unavailable) as refused:
        await gateway.reserve([job(), job("south")])
    assert refused.value.code == "model_not_ready"
    assert "south" in refused.value.message
    await fleet.assert_nothing_left()
    assert await gateway.reserve([]) == []


async def test_two_of_a_call_do_not_pile_up(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"), report("two"))
    gateway = fleet.executor("gateway")
    conversation = uuid4()
    for _ in range(10):
        a, b = await gateway.reserve(
            [job(of=ref(conversation=conversation)), job(of=ref(conversation=conversation, side=Side.B))]
        )
        assert a.replica != b.replica
        await gateway.release([a.job.ref, b.job.ref])


async def refusal(fleet: Fleet, admission: Admission, *, prompt: int = 0, output: int = 100) -> Busy:
    """How a fresh gateway refuses one more turn of a client."""
    with pytest.raises(Busy) as refused:
        await fleet.executor("another gateway", admission=admission).reserve(
            [job(prompt=prompt, output=output)], client="kim"
        )
    return refused.value


async def test_a_client_gets_its_share_and_is_told_when_to_come_back(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one", capacity=1000))
    admission = Admission(client_tokens_per_s=50, client_burst_tokens=1000, arena_share=0, queue_s=0)
    gateway = fleet.executor("gateway", admission=admission)
    for _ in range(4):
        await gateway.reserve([job(prompt=100, output=150)], client="kim")
    before = await fleet.turns()
    refused = await refusal(fleet, admission, prompt=100, output=150)
    assert refused.code == "client_limit"
    assert refused.retry_after_s == pytest.approx(5.0, abs=0.01)
    assert await fleet.turns() == before
    await gateway.reserve([job()], client="lee")
    await gateway.reserve([job()])
    fleet.now_s += refused.retry_after_s - 0.1
    assert (await refusal(fleet, admission, prompt=100, output=150)).code == "client_limit"
    fleet.now_s += 0.1
    await gateway.reserve([job(prompt=100, output=150)], client="kim")


async def test_one_that_is_larger_than_the_bucket_passes_when_it_is_full(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one", capacity=1000))
    admission = Admission(client_tokens_per_s=100, client_burst_tokens=100, arena_share=0, queue_s=0)
    gateway = fleet.executor("gateway", admission=admission)
    await gateway.reserve([job(output=400)], client="kim")
    refused = await refusal(fleet, admission, output=1)
    assert refused.retry_after_s == pytest.approx(3.01, abs=0.01)


async def test_the_arena_lets_in_what_it_can_do(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"), report("two"), report("far", EngineState.EJECTED))
    admission = Admission(arena_share=0.5, arena_burst_s=10, queue_s=0)
    gateway = fleet.executor("gateway", admission=admission)
    # Half of twice 100 tokens a second, for ten seconds at once.
    for number in range(10):
        await gateway.reserve([job()], client=f"client {number}")
    refused = await refusal(fleet, admission)
    assert refused.code == "arena_limit"
    # A second for the bucket, but 5 turns on 2 places each, 500 tokens at 100 a second, leave a place later than that.
    assert refused.retry_after_s == pytest.approx(5.0 * (5 + 1 - 2) / (5 + 1), abs=0.01)
    await gateway.reserve([job()])
    fleet.now_s += refused.retry_after_s
    for _ in range(3):
        await gateway.reserve([job()], client="kim")
    # The rate follows what is measured.
    reports = [report(name, tokens=20_000, stream_s=1000.0) for name in ("one", "two")]
    await runner.beat(Beat(tuple(reports)))
    refused = await refusal(fleet, admission)
    assert refused.retry_after_s == pytest.approx(700 / (2 * 20) * (7 + 1 - 2) / (7 + 1), rel=0.05)


async def test_whoever_finds_a_place_is_let_in_and_leaves_a_bounded_debt(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one", capacity=4))
    admission = Admission(arena_share=1.0, arena_burst_s=2, queue_s=0)
    gateway = fleet.executor("gateway", admission=admission)
    # 200 tokens a second: ten times what may be asked for at once.
    for number in range(4):
        await gateway.reserve([job(prompt=900, output=100)], client=f"client {number}")
    refused = await refusal(fleet, admission, output=100)
    assert refused.code == "arena_limit"
    # The bucket takes 2.5 s, and a place at the replica 4,000 tokens at 200 a second for a fifth of its turns.
    assert refused.retry_after_s == pytest.approx(4.0, abs=0.01)


async def test_the_capacity_is_summed_up_anew_when_it_was_lost(fleet: Fleet) -> None:
    runner = await fleet.runner("runner", report("one"), report("two"))
    capacity = f"{fleet.prefix}:capacity"
    assert await fleet.redis.get(capacity) == "200000"
    await fleet.redis.set(capacity, 7)
    await runner.reap()
    assert await fleet.redis.get(capacity) == "200000"
    await runner.beat(Beat((report("one", EngineState.LOADING),)))
    assert await fleet.redis.get(capacity) == "0"


async def test_admission_learns_what_estimates_are_worth(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"))
    gateway = fleet.executor("gateway")
    for _ in range(200):
        (placed,) = await gateway.reserve([job(prompt=50, output=150)])
        await gateway.speak([placed.job.ref])
        await gateway.release([placed.job.ref], wrote={placed.job.ref: 50})
    admission = Admission(arena_share=1.0, arena_burst_s=10, queue_s=0)
    bounded = fleet.executor("bounded", admission=admission)
    # 1,000 tokens of capacity are twenty such turns and not five.
    for _ in range(17):
        await bounded.reserve([job(prompt=50, output=150)], client="kim")
    with pytest.raises(Busy):
        await bounded.reserve([job(prompt=50, output=150) for _ in range(4)], client="kim")


async def test_a_turn_is_not_let_in_to_wait_for_too_long(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one", capacity=2))
    admission = Admission(arena_share=0, queue_s=3.0)
    gateway = fleet.executor("gateway", admission=admission)
    placed = [(await gateway.reserve([job(output=450)], client="kim"))[0] for _ in range(3)]
    # While there is a place nobody waits. Then the next waits for a third of 9 s, then for half of 13.5 s.
    refused = await refusal(fleet, admission)
    assert refused.code == "busy"
    assert refused.retry_after_s == pytest.approx((6.75 - 3.0) / 0.5, abs=0.01)
    runner = placed[0]
    await gateway.reserve([job()])
    await gateway.release([runner.job.ref, placed[1].job.ref])
    await gateway.reserve([job(output=450)], client="kim")


async def test_a_prefix_is_no_reason_to_wait_for_too_long(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one", capacity=1), report("two", capacity=1))
    admission = Admission(arena_share=0, queue_s=0.5)
    gateway = fleet.executor("gateway", admission=admission)
    (first,) = await gateway.reserve([job(output=80, prefix="talk")], client="kim")
    (second,) = await gateway.reserve([job(output=80, cached=1, prefix="talk")], client="kim")
    assert second.replica != first.replica, "1.6 s are within the gate, but not within the bound"


async def test_a_call_that_is_repeated_counts_once_and_costs_once(fleet: Fleet) -> None:
    await fleet.runner("runner", report("one"), report("two"))
    admission = Admission(client_tokens_per_s=1, client_burst_tokens=150, arena_share=0, queue_s=0)
    gateway = fleet.executor("gateway", admission=admission)
    asked = job()
    (first,) = await gateway.reserve([asked], client="kim")
    (second,) = await gateway.reserve([asked], client="kim")
    assert second == first
    assert sum((await fleet.turns()).values()) == 1


@pytest.mark.parametrize("bounds", [NOTHING_BOUND, Admission()])
async def test_a_turn_that_another_has_moves(fleet: Fleet, bounds: Admission) -> None:
    await fleet.runner("runner", report("one"), report("two"))
    first, second = fleet.executor("first", admission=bounds), fleet.executor("second", admission=bounds)
    asked = job()
    (had,) = await first.reserve([asked])
    (has,) = await second.reserve([job(of=asked.ref, output=70, avoid=(had.replica,))])
    assert has.executor == "second"
    assert await fleet.outstanding() == {server_of(had): 0, server_of(has): 70}
    await first.release([asked.ref])
    assert sum((await fleet.turns()).values()) == 1
    await second.release([asked.ref])
    await fleet.assert_nothing_left()


async def test_a_turn_has_the_seed_that_was_proposed_first(fleet: Fleet) -> None:
    conversation = uuid4()
    gateways = [fleet.executor(f"gateway {number}") for number in range(5)]
    seeds = await asyncio.gather(*(each.seed(conversation, 1, 10 + at) for at, each in enumerate(gateways)))
    assert len(set(seeds)) == 1
    assert seeds[0] in range(10, 15)
    assert await gateways[0].seed(conversation, 2, 99) == 99
    assert 1790 < await fleet.redis.ttl(f"{fleet.prefix}:seed:{conversation}:1") <= 1800
