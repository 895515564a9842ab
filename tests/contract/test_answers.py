"""The contract of `AnswerLedger`."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest
from tests.contract.ledger import Ledger, add_turn, done, failed, ref

from agon.core.conversation import AnswerState, ConversationState, Kind, Side
from agon.core.errors import NotFound
from agon.core.generation import Message
from agon.core.placement import AnswerRef
from agon.core.ports import Outcome
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.database import Database


async def test_the_work_holds_what_this_side_said_and_nothing_of_the_other(ledger: Ledger) -> None:
    answered = await ledger.answered(text="I say")
    changed = await ledger.conversations.amend(answered.id, add_turn)
    work = await ledger.answers.load(ref(changed, Side.B, turn=2))
    assert work.request.messages == (
        Message("user", "Why?"),
        Message("assistant", "I say b"),
        Message("user", "And then?"),
    )
    assert (work.request.seed, work.request.sampling.max_tokens) == (8, 100)
    assert (work.kind, work.attempt, work.failures, work.state) == (Kind.BATTLE, 1, 0, AnswerState.PENDING)
    assert 0 <= work.age_s < 60


async def test_sampling_is_the_arenas_own(ledger: Ledger, database: Database) -> None:
    started = await ledger.begin()
    answers = PostgresAnswers(database, temperature=0.3, top_p=0.9)
    sampling = (await answers.load(ref(started, Side.A))).request.sampling
    assert (sampling.temperature, sampling.top_p) == (0.3, 0.9)


async def test_an_answer_that_is_not_there_is_not_found(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        await ledger.answers.load(AnswerRef(uuid4(), 1, Side.A, "north"))


async def test_an_answer_ends_once(ledger: Ledger) -> None:
    started = await ledger.begin()
    where = ref(started, Side.A)
    results = await asyncio.gather(*(ledger.answers.settle(done(where, f"text {n}")) for n in range(30)))
    assert sum(result.written for result in results) == 1
    kept = results.index(next(result for result in results if result.written))
    answer = (await ledger.conversations.find(started.id)).last_turn.answers[Side.A]
    assert (answer.state, answer.text, answer.finish_reason) == (AnswerState.DONE, f"text {kept}", "stop")


async def test_what_an_older_attempt_brings_is_ignored(ledger: Ledger) -> None:
    started = await ledger.begin()
    where = ref(started, Side.A)
    assert await ledger.answers.retry(where, 1, failed=True) == 2
    assert not (await ledger.answers.settle(done(where, "stale", attempt=1))).written
    assert not (await ledger.answers.settle(failed(where, attempt=1))).written
    assert (await ledger.conversations.find(started.id)).state is ConversationState.STREAMING
    assert (await ledger.answers.settle(done(where, "fresh", attempt=2))).written


async def test_a_failed_side_voids_its_battle_at_once(ledger: Ledger) -> None:
    started = await ledger.begin()
    settlement = await ledger.answers.settle(failed(ref(started, Side.B)))
    found = await ledger.conversations.find(started.id)
    assert settlement.written
    assert settlement.void_reason == found.void_reason
    assert found.void_reason is not None
    assert "north" not in found.void_reason
    assert "south" not in found.void_reason
    assert found.state is ConversationState.VOID


async def test_a_failed_side_voids_nothing_but_battles(ledger: Ledger) -> None:
    compared = await ledger.begin(Kind.SIDE_BY_SIDE)
    settlement = await ledger.answers.settle(failed(ref(compared, Side.B)))
    assert settlement.written
    assert settlement.void_reason is None
    assert (await ledger.conversations.find(compared.id)).void_reason is None


async def test_the_first_reason_for_being_void_stays(ledger: Ledger) -> None:
    started = await ledger.begin()
    first = await ledger.answers.settle(failed(ref(started, Side.A)))
    second = await ledger.answers.settle(failed(ref(started, Side.B)))
    assert second.void_reason == first.void_reason


async def test_one_of_many_begins_the_next_attempt(ledger: Ledger) -> None:
    where = ref(await ledger.begin(), Side.A)
    results = await asyncio.gather(*(ledger.answers.retry(where, 1, failed=True) for _ in range(20)))
    assert sorted(str(result) for result in results) == ["2", *["None"] * 19]
    work = await ledger.answers.load(where)
    assert (work.attempt, work.failures) == (2, 1)
    assert await ledger.answers.retry(where, 2, failed=False) == 3
    assert (await ledger.answers.load(where)).failures == 1


async def test_what_is_over_is_not_tried_again(ledger: Ledger) -> None:
    where = ref(await ledger.begin(), Side.A)
    await ledger.answers.settle(done(where))
    assert await ledger.answers.retry(where, 1, failed=False) is None


async def test_pending_answers_are_found_by_their_age(ledger: Ledger) -> None:
    first, second = await ledger.begin(), await ledger.begin(Kind.CHAT)
    await ledger.answers.settle(done(ref(first, Side.A)))
    ours = {first.id, second.id}
    waiting = [one for one in await ledger.answers.stale(0) if one.ref.conversation in ours]
    assert [(one.ref, one.kind, one.attempt) for one in waiting] == [
        (ref(first, Side.B), Kind.BATTLE, 1),
        (ref(second, Side.A), Kind.CHAT, 1),
    ]
    assert waiting[0].age_s >= waiting[1].age_s >= 0
    assert await ledger.answers.stale(600) == []


async def test_many_ends_at_once_are_each_written(ledger: Ledger) -> None:
    started = [await ledger.begin() for _ in range(20)]
    outcomes = [done(ref(one, side), f"{one.id} {side.value}") for one in started for side in Side]
    outcomes[5] = failed(outcomes[5].ref)
    outcomes.append(Outcome(outcomes[0].ref, 9, AnswerState.DONE, "from the future"))
    settled = await asyncio.gather(*map(ledger.answers.settle, outcomes))
    assert [one.written for one in settled] == [True] * 40 + [False]
    assert [one.void_reason is not None for one in settled] == [n in {4, 5} for n in range(41)]
    for one in started:
        for side, answer in (await ledger.conversations.find(one.id)).last_turn.answers.items():
            assert answer.state is AnswerState.FAILED or answer.text == f"{one.id} {side.value}"


async def test_what_no_ledger_can_hold_is_written_as_well_as_can_be(ledger: Ledger) -> None:
    """An engine says what it likes of itself."""
    started = await ledger.begin()
    garbled = Outcome(ref(started, Side.A), 1, AnswerState.FAILED, "\ud800", error="\x00 and \udfff")
    boasting = replace(done(ref(started, Side.B)), prompt_tokens=2**31, completion_tokens=2**31 - 1)
    settled = await asyncio.gather(ledger.answers.settle(garbled), ledger.answers.settle(boasting))
    assert [one.written for one in settled] == [True, True]
    answers = (await ledger.conversations.find(started.id)).last_turn.answers
    assert answers[Side.A].text == "\ufffd"
    assert (answers[Side.B].prompt_tokens, answers[Side.B].completion_tokens) == (None, 2**31 - 1)
