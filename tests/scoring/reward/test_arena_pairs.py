"""The arena's own votes as judged pairs, out of a real ledger."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from tests.contract.ledger import LIMITS, Ledger, ballot, contestant, done, forfeited, ref

from agon.bootstrap.reward_pairs import ARENA, Judged, read_arena
from agon.config import Settings, StoreSettings
from agon.core.conversation import Conversation, Kind, Side, check_new_turn
from agon.core.ports import AddTurn, NewConversation, NewTurn
from agon.core.votes import Winner
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    database = Database(database_url)
    await database.open()
    answers, votes, contestants = PostgresAnswers(database), PostgresVotes(database), PostgresContestants(database)
    for name in ("north", "south"):
        await contestants.put_contestant(contestant(name), replace=True)
    yield Ledger(PostgresConversations(database), answers, votes, votes, contestants)
    await answers.close()
    await votes.close()
    await database.close()


async def battle(ledger: Ledger, prompt: str) -> Conversation:
    new = NewTurn(prompt, 7, 100, None)
    sides = {Side.A: "north", Side.B: "south"}
    started, _ = await ledger.conversations.start(NewConversation(uuid4(), Kind.BATTLE, uuid4(), sides, new, 0.25))
    return started


async def answer(ledger: Ledger, started: Conversation, turn: int = 1) -> None:
    for side in Side:
        assert (await ledger.answers.settle(done(ref(started, side, turn), f"answer {side.value}"))).written


async def another_turn(started: Conversation) -> AddTurn:
    check_new_turn(started, LIMITS)
    return AddTurn(NewTurn("And then?", 8, 100))


async def test_votes_on_one_turn_are_pairs(ledger: Ledger, database_url: str) -> None:
    for winner in Winner:
        started = await battle(ledger, f"to be {winner.value}")
        await answer(ledger, started)
        await ledger.votes.cast(ballot(started, winner))
    longer = await battle(ledger, "two turns")
    await answer(ledger, longer)
    longer = await ledger.conversations.amend(longer.id, another_turn)
    await answer(ledger, longer, turn=2)
    await ledger.votes.cast(ballot(longer, Winner.A))
    late = await battle(ledger, "too late")
    for side, end in ((Side.A, done), (Side.B, forfeited)):
        await ledger.answers.settle(end(ref(late, side), "text"))

    judged = Judged()
    await read_arena(judged, Settings(stores=StoreSettings(database_url=database_url)))

    assert {pair.prompt: pair.outcome for pair in judged.pairs} == {
        "to be a": 1.0,
        "to be b": 0.0,
        "to be tie": 0.5,
        "to be both_bad": 0.5,
    }
    assert {(pair.answer_a, pair.answer_b, pair.file) for pair in judged.pairs} == {("answer a", "answer b", ARENA)}
    assert len(judged.digests[ARENA]) == 64
