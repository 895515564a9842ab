"""Migrations, and that code and named SQL know each other."""

import asyncio
import re
from pathlib import Path

import asyncpg
import pytest

from agon.core.errors import AgonError, Conflict, Unavailable
from agon.stores.postgres import database as database_module
from agon.stores.postgres.database import Database
from agon.stores.postgres.migrate import migrate, migrations
from agon.stores.postgres.queries import queries

FOLDER = Path(database_module.__file__).parent
USE = re.compile(r"""(?:\bsql|\.rows?)\(\s*"(\w+)\"""")


async def run(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture
async def empty_url(postgres_url: str, request: pytest.FixtureRequest) -> str:
    name = f"schema_{abs(hash(request.node.name)) % 10**9}"
    await run(postgres_url, f"create database {name}")
    return postgres_url.replace("@/agon?", f"@/{name}?")


async def test_migrating_twice_does_nothing_the_second_time(empty_url: str) -> None:
    assert await migrate(empty_url) == len(migrations())
    assert await migrate(empty_url) == 0


async def test_many_may_migrate_at_once(empty_url: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_url) for _ in range(5)))
    assert sorted(applied) == [0, 0, 0, 0, len(migrations())]


async def test_a_database_of_a_newer_version_is_refused(empty_url: str) -> None:
    await migrate(empty_url)
    await run(empty_url, "insert into migrations (number) values (9999)")
    with pytest.raises(Conflict) as refused:
        await migrate(empty_url)
    assert refused.value.code == "database_too_new"


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_every_statement_is_used_and_every_used_one_is_there() -> None:
    source = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    assert set(USE.findall(source)) <= set(queries())
    assert set(queries()) <= set(re.findall(r'"(\w+)"', source))


def test_every_statement_says_what_it_is_for() -> None:
    for path in (FOLDER / "sql").glob("*.sql"):
        text = path.read_text("utf-8")
        names = re.findall(r"^-- name: (\w+)$", text, re.MULTILINE)
        described = re.findall(r"^-- name: \w+\n-- [A-Z].{10,}\.$", text, re.MULTILINE)
        assert len(names) == len(described), path.name
        assert set(names) <= set(queries())


async def test_the_schema_understands_every_statement(contract_url: str) -> None:
    connection = await asyncpg.connect(contract_url)
    try:
        for name, statement in queries().items():
            assert (await connection.prepare(statement)).get_query() == statement, name
    finally:
        await connection.close()


async def test_without_its_server_the_ledger_is_unavailable(tmp_path: Path) -> None:
    url = f"postgresql://agon@/agon?host={tmp_path}"
    for attempt in (migrate(url), Database(url).open(), Database(url).rows("contestants")):
        with pytest.raises(Unavailable) as refused:
            await attempt
        assert refused.value.code == "ledger_unavailable"


async def test_a_broken_statement_stays_a_bug(database: Database) -> None:
    with pytest.raises(asyncpg.PostgresError) as raised:
        async with database.transaction() as connection:
            await connection.execute("select from nowhere")
    assert not isinstance(raised.value, AgonError)
