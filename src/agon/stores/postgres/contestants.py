"""Contestants and admin keys in the ledger."""

import hashlib
from collections.abc import Sequence

from agon.core.contestants import Contestant, ContestantKind, ContestantState, Origin
from agon.core.errors import Conflict
from agon.stores.postgres.database import Database, Record


class PostgresContestants:
    """`ContestantLedger` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def contestants(self) -> Sequence[Contestant]:
        return [_contestant(row) for row in await self._database.rows("contestants")]

    async def put_contestant(self, contestant: Contestant, *, replace: bool) -> None:
        row = await self._database.row(
            "insert_contestant",
            contestant.name,
            contestant.kind.value,
            contestant.model,
            list(contestant.urls),
            contestant.key_env,
            contestant.sha256,
            contestant.weight,
            contestant.max_concurrent,
            contestant.prefill,
            list(contestant.draining),
            contestant.draft,
            contestant.state.value,
            contestant.origin.value,
            replace,
        )
        if row is None:
            raise Conflict(
                f"There is a contestant named {contestant.name!r} already.", code="contestant_exists", field="name"
            )


class PostgresAdminKeys:
    """Admin keys by their SHA-256; a key is 32 random bytes, so a plain hash is enough."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def any(self) -> bool:
        row = await self._database.row("any_admin_key")
        return row is not None and bool(row["found"])

    async def add(self, key: str) -> None:
        await self._database.rows("add_admin_key", _digest(key))

    async def drop_all(self) -> None:
        await self._database.rows("drop_admin_keys")

    async def holds(self, key: str) -> bool:
        row = await self._database.row("check_admin_key", _digest(key))
        return row is not None and bool(row["found"])


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _contestant(row: Record) -> Contestant:
    return Contestant(
        name=row["name"],
        kind=ContestantKind(row["kind"]),
        model=row["model"],
        urls=tuple(row["urls"]),
        key_env=row["key_env"],
        sha256=row["sha256"],
        weight=row["weight"],
        max_concurrent=row["max_concurrent"],
        prefill=row["prefill"],
        draining=tuple(row["draining"]),
        draft=row["draft"],
        state=ContestantState(row["state"]),
        origin=Origin(row["origin"]),
    )
