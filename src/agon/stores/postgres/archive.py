"""Every vote and forfeit of the ledger, read through a cursor so that memory does not grow with the ledger."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import cast

from agon.core.board_ports import ExportedTurn, ExportedVote
from agon.core.conversation import Side
from agon.core.votes import Winner
from agon.stores.postgres.conversations import sides_of
from agon.stores.postgres.database import Database, Record
from agon.stores.postgres.queries import sql

_ROWS_AT_ONCE = 500


class PostgresArchive:
    """`VoteArchive` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def every_vote(self, *, dialogues: bool) -> AsyncGenerator[ExportedVote]:
        statement = sql("export_dialogues" if dialogues else "export_votes")
        async with self._database.transaction() as connection:
            async for row in connection.cursor(statement, prefetch=_ROWS_AT_ONCE):
                yield _vote(row)


def _vote(row: Record) -> ExportedVote:
    return ExportedVote(
        conversation=row["conversation"],
        person=row["person"],
        contestants=sides_of(row),
        winner=Winner(row["winner"]),
        created_at=row["created_at"],
        turns=_turns(row["turns"]),
        forfeit=row["forfeit"],
    )


def _turns(text: str | None) -> Sequence[ExportedTurn]:
    turns = cast("list[tuple[str, str, str]]", json.loads(text)) if text else []
    return [ExportedTurn(prompt, {Side.A: a, Side.B: b}) for prompt, a, b in turns]
