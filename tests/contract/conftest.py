"""Every adapter of the ledger, the bus and the boards, on real servers."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import pytest
from tests.contract.fleet import Fleet
from tests.contract.ledger import Ledger, contestant

from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes
from agon.stores.redis.boards import RedisBoards
from agon.stores.redis.bus import RedisBus
from agon.stores.redis.client import Client, connect


def complete(work: Coroutine[object, object, None]) -> None:
    """Run to the end on a loop of its own, leaving the test's loop alone."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, work).result()


@pytest.fixture(scope="session")
def contract_url(postgres_url: str, migrated_template: str) -> str:
    """One database for all contract tests: making one for each would take most of their time."""

    async def make() -> None:
        server = await asyncpg.connect(postgres_url)
        await server.execute(f"create database contracts template {migrated_template}")
        await server.close()
        database = Database(url)
        await database.open()
        for name in ("north", "south", "east"):
            await PostgresContestants(database).put_contestant(contestant(name), replace=True)
        await database.close()

    url = postgres_url.replace("@/agon?", "@/contracts?")
    complete(make())
    return url


@pytest.fixture
async def database(contract_url: str) -> AsyncIterator[Database]:
    database = Database(contract_url)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def ledger(database: Database) -> AsyncIterator[Ledger]:
    """With three contestants: east, north and south."""
    answers, votes = PostgresAnswers(database), PostgresVotes(database)
    yield Ledger(PostgresConversations(database), answers, votes, votes, PostgresContestants(database))
    await answers.close()
    await votes.close()


@pytest.fixture
async def bus(redis_url: str, key_prefix: str) -> AsyncIterator[RedisBus]:
    bus = RedisBus(redis_url, prefix=key_prefix)
    yield bus
    await bus.close()


@pytest.fixture
async def other_bus(redis_url: str, key_prefix: str) -> AsyncIterator[RedisBus]:
    """The same bus, seen from another process."""
    bus = RedisBus(redis_url, prefix=key_prefix)
    yield bus
    await bus.close()


@pytest.fixture
async def boards(redis_url: str, key_prefix: str) -> AsyncIterator[RedisBoards]:
    boards = RedisBoards(redis_url, prefix=key_prefix)
    yield boards
    await boards.close()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Client]:
    client = connect(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
async def fleet(redis_url: str, key_prefix: str, redis: Client) -> AsyncIterator[Fleet]:
    fleet = Fleet(redis_url, key_prefix, redis)
    yield fleet
    for executor in fleet.members:
        await executor.close()
