"""What boards of rounds are made from."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from agon.core.round_ports import QuestionScores, Total
from agon.stores.postgres.database import Database


class PostgresStandings:
    """`StandingsSource` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def totals(self, round_id: UUID) -> Sequence[Total]:
        rows = await self._database.rows("round_totals", round_id)
        return [Total(row["contestant"], row["scored"], row["score"]) for row in rows]

    async def scores(self, round_id: UUID) -> Sequence[QuestionScores]:
        rows = await self._database.rows("round_scores", round_id)
        return [
            QuestionScores(row["question"], row["category"], dict(zip(row["contestants"], row["scores"], strict=True)))
            for row in rows
        ]

    async def scored_rounds(self) -> Mapping[UUID, int]:
        return {row["round"]: row["merged"] for row in await self._database.rows("scored_rounds")}
