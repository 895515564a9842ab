"""Brings a database's schema up to date: each file in `migrations/` once, in order, in a transaction of its own.

A ledger that was restored from a dump is made readable on the way.
"""

from importlib.resources import files

import asyncpg

from agon.core.errors import Conflict
from agon.stores.postgres.database import translated
from agon.stores.postgres.queries import sql

# Any constant will do, as long as every process that migrates takes the same lock.
_LOCK = 4_173_015


def migrations() -> list[tuple[int, str]]:
    """Number and SQL of every migration, in order."""
    folder = files("agon.stores.postgres").joinpath("migrations")
    found = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted((int(file.name.split("_")[0]), file.read_text("utf-8")) for file in found)


async def migrate(url: str) -> int:
    """Apply what is missing; returns how many were applied. Safe to call from several processes at once."""
    async with translated():
        connection = await asyncpg.connect(url)
        try:
            await connection.execute("select pg_advisory_lock($1)", _LOCK)
            applied = await _apply(connection)
            await connection.execute(sql("adopt_restored_votes"))
            await connection.execute(sql("adopt_restored_forfeits"))
            return applied
        finally:
            await connection.close()


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    await connection.execute(
        "create table if not exists migrations (number integer primary key, applied_at timestamptz default now())"
    )
    done = {record["number"] for record in await connection.fetch("select number from migrations")}
    known = migrations()
    if done - {number for number, _ in known}:
        raise Conflict("The database was written by a newer Agon; upgrade this one.", code="database_too_new")
    missing = [(number, text) for number, text in known if number not in done]
    for number, text in missing:
        async with connection.transaction():
            await connection.execute(text)
            await connection.execute("insert into migrations (number) values ($1)", number)
    return len(missing)
