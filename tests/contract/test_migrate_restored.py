"""A ledger that was dumped on one server and restored on another is read whole, and once."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from agon.stores.postgres.database import Database
from agon.stores.postgres.migrate import migrate
from agon.stores.postgres.votes import PostgresVotes

FAR_AHEAD = "1000000000"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url)
    await opened.open()
    yield opened
    await opened.close()


async def add_restored_vote(database: Database) -> None:
    """A vote and a forfeit as `pg_restore` leaves them: of a transaction that this server has not reached."""
    battle, person = uuid4(), uuid4()
    lost = uuid4()
    async with database.transaction() as connection:
        for name in ("one", "other"):
            await connection.execute(
                "insert into contestants (name, kind, model, weight, max_concurrent, state, origin) "
                "values ($1, 'openai', $1, 1, 1, 'active', 'admin')",
                name,
            )
        await connection.execute(
            "insert into conversations (id, kind, person, contestant_a, contestant_b) "
            "select id, 'battle', $2, 'one', 'other' from unnest($1::uuid[]) as battles (id)",
            [battle, lost],
            person,
        )
        await connection.execute(
            "insert into forfeits (conversation, winner, contestant_a, contestant_b, created_at, txid) "
            f"values ($1, 'b', 'one', 'other', $2, '{FAR_AHEAD}'::xid8)",
            lost,
            datetime(2026, 1, 2, tzinfo=UTC),
        )
        await connection.execute(
            "insert into votes (receipt, conversation, person, winner, contestant_a, contestant_b, created_at, txid) "
            f"values ($1, $2, $3, 'a', 'one', 'other', $4, '{FAR_AHEAD}'::xid8)",
            uuid4(),
            battle,
            person,
            datetime(2026, 1, 1, tzinfo=UTC),
        )


async def test_restored_votes_are_seen_once_after_a_migration(database: Database, database_url: str) -> None:
    await add_restored_vote(database)
    votes = PostgresVotes(database)
    assert not (await votes.votes_after(None)).votes

    await migrate(database_url)

    first = await votes.votes_after(None)
    assert [(vote.contestant_a, vote.forfeit) for vote in first.votes] == [("one", False), ("one", True)]
    assert not (await votes.votes_after(first.cursor)).votes
