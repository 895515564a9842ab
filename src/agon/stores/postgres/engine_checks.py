"""What the drift guard has kept, for those who read."""

import json
from collections.abc import Sequence

from agon.rounds.engine_checks import EngineCheck
from agon.stores.postgres.database import Database


class PostgresEngineChecks:
    """`EngineChecks` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def latest(self, *, limit: int) -> Sequence[EngineCheck]:
        return [
            EngineCheck(
                model=row["revision"],
                engine=row["engine"],
                verdict=row["verdict"],
                figures=json.loads(row["figures"]),
                checked_at=row["checked_at"],
                rolled_back_since=row["since"],
            )
            for row in await self._database.rows("engine_checks", limit)
        ]
