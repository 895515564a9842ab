"""Group commit: batches, order, patience, and those who stop waiting."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from tests.contract.ledger import Ledger, ballot, done, ref

from agon.core.conversation import AnswerState
from agon.core.errors import AgonError, Conflict, Unavailable
from agon.core.ports import CastVote
from agon.core.votes import Winner
from agon.stores.postgres.database import Database
from agon.stores.postgres.group_commit import GroupCommit


class Journal:
    """Commits by writing down; it can be shut, broken or away."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.away = 0
        self.bug: int | None = None
        """An item that cannot be written."""
        self.open = asyncio.Event()
        self.open.set()

    async def commit(self, items: Sequence[int]) -> list[str | AgonError]:
        await self.open.wait()
        if self.away:
            self.away -= 1
            raise Unavailable("away")
        if self.bug in items:
            raise ZeroDivisionError
        self.batches.append(list(items))
        return [Conflict(f"no {item}") if item < 0 else f"did {item}" for item in items]

    def group(self, *, max_batch: int = 512, patience_s: float = 8.0) -> GroupCommit[int, str]:
        return GroupCommit(self.commit, max_batch=max_batch, patience_s=patience_s)


async def test_what_arrives_during_a_commit_shares_the_next() -> None:
    journal = Journal()
    group = journal.group()
    journal.open.clear()
    first = asyncio.create_task(group.submit(0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    rest = [asyncio.create_task(group.submit(number)) for number in range(1, 100)]
    await asyncio.sleep(0)
    journal.open.set()
    assert await first == "did 0"
    assert await asyncio.gather(*rest) == [f"did {number}" for number in range(1, 100)]
    assert journal.batches == [[0], list(range(1, 100))]


async def test_a_batch_has_its_bound() -> None:
    journal = Journal()
    group = journal.group(max_batch=4)
    results = await asyncio.gather(*(group.submit(number) for number in range(10)))
    assert results == [f"did {number}" for number in range(10)]
    assert journal.batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


async def test_a_refusal_is_its_own_items() -> None:
    journal = Journal()
    group = journal.group()
    results = await asyncio.gather(*(group.submit(number) for number in (1, -2, 3)), return_exceptions=True)
    assert [str(result) for result in results] == ["did 1", "no -2", "did 3"]
    assert isinstance(results[1], Conflict)


async def test_what_one_stopped_waiting_for_is_written_all_the_same() -> None:
    journal = Journal()
    group = journal.group()
    journal.open.clear()
    kept, left = asyncio.create_task(group.submit(1)), asyncio.create_task(group.submit(2))
    await asyncio.sleep(0)
    left.cancel()
    with suppress(asyncio.CancelledError):
        await left
    journal.open.set()
    assert await kept == "did 1"
    assert journal.batches == [[1, 2]]


async def test_a_lost_connection_is_tried_again() -> None:
    journal = Journal()
    journal.away = 2
    assert await journal.group().submit(1) == "did 1"
    assert journal.batches == [[1]]


async def test_patience_ends_with_an_error_and_the_next_one_gets_through() -> None:
    journal = Journal()
    journal.away = 10_000
    group = journal.group(patience_s=0.0)
    with pytest.raises(Unavailable):
        await group.submit(1)
    journal.away = 0
    assert await group.submit(2) == "did 2"


async def test_an_item_that_cannot_be_written_hurts_no_other() -> None:
    journal = Journal()
    journal.bug = 1
    group = journal.group()
    results = await asyncio.gather(*(group.submit(number) for number in range(100)), return_exceptions=True)
    assert isinstance(results.pop(1), ZeroDivisionError)
    assert results == ["did 0", *(f"did {number}" for number in range(2, 100))]
    assert len(journal.batches) < 10


async def test_closing_lets_what_was_submitted_finish() -> None:
    journal = Journal()
    group = journal.group()
    waiting = asyncio.create_task(group.submit(1))
    await asyncio.sleep(0)
    await group.close()
    assert waiting.done() or await waiting == "did 1"
    assert journal.batches == [[1]]


async def test_no_acknowledged_vote_is_lost_when_connections_break(ledger: Ledger, database: Database) -> None:
    battles = [await ledger.answered() for _ in range(60)]
    stop = asyncio.Event()

    async def break_connections() -> int:
        broken = 0
        while not stop.is_set():
            with suppress(Unavailable):
                async with database.transaction() as connection:
                    broken += await connection.fetchval(
                        "select count(pg_terminate_backend(pid)) from pg_stat_activity "
                        "where datname = current_database() and pid <> pg_backend_pid()"
                    )
            await asyncio.sleep(0.01)
        return broken

    async def cast(number: int) -> CastVote:
        await asyncio.sleep(0.003 * number)
        return await ledger.votes.cast(ballot(battles[number], Winner.A, key="k"))

    breaking = asyncio.create_task(break_connections())
    cast_votes = await asyncio.gather(*map(cast, range(60)))
    stop.set()
    assert await breaking > 0
    for battle, vote in zip(battles, cast_votes, strict=True):
        assert (await ledger.conversations.find(battle.id)).vote == vote.vote


async def test_an_answers_end_survives_a_broken_connection(ledger: Ledger, database: Database) -> None:
    started = await ledger.begin()
    async with database.transaction() as connection:
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
    for side in started.contestants:
        await ledger.answers.settle(done(ref(started, side)))
    found = await ledger.conversations.find(started.id)
    assert {answer.state for answer in found.last_turn.answers.values()} == {AnswerState.DONE}
