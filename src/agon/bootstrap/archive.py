"""The ledger's votes and forfeits, for `agon export`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agon.bootstrap.addresses import ledger_url
from agon.config import Settings
from agon.core.board_ports import VoteArchive
from agon.stores.postgres.archive import PostgresArchive
from agon.stores.postgres.database import Database


@asynccontextmanager
async def vote_archive(settings: Settings) -> AsyncGenerator[VoteArchive]:
    """The archive of the ledger that the settings name. Raises `Unavailable` if it cannot be reached."""
    database = Database(ledger_url(settings), max_connections=1)
    await database.open()
    try:
        yield PostgresArchive(database)
    finally:
        await database.close()
