"""The answers of rounds that are to be made, and who has taken them on."""

from collections.abc import Mapping, Sequence

from agon.core.round_ports import PendingAnswer
from agon.core.rounds import Question
from agon.core.text import storable
from agon.stores.postgres.database import Database, Record
from agon.stores.postgres.queries import sql


class PostgresGeneration:
    """`GenerationLedger` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, holder: str, places: Mapping[str, int], lease_s: float) -> Sequence[PendingAnswer]:
        if not places:
            return []
        async with self._database.transaction() as connection:
            await connection.execute(sql("lock_claims"))
            rows = await connection.fetch(sql("claim_answers"), holder, [*places], [*places.values()], lease_s)
        return sorted(map(_pending, rows), key=lambda pending: pending.number)

    async def renew(self, holder: str, numbers: Sequence[int], lease_s: float) -> None:
        await self._database.row("renew_claims", holder, [*numbers], lease_s)

    async def let_go(self, holder: str) -> None:
        await self._database.row("let_claims_go", holder)

    async def put_back(self, number: int, pause_s: float) -> None:
        await self._database.row("put_claim_back", number, pause_s)

    async def wanted(self) -> Sequence[str]:
        return [row["contestant"] for row in await self._database.rows("wanted_contestants")]

    async def made(self, number: int, texts: Sequence[str], *, request_key: bytes | None) -> bool:
        written = await self._database.row("answer_made", number, [*map(storable, texts)], request_key)
        return written is not None

    async def failed(self, number: int, error: str, *, final: bool) -> None:
        await self._database.row("answer_failed", number, storable(error), final)


def _pending(row: Record) -> PendingAnswer:
    question = Question(row["question"], tuple(row["turns"]), row["category"], row["language"])
    return PendingAnswer(
        number=row["number"],
        round=row["round"],
        question=question,
        contestant=row["contestant"],
        seed=row["seed"],
        max_tokens=row["max_tokens"],
        failures=row["failures"],
    )
