"""Runners on a real ledger, a real Redis and scripted servers: whatever breaks, every text is whole and told once."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import asyncpg
import pytest
from tests.conftest import complete
from tests.contract.floor import POLICY, Floor, Seen
from tests.contract.ledger import Ledger, failed, ref

from agon.core.contestants import EngineState
from agon.core.conversation import AnswerState, Conversation, Kind, Side
from agon.core.events import Packet, Settled
from agon.core.placement import Job
from agon.dispatch.costs import turn_cost
from agon.engines.scripted_text import check_text
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes

NORTH, SOUTH = "north-model", "south-model"


@pytest.fixture(scope="module")
def runners_url(postgres_url: str, migrated_template: str) -> str:
    """A database for these tests alone: a runner looks for all that is pending."""

    async def make() -> None:
        server = await asyncpg.connect(postgres_url)
        await server.execute(f"create database runners template {migrated_template}")
        await server.close()

    complete(make())
    return postgres_url.replace("@/agon?", "@/runners?")


@pytest.fixture
async def floor(runners_url: str, redis_url: str, key_prefix: str) -> AsyncIterator[Floor]:
    database = Database(runners_url)
    await database.open()
    answers, votes = PostgresAnswers(database), PostgresVotes(database)
    contestants = PostgresContestants(database)
    ledger = Ledger(PostgresConversations(database), answers, votes, votes, contestants)
    floor = Floor(ledger, redis_url, key_prefix)
    for each in floor.cast():
        await contestants.put_contestant(each, replace=True)
    for left in await answers.stale(0):
        await answers.settle(failed(left.ref, attempt=left.attempt))
    yield floor
    await floor.close()
    await answers.close()
    await votes.close()
    await database.close()


def assert_whole(seen: Seen, found: Conversation, tokens: int) -> None:
    """Both sides are complete, untorn, and the same for who watched and who asks the ledger."""
    assert seen.whole
    for side, answer in found.last_turn.answers.items():
        assert answer.state is AnswerState.DONE
        assert seen.texts[side] == answer.text
        checked = check_text(answer.text or "")
        assert (checked.complete, checked.tokens) == (True, tokens)


async def test_an_answer_comes_whole_and_nothing_stays_counted(floor: Floor) -> None:
    server = await floor.server(tokens=40)
    await floor.hand("one", floor.cast(server))
    asked = await floor.ask()
    seen = await floor.watch(asked)
    assert_whole(seen, await floor.written(asked), 40)
    await floor.until_nothing_counts()


@pytest.mark.parametrize("kind", ["http_500", "disconnect"])
async def test_what_fails_before_its_first_token_is_asked_at_another_replica(floor: Floor, kind: str) -> None:
    bad, good = await floor.server(tokens=24), await floor.server(tokens=24)
    await floor.hand("one", floor.cast(bad, good))
    bad.configure("*", fail={"kind": kind})
    for _ in range(3):
        asked = await floor.ask()
        assert_whole(await floor.watch(asked), await floor.written(asked), 24)
    failures = sum(bad.counters(model).failed for model in (NORTH, SOUTH))
    assert good.counters(NORTH).finished + good.counters(SOUTH).finished >= 6
    assert failures <= 6
    await floor.until_nothing_counts()


@pytest.mark.parametrize("prefill", [True, False])
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "error_event"])
async def test_what_breaks_in_the_middle_goes_on_at_another_replica(floor: Floor, kind: str, *, prefill: bool) -> None:
    script = {"tokens": 40, "rate_tokens_per_s": 400.0, "prefill": prefill}
    bad, good = await floor.server(**script), await floor.server(**script)
    await floor.hand("one", floor.cast(bad, good, prefill=prefill))
    bad.configure("*", fail={"kind": kind, "at_token": 17})
    for _ in range(3):
        asked = await floor.ask()
        seen = await floor.watch(asked)
        assert_whole(seen, await floor.written(asked), 40)
    assert bad.counters(NORTH).failed + bad.counters(SOUTH).failed > 0
    await floor.until_nothing_counts()


@pytest.mark.slow
@pytest.mark.parametrize("prefill", [True, False])
async def test_what_hangs_in_the_middle_goes_on_at_another_replica(floor: Floor, *, prefill: bool) -> None:
    script = {"tokens": 40, "rate_tokens_per_s": 400.0, "prefill": prefill}
    bad, good = await floor.server(**script), await floor.server(**script)
    # A quarter of the deadline may pass in silence.
    await floor.hand("one", floor.cast(bad, good, prefill=prefill), policy=replace(POLICY, battle_deadline_s=6.0))
    bad.configure("*", fail={"kind": "stall", "at_token": 17})
    for _ in range(2):
        asked = await floor.ask()
        assert_whole(await floor.watch(asked), await floor.written(asked), 40)
    assert bad.counters(NORTH).cancelled + bad.counters(SOUTH).cancelled > 0
    await floor.until_nothing_counts()


async def test_with_one_replica_it_is_asked_there_again_and_then_it_has_failed(floor: Floor) -> None:
    server = await floor.server(tokens=24)
    await floor.hand("one", floor.cast(server))
    server.configure(NORTH, fail={"kind": "truncate", "at_token": 9})
    before = server.counters(NORTH).started
    found = await floor.written(await floor.ask())
    assert {side: answer.state for side, answer in found.last_turn.answers.items()} == {
        Side.A: AnswerState.FAILED,
        Side.B: AnswerState.DONE,
    }
    assert found.void_reason is not None
    assert server.counters(NORTH).started == before + 2
    await floor.until_nothing_counts()


async def test_a_busy_replica_is_left_for_another_and_waited_for_where_there_is_none(floor: Floor) -> None:
    server = await floor.server(tokens=30, rate_tokens_per_s=100.0, max_active=1)
    hand = await floor.hand("one", floor.cast(server))
    asked = [await floor.ask(Kind.CHAT) for _ in range(3)]
    for each in asked:
        found = await floor.written(each)
        assert check_text(found.last_turn.answers[Side.A].text or "").complete
    assert all(member.state is EngineState.READY for member in hand.runner.members)
    await floor.until_nothing_counts()


async def test_a_late_side_forfeits_and_its_engine_is_freed(floor: Floor) -> None:
    server = await floor.server(tokens=40)
    await floor.hand("one", floor.cast(server), policy=replace(POLICY, battle_deadline_s=0.6))
    server.configure(NORTH, rate_tokens_per_s=20.0)
    asked = await floor.ask()
    seen = await floor.watch(asked)
    found = await floor.written(asked)
    states = {side: answer.state for side, answer in found.last_turn.answers.items()}
    assert states == {Side.A: AnswerState.FORFEITED, Side.B: AnswerState.DONE}
    assert seen.ends[Side.A].state is AnswerState.FORFEITED
    assert seen.texts[Side.A] == found.last_turn.answers[Side.A].text != ""
    assert found.void_reason is None
    await floor.until(lambda: server.counters(NORTH).active == 0)
    await floor.until_nothing_counts()


async def test_a_side_that_waited_for_a_place_is_void_when_it_is_late(floor: Floor) -> None:
    server = await floor.server(tokens=1000, rate_tokens_per_s=20.0)
    policy = replace(POLICY, battle_deadline_s=1.0)
    await floor.hand("one", floor.cast(server, places=1), policy=policy)
    first = await floor.ask(Kind.CHAT)
    await floor.until(lambda: server.counters(NORTH).active == 1)
    found = await floor.written(await floor.ask())
    assert found.last_turn.answers[Side.A].state is AnswerState.FAILED
    assert found.void_reason is not None
    await floor.stop(first)
    await floor.written(first)
    await floor.until_nothing_counts()


@pytest.mark.parametrize("prefill", [True, False])
async def test_what_a_dead_runner_had_goes_on_at_another_within_two_seconds(floor: Floor, *, prefill: bool) -> None:
    server = await floor.server(tokens=90, rate_tokens_per_s=50.0, prefill=prefill)
    cast = floor.cast(server, prefill=prefill)
    one, _ = await floor.hand("one", cast), await floor.hand("two", cast)
    asked = [await floor.ask() for _ in range(4)]
    watching = [asyncio.create_task(floor.watch(each)) for each in asked]
    await floor.until(lambda: server.counters(NORTH).active + server.counters(SOUTH).active == 8)
    started = server.counters(NORTH).started + server.counters(SOUTH).started
    had = one.runner.turns
    died_s = time.monotonic()
    await one.kill()
    assert had > 0
    await floor.until(lambda: server.counters(NORTH).started + server.counters(SOUTH).started >= started + had)
    assert time.monotonic() - died_s < 2.0
    for each, watched in zip(asked, watching, strict=True):
        assert_whole(await watched, await floor.written(each), 90)
    await floor.until_nothing_counts()


@pytest.mark.slow
async def test_a_runner_that_only_seemed_dead_does_no_harm(floor: Floor) -> None:
    server = await floor.server(tokens=90, rate_tokens_per_s=30.0)
    cast = floor.cast(server)
    one = await floor.hand("one", cast)
    asked = [await floor.ask() for _ in range(3)]
    watching = [asyncio.create_task(floor.watch(each)) for each in asked]
    await floor.until(lambda: one.runner.turns == 6)
    await floor.hand("two", cast)
    one.line.is_cut = True
    await asyncio.sleep(1.9)
    one.line.is_cut = False
    for each, watched in zip(asked, watching, strict=True):
        assert_whole(await watched, await floor.written(each), 90)
    await floor.until_nothing_counts()


async def test_a_turn_that_comes_to_its_runner_twice_is_written_once(floor: Floor) -> None:
    server = await floor.server(tokens=40, rate_tokens_per_s=80.0)
    await floor.hand("one", floor.cast(server))
    asked = await floor.ask()
    await floor.until(lambda: all(server.counters(model).active for model in (NORTH, SOUTH)))
    before = [server.counters(model).started for model in (NORTH, SOUTH)]
    # As when Redis comes back from its disk and has forgotten what was taken.
    again = [Job(ref(asked, side), turn_cost("Why?", 100)) for side in asked.contestants]
    await floor.gate.send(await floor.gate.reserve(again))
    assert_whole(await floor.watch(asked), await floor.written(asked), 40)
    assert [server.counters(model).started for model in (NORTH, SOUTH)] == before
    await floor.until_nothing_counts()


async def test_a_runner_that_leaves_finishes_what_it_has_and_takes_nothing_new(floor: Floor) -> None:
    server = await floor.server(tokens=40, rate_tokens_per_s=30.0)
    cast = floor.cast(server)
    one, two = await floor.hand("one", cast), await floor.hand("two", cast)
    asked = [await floor.ask() for _ in range(4)]
    watching = [asyncio.create_task(floor.watch(each)) for each in asked]
    await floor.until(lambda: server.counters(NORTH).active + server.counters(SOUTH).active == 8)
    one.runner.drain()
    await asyncio.sleep(0.1)
    late = await floor.ask()
    assert two.runner.turns >= 2
    await asyncio.wait_for(one.task, 8)
    for each, watched in zip(asked, watching, strict=True):
        assert_whole(await watched, await floor.written(each), 40)
    assert_whole(await floor.watch(late), await floor.written(late), 40)
    assert server.counters(NORTH).cancelled == server.counters(SOUTH).cancelled == 0
    await floor.until_nothing_counts()


@pytest.mark.slow
async def test_what_is_not_done_when_a_runner_must_leave_goes_on_elsewhere(floor: Floor) -> None:
    server = await floor.server(tokens=90, rate_tokens_per_s=30.0)
    cast = floor.cast(server)
    one = await floor.hand("one", cast, drain_s=0.2)
    asked = await floor.ask()
    watching = asyncio.create_task(floor.watch(asked))
    await floor.until(lambda: server.counters(NORTH).active == 1)
    await floor.hand("two", cast)
    one.runner.drain()
    await asyncio.wait_for(one.task, 3)
    assert_whole(await watching, await floor.written(asked), 90)
    await floor.until_nothing_counts()


@pytest.mark.slow
async def test_what_the_last_runner_leaves_goes_on_at_the_next(floor: Floor) -> None:
    server = await floor.server(tokens=90, rate_tokens_per_s=30.0)
    cast = floor.cast(server)
    one = await floor.hand("one", cast, drain_s=0.2)
    asked = await floor.ask()
    watching = asyncio.create_task(floor.watch(asked))
    await floor.until(lambda: server.counters(NORTH).active == 1)
    one.runner.drain()
    await asyncio.wait_for(one.task, 3)
    await floor.hand("two", cast)
    assert_whole(await watching, await floor.written(asked), 90)
    await floor.until_nothing_counts()


async def test_what_waits_at_a_replica_that_goes_down_goes_elsewhere(floor: Floor) -> None:
    bad, good = await floor.server(tokens=200, rate_tokens_per_s=20.0), await floor.server(tokens=24)
    hand = await floor.hand("one", floor.cast(bad, places=1))
    blocking = await floor.ask(Kind.CHAT)
    await floor.until(lambda: bad.counters(NORTH).active == 1)
    waiting = await floor.ask(Kind.CHAT)
    await floor.until(lambda: hand.runner.turns == 2)
    hand.cast.present = floor.cast(bad, good, places=1)
    await floor.until_served(hand.cast.present)
    draining = (f"north@{bad.url}",)
    hand.cast.present = [replace(each, draining=draining) for each in hand.cast.present]
    found = await floor.written(waiting)
    assert check_text(found.last_turn.answers[Side.A].text or "").tokens == 24
    await floor.stop(blocking)
    assert (await floor.written(blocking)).last_turn.answers[Side.A].state is AnswerState.STOPPED
    await floor.until_nothing_counts()


async def test_a_stop_reaches_what_runs_and_what_waits(floor: Floor) -> None:
    server = await floor.server(tokens=400, rate_tokens_per_s=20.0)
    hand = await floor.hand("one", floor.cast(server, places=1))
    running = await floor.ask(Kind.CHAT)
    await floor.until(lambda: server.counters(NORTH).active == 1)
    waiting = await floor.ask(Kind.CHAT)
    await floor.until(lambda: hand.runner.turns == 2)
    for each in (waiting, running):
        await floor.stop(each)
        assert (await floor.written(each)).last_turn.answers[Side.A].state is AnswerState.STOPPED
    await floor.until(lambda: server.counters(NORTH).active == 0)
    assert server.counters(NORTH).started == 2  # one of them to warm up
    await floor.until_nothing_counts()


async def test_a_stop_that_comes_before_its_turn_counts(floor: Floor) -> None:
    server = await floor.server(tokens=24)
    hand = await floor.hand("one", floor.cast(server))
    started = server.counters(NORTH).started
    hand.line.is_cut = True
    asked = await floor.ask(Kind.CHAT)
    await floor.stop(asked)
    await asyncio.sleep(0.1)
    hand.line.is_cut = False
    assert (await floor.written(asked)).last_turn.answers[Side.A].state is AnswerState.STOPPED
    assert server.counters(NORTH).started == started
    await floor.until_nothing_counts()


async def test_what_the_bus_has_lost_is_found_in_the_ledger(floor: Floor) -> None:
    server = await floor.server(tokens=24)
    await floor.hand("one", floor.cast(server))
    asked = await floor.ledger.begin()
    assert_whole(await floor.watch(asked), await floor.written(asked), 24)


async def test_a_replica_that_keeps_failing_is_ejected_and_spared(floor: Floor) -> None:
    bad, good = await floor.server(tokens=8), await floor.server(tokens=8)
    hand = await floor.hand("one", floor.cast(bad, good))
    bad.configure(NORTH, fail={"kind": "http_500"})
    [member] = [each for each in hand.runner.members if each.replica == f"north@{bad.url}"]
    async with asyncio.timeout(20):
        while member.state is not EngineState.EJECTED:
            await floor.written(await floor.ask(Kind.CHAT))
    failures = bad.counters(NORTH).failed
    await asyncio.sleep(0.5)
    for _ in range(10):
        await floor.written(await floor.ask(Kind.CHAT))
    assert bad.counters(NORTH).failed == failures
    await floor.until_nothing_counts()


async def test_what_is_wrong_with_a_request_is_not_held_against_its_replica(floor: Floor) -> None:
    server = await floor.server(tokens=8)
    hand = await floor.hand("one", floor.cast(server))
    server.configure(NORTH, refuse_fields=("messages",))
    for _ in range(4):
        found = await floor.written(await floor.ask(Kind.CHAT))
        assert found.last_turn.answers[Side.A].state is AnswerState.FAILED
    server.configure(NORTH, refuse_fields=(), fail={"kind": "empty"})
    for _ in range(4):
        [*_, settled] = await floor.events(await floor.request())
        assert isinstance(settled, Settled)
        assert settled.state is AnswerState.FAILED
    assert all(member.state is EngineState.READY for member in hand.runner.members)
    await floor.until_nothing_counts()


async def test_a_step_that_fails_oddly_does_not_end_the_runner(
    floor: Floor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hand = await floor.hand("one", floor.cast(await floor.server(tokens=8)))

    async def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(hand.cast, "contestants", broken)
    await floor.until(lambda: "ZeroDivisionError" in caplog.text)
    asked = await floor.ask(Kind.CHAT)
    assert (await floor.written(asked)).last_turn.answers[Side.A].state is AnswerState.DONE
    assert not hand.task.done()
    await floor.until_nothing_counts()


async def test_the_end_of_an_answer_is_told_once(floor: Floor) -> None:
    server = await floor.server(tokens=24)
    await floor.hand("one", floor.cast(server))
    seen = await floor.watch(await floor.ask())
    assert len([event for event in seen.events if isinstance(event, Settled)]) == 2


async def test_a_request_that_the_ledger_does_not_know_is_told_with_its_usage(floor: Floor) -> None:
    server = await floor.server(tokens=24)
    await floor.hand("one", floor.cast(server))
    where = await floor.request()
    [*packets, settled] = await floor.events(where)
    assert isinstance(settled, Settled)
    text = "".join(packet.text for packet in packets if isinstance(packet, Packet))
    assert check_text(text).complete
    assert (settled.state, settled.length, settled.finish_reason) == (AnswerState.DONE, len(text), "stop")
    assert settled.usage is not None
    assert settled.usage.completion_tokens == 24
    assert settled.fault is None
    await floor.until_nothing_counts()


async def test_a_request_is_told_with_what_the_engine_says_of_its_tokens(floor: Floor) -> None:
    server = await floor.server(tokens=24)
    await floor.hand("one", floor.cast(server))
    where = await floor.request(logprobs=True, top_logprobs=1)
    packets = [event for event in await floor.events(where) if isinstance(event, Packet)]
    told = [entry for packet in packets for entry in packet.logprobs or ()]
    assert "".join(entry["token"] for entry in told) == "".join(packet.text for packet in packets)
    assert packets[-1].tokens == len(told) == 24


@pytest.mark.parametrize("prefill", [True, False])
async def test_a_request_goes_on_where_another_replica_broke_off(floor: Floor, *, prefill: bool) -> None:
    bad, good = await floor.server(tokens=40, prefill=prefill), await floor.server(tokens=40, prefill=prefill)
    await floor.hand("one", floor.cast(bad, good, prefill=prefill))
    bad.configure("*", fail={"kind": "truncate", "at_token": 17})
    for _ in range(3):
        text = ""
        for event in await floor.events(await floor.request()):
            if isinstance(event, Packet):
                assert event.offset == len(text)
                text += event.text
        assert (check_text(text).complete, check_text(text).tokens) == (True, 40)
    await floor.until_nothing_counts()


async def test_a_request_that_fails_for_good_says_why(floor: Floor) -> None:
    server = await floor.server(tokens=24)
    await floor.hand("one", floor.cast(server))
    server.configure(NORTH, fail={"kind": "http_500"})
    [*_, settled] = await floor.events(await floor.request())
    assert isinstance(settled, Settled)
    assert settled.state is AnswerState.FAILED
    assert settled.fault is not None
    assert settled.fault.code == "engine_error"
    await floor.until_nothing_counts()


@pytest.mark.slow
async def test_a_request_can_be_stopped_and_survives_its_runner(floor: Floor) -> None:
    server = await floor.server(tokens=90, rate_tokens_per_s=30.0)
    cast = floor.cast(server)
    one, _ = await floor.hand("one", cast), await floor.hand("two", cast)
    stopped, *others = [await floor.request() for _ in range(4)]
    await floor.until(lambda: server.counters(NORTH).active == 4)
    await floor.bus.stop([stopped])
    await one.kill()
    [*_, settled] = await floor.events(stopped)
    assert isinstance(settled, Settled)
    assert settled.state is AnswerState.STOPPED
    for where in others:
        text = ""
        for event in await floor.events(where):
            if isinstance(event, Packet):
                text = text[: event.offset] + event.text
        assert check_text(text).tokens == 90
    await floor.until_nothing_counts()


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
async def test_what_one_runner_after_the_other_dies_with_is_given_up(floor: Floor, *, kept: bool) -> None:
    cast = floor.cast(await floor.server(tokens=900, rate_tokens_per_s=30.0))
    hand = await floor.hand("0", cast)
    asked = await floor.ask(Kind.CHAT) if kept else None
    request = None if kept else await floor.request()
    for number in range(1, 4):
        await floor.until(lambda hand=hand: hand.runner.turns == 1)
        after = await floor.hand(str(number), cast)
        await hand.kill()
        hand = after
    if asked is not None:
        assert (await floor.written(asked)).last_turn.answers[Side.A].state is AnswerState.FAILED
    if request is not None:
        [*_, settled] = await floor.events(request)
        assert isinstance(settled, Settled)
        assert settled.fault is not None
        assert settled.fault.code == "engine_unreachable"
    await floor.until_nothing_counts()


@pytest.mark.slow
async def test_what_others_ask_of_a_server_counts_in_the_balance(floor: Floor) -> None:
    shared, own = await floor.server(tokens=100, rate_tokens_per_s=10.0), await floor.server(tokens=4)
    await floor.hand("one", floor.cast(shared, own))
    async with aiohttp.ClientSession() as session:
        body = {"model": NORTH, "messages": [{"role": "user", "content": "Hello?"}], "stream": True}
        asked = [asyncio.create_task(session.post(f"{shared.url}/v1/chat/completions", json=body)) for _ in range(5)]
        async with asyncio.timeout(10):
            while not (await floor.counted()).get(f"north@{shared.url}"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        turns, tokens = (await floor.counted())[f"north@{shared.url}"]
        assert (turns, tokens) == (0, 5 * 150)
        before = shared.counters(NORTH).started
        for _ in range(5):
            await floor.written(await floor.ask(Kind.CHAT))
        assert shared.counters(NORTH).started == before
        for response in await asyncio.gather(*asked):
            response.close()
    async with asyncio.timeout(10):
        while await floor.counted():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
