"""What the ledger knows of scorers: what judges said, and which answers people preferred."""

import json
from collections.abc import Sequence
from typing import cast
from uuid import UUID

from agon.core.rounds import AnswerStage, from_units
from agon.core.votes import Winner
from agon.rounds.judging import JudgedAnswer
from agon.scoring.agreement import HumanPair
from agon.stores.postgres.database import Database, Record


class PostgresScorers:
    """`HumanPairs` and `JudgedAnswers` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def newest(self, limit: int) -> Sequence[HumanPair]:
        rows = await self._database.rows("human_pairs", limit)
        return [
            HumanPair(row["prompt"], row["answer_a"], row["answer_b"], Winner(cast("str", row["winner"])))
            for row in rows
        ]

    async def judged(self, round_id: UUID) -> Sequence[JudgedAnswer]:
        return [_judged(row) for row in await self._database.rows("judged_answers", round_id)]


def _judged(row: Record) -> JudgedAnswer:
    return JudgedAnswer(
        question=row["question"],
        contestant=row["contestant"],
        stage=AnswerStage(cast("str", row["stage"])),
        score=None if row["score"] is None else from_units(row["score"]),
        reason=row["error"],
        verdicts=tuple(cast("list[str | None]", json.loads(row["verdicts"]))),
        exact=row["exact"],
        repeated=row["repeated"],
        tokens=row["tokens"],
    )
