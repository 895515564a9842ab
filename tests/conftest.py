"""One embedded PostgreSQL and one Valkey for a whole run; a database and a key prefix for each test."""

import asyncio
import itertools
import os
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest
from hypothesis import settings

from agon.embedded.postgres import PostgresServer
from agon.embedded.valkey import ValkeyServer

# Machines are shared, so no example has a time limit. What CI says should be what the change did: it draws the same
# examples each time, and the runs of those who work on the code look for new ones.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

TEMPLATE = "agon_template"
numbers = itertools.count(1)


def complete(work: Coroutine[object, object, None]) -> None:
    """Run to the end on a loop of its own, leaving the test's loop alone."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, work).result()


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def with_database(url: str, name: str) -> str:
    return url.replace("@/agon?", f"@/{name}?")


@pytest.fixture(scope="session")
def stores_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="session")
def postgres_url(stores_dir: Path) -> Iterator[str]:
    """The server itself; tests want `database_url`."""
    server = PostgresServer(stores_dir)
    yield server.start()
    server.stop()


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> str:
    from agon.stores.postgres.migrate import migrate

    async def make() -> None:
        await execute(postgres_url, f"create database {TEMPLATE}")
        await migrate(with_database(postgres_url, TEMPLATE))

    complete(make())
    return TEMPLATE


@pytest.fixture
def database_url(postgres_url: str, migrated_template: str) -> Iterator[str]:
    """A migrated database of the test's own."""
    name = f"test_{next(numbers)}"
    complete(execute(postgres_url, f"create database {name} template {migrated_template}"))
    yield with_database(postgres_url, name)
    complete(execute(postgres_url, f"drop database {name} with (force)"))


@pytest.fixture(scope="session")
def redis_url(stores_dir: Path) -> Iterator[str]:
    server = ValkeyServer(stores_dir)
    yield server.start()
    server.stop()


@pytest.fixture
def key_prefix() -> str:
    """What every key of the test starts with, since all tests share one Valkey."""
    return f"test{next(numbers)}:"
