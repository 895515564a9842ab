"""The connection pool, and the one place where PostgreSQL's errors become ours."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg

from agon.core.errors import Conflict, Unavailable
from agon.stores.postgres.queries import sql

# Quoted: generic for the type checker only.
Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
Record: TypeAlias = asyncpg.Record

_GONE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DeadlockDetectedError,
    # What asyncpg says, now and then, when a connection is cut in the middle of a message.
    asyncpg.InternalClientError,
)


@asynccontextmanager
async def translated() -> AsyncGenerator[None]:
    """Turn the errors of a lost or overloaded server into `Unavailable`; a broken statement stays a bug."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise Conflict("Somebody has just written the same; try again.", code="written_twice") from error
    except asyncpg.ForeignKeyViolationError as error:
        raise Conflict("The ledger lacks something this refers to.", code="missing_reference") from error
    except _GONE as error:
        raise Unavailable("The ledger cannot be reached; try again in a moment.", code="ledger_unavailable") from error


class Database:
    """A pool of connections to one PostgreSQL database. Open it in the loop that uses it."""

    def __init__(self, url: str, *, max_connections: int = 10) -> None:
        self._url = url
        self._max_connections = max_connections
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def open(self) -> None:
        async with translated():
            self._pool = await asyncpg.create_pool(
                self._url, min_size=1, max_size=self._max_connections, command_timeout=30, timeout=10
            )

    async def close(self) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool = None

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        """One transaction: commits at the end of the block, undone by any error."""
        async with translated(), self._connection() as connection, connection.transaction():
            yield connection

    async def rows(self, name: str, *arguments: object) -> list[Record]:
        async with translated(), self._connection() as connection:
            return await connection.fetch(sql(name), *arguments)

    async def row(self, name: str, *arguments: object) -> Record | None:
        async with translated(), self._connection() as connection:
            return await connection.fetchrow(sql(name), *arguments)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Connection]:
        if self._pool is None:
            raise Unavailable("The ledger is not open.", code="ledger_unavailable")
        async with self._pool.acquire(timeout=10) as connection:
            yield connection
