"""The contract of `VoteLedger` and `VoteSource`."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest
from tests.contract.ledger import SIDES, STRANGER, Ledger, add_turn, ballot, contestant, done, failed, new, ref

from agon.core.conversation import AnswerState, Conversation, ConversationState, Kind, Side
from agon.core.errors import AgonError, Conflict, NotFound
from agon.core.ports import CastVote, Outcome
from agon.core.votes import Ballot, Winner
from agon.stores.postgres.database import Database
from agon.stores.postgres.queries import sql
from agon.stores.postgres.votes import PostgresVotes


async def count_votes(database: Database, battle: Conversation) -> int:
    async with database.transaction() as connection:
        return await connection.fetchval("select count(*) from votes where conversation = $1", battle.id)


async def refusal(ledger: Ledger, cast: Ballot) -> str:
    with pytest.raises(AgonError) as refused:
        await ledger.votes.cast(cast)
    return refused.value.code


async def test_a_vote_is_kept_and_found_by_its_receipt(ledger: Ledger) -> None:
    answered = await ledger.answered()
    accepted = await ledger.votes.cast(ballot(answered, Winner.BOTH_BAD, key="k"))
    assert accepted.contestants == SIDES
    assert await ledger.votes.find_vote(accepted.vote.receipt) == accepted
    found = await ledger.conversations.find(answered.id)
    assert found.state is ConversationState.VOTED
    assert found.vote == accepted.vote


async def test_two_hundred_at_once_are_one_vote_with_one_receipt(ledger: Ledger, database: Database) -> None:
    answered = await ledger.answered()
    votes = await asyncio.gather(*(ledger.votes.cast(ballot(answered, key="k")) for _ in range(200)))
    assert len({cast.vote.receipt for cast in votes}) == 1
    assert await count_votes(database, answered) == 1


async def test_gateways_that_race_write_one_vote(ledger: Ledger, database: Database) -> None:
    answered = await ledger.answered()
    gateways = [ledger.votes, *(PostgresVotes(database) for _ in range(4))]
    results = await asyncio.gather(
        *(gateways[n % 5].cast(ballot(answered, Winner.A if n % 2 else Winner.B)) for n in range(100)),
        return_exceptions=True,
    )
    receipts = {result.vote.receipt for result in results if isinstance(result, CastVote)}
    refused = [result for result in results if isinstance(result, Conflict)]
    assert len(receipts) == 1
    assert len(refused) == 50
    assert {error.code for error in refused} == {"already_voted"}
    assert await count_votes(database, answered) == 1


async def test_a_repeated_ballot_is_the_same_vote_or_refused(ledger: Ledger) -> None:
    answered = await ledger.answered()
    first = await ledger.votes.cast(ballot(answered, key="k"))
    assert not first.repeated
    assert await ledger.votes.cast(ballot(answered, key="k")) == replace(first, repeated=True)
    assert await refusal(ledger, ballot(answered, key="other")) == "already_voted"
    assert await refusal(ledger, ballot(answered)) == "already_voted"
    assert await refusal(ledger, ballot(answered, Winner.B, key="k")) == "idempotency_mismatch"


async def test_a_vote_before_its_time_or_by_another_is_refused(ledger: Ledger) -> None:
    streaming, answered = await ledger.begin(), await ledger.answered()
    comparison = await ledger.answered(Kind.SIDE_BY_SIDE)
    assert await refusal(ledger, ballot(streaming)) == "answers_incomplete"
    await ledger.answers.settle(done(ref(streaming, Side.A)))
    assert await refusal(ledger, ballot(streaming)) == "answers_incomplete"
    await ledger.answers.settle(Outcome(ref(streaming, Side.B), 1, AnswerState.STOPPED, "", "stopped"))
    assert await refusal(ledger, ballot(streaming)) == "answers_incomplete"
    assert await refusal(ledger, ballot(answered, person=STRANGER)) == "battle_not_found"
    assert await refusal(ledger, ballot(comparison)) == "not_a_battle"
    assert await refusal(ledger, Ballot(uuid4(), STRANGER, Winner.A, uuid4())) == "battle_not_found"


async def test_a_void_battle_has_no_vote(ledger: Ledger) -> None:
    started = await ledger.begin()
    await ledger.answers.settle(done(ref(started, Side.A)))
    await ledger.answers.settle(failed(ref(started, Side.B)))
    assert await refusal(ledger, ballot(started)) == "battle_void"


async def test_a_new_turn_must_be_answered_before_the_vote(ledger: Ledger) -> None:
    answered = await ledger.answered()
    await ledger.conversations.amend(answered.id, add_turn)
    assert await refusal(ledger, ballot(answered)) == "answers_incomplete"


async def test_a_vote_and_a_further_turn_never_both_win(ledger: Ledger) -> None:
    battles = [await ledger.answered() for _ in range(25)]

    async def race(battle: Conversation) -> tuple[object, object]:
        vote = ledger.votes.cast(ballot(battle))
        turn = ledger.conversations.amend(battle.id, add_turn)
        first, second = (vote, turn) if battle.id.int % 2 else (turn, vote)
        results = await asyncio.gather(first, second, return_exceptions=True)
        return (results[0], results[1]) if battle.id.int % 2 else (results[1], results[0])

    for voted, turned in await asyncio.gather(*map(race, battles)):
        if isinstance(voted, CastVote):
            assert isinstance(turned, Conflict)
            assert turned.code == "battle_voted"
        else:
            assert isinstance(voted, Conflict)
            assert voted.code == "answers_incomplete"
            assert isinstance(turned, Conversation)


async def test_a_batch_answers_each_ballot_in_its_place(ledger: Ledger, database: Database) -> None:
    one, two, streaming = await ledger.answered(), await ledger.answered(), await ledger.begin()
    ballots = [
        ballot(one, Winner.A),
        ballot(streaming),
        ballot(two, Winner.B, key="k"),
        ballot(one, Winner.B),
        ballot(two, Winner.B, key="k"),
        ballot(one, Winner.A, person=STRANGER),
    ]
    results = await PostgresVotes(database).commit(ballots)
    told = [result.vote.receipt if isinstance(result, CastVote) else result.code for result in results]
    first, second = ballots[0].receipt, ballots[2].receipt
    assert told == [first, "answers_incomplete", second, "already_voted", second, "battle_not_found"]


async def test_a_ballot_that_is_sent_to_the_ledger_twice_keeps_its_receipt(ledger: Ledger, database: Database) -> None:
    """A connection that breaks in the commit leaves open whether it went through, so the batch is sent again."""
    cast = ballot(await ledger.answered())
    once = await PostgresVotes(database).commit([cast])
    assert await PostgresVotes(database).commit([cast]) == once


async def test_a_receipt_that_was_never_given_is_not_found(ledger: Ledger) -> None:
    with pytest.raises(NotFound) as refused:
        await ledger.votes.find_vote(uuid4())
    assert refused.value.code == "receipt_not_found"


async def test_votes_are_read_in_order_and_only_once(ledger: Ledger) -> None:
    before = await ledger.source.votes_after(None)
    cast = [await ledger.voted(winner) for winner in Winner]
    page = await ledger.source.votes_after(before.cursor)
    assert [vote.winner for vote in page.votes] == list(Winner)
    assert [vote.created_at for vote in page.votes] == [one.vote.created_at for one in cast]
    assert {(vote.contestant_a, vote.contestant_b) for vote in page.votes} == {("north", "south")}
    assert (await ledger.source.votes_after(page.cursor)).votes == []
    await ledger.voted(Winner.TIE)
    rest = await ledger.source.votes_after(page.cursor)
    assert [vote.winner for vote in rest.votes] == [Winner.TIE]


async def test_a_vote_that_commits_late_is_not_passed_over(ledger: Ledger, database: Database) -> None:
    late = await ledger.answered()
    before = await ledger.source.votes_after(None)
    async with database.transaction() as connection:
        columns = [uuid4(), late.id, late.person, "b", None, "north", "south"]
        await connection.execute(sql("insert_votes"), *([value] for value in columns))
        early = await ledger.voted(Winner.A)
        page = await ledger.source.votes_after(before.cursor)
        again = await ledger.source.votes_after(page.cursor)
    rest = await ledger.source.votes_after(again.cursor)
    seen = [vote.winner for read in (page, again, rest) for vote in read.votes]
    assert sorted(seen) == [Winner.A, Winner.B]
    assert early.vote.winner is Winner.A


async def test_times_to_first_token_are_medians_of_battles(ledger: Ledger) -> None:
    await ledger.contestants.put_contestant(contestant("timed"), replace=False)
    for kind, ttft_ms in [(Kind.BATTLE, 10.0), (Kind.BATTLE, 20.0), (Kind.BATTLE, 90.0), (Kind.SIDE_BY_SIDE, 5000.0)]:
        sides = {Side.A: "timed", Side.B: "north"}
        started, _ = await ledger.conversations.start(replace(new(kind), contestants=sides))
        await ledger.answers.settle(done(ref(started, Side.A), ttft_ms=ttft_ms))
    assert (await ledger.source.ttft_medians_ms())["timed"] == 20.0
