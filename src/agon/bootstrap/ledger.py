"""The ledger's schema, and the keys of its admins."""

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agon.bootstrap.addresses import ledger_url
from agon.config import Settings
from agon.stores.postgres.contestants import PostgresAdminKeys
from agon.stores.postgres.database import Database
from agon.stores.postgres.migrate import migrate


async def migrate_ledger(settings: Settings) -> int:
    """Bring the ledger's schema up to date; returns how many migrations were applied."""
    return await migrate(ledger_url(settings))


async def ensure_admin_key(settings: Settings, *, another: bool) -> str | None:
    """Make an admin key if there is none, or in any case one more; returns it, the only time it can be seen."""
    async with _admin_keys(settings) as keys:
        if await keys.any() and not another:
            return None
        key = f"agon-{secrets.token_urlsafe(32)}"
        await keys.add(key)
        return key


async def revoke_admin_keys(settings: Settings) -> None:
    async with _admin_keys(settings) as keys:
        await keys.drop_all()


@asynccontextmanager
async def _admin_keys(settings: Settings) -> AsyncGenerator[PostgresAdminKeys]:
    database = Database(ledger_url(settings), max_connections=1)
    await database.open()
    try:
        yield PostgresAdminKeys(database)
    finally:
        await database.close()
