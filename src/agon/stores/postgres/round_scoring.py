"""The outbox of scoring in the ledger: batches, verdicts and totals. Every step counts once, however often it comes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from agon.core.round_ports import Backlog, ToScore, Verdict
from agon.core.rounds import TURN_BREAK, to_units
from agon.core.scoring import Abstained, Sample, Score
from agon.core.text import storable
from agon.stores.postgres.database import Database, Record
from agon.stores.postgres.queries import sql


class PostgresScoring:
    """`ScoringLedger` on PostgreSQL.

    The row of a batch is locked before anything of it is written, so what a slow twin of a task still says of answers
    that were merged meanwhile finds the batch a step further, and is not heard. Each step is one statement: on a busy
    machine it is the round trips that cost.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open_batches(self, *, in_flight: int, size: int, lease_s: float) -> Sequence[UUID]:
        async with self._database.transaction() as connection:
            await connection.execute(sql("lock_opening"))
            rows = await connection.fetch(sql("open_batches"), in_flight, size, lease_s)
        return [row["id"] for row in rows]

    async def overdue(self, lease_s: float) -> Sequence[tuple[UUID, str]]:
        return [(row["id"], row["step"]) for row in await self._database.rows("overdue_batches", lease_s)]

    async def begin(self, batch: UUID, lease_s: float) -> int:
        row = await self._database.row("begin_batch", batch, lease_s)
        return 0 if row is None else row["tries"]

    async def broke_off(self, batch: UUID) -> None:
        await self._database.row("break_off_batch", batch)

    async def renew(self, batch: UUID, lease_s: float) -> None:
        await self._database.row("renew_batch", batch, lease_s)

    async def load(self, batch: UUID) -> Sequence[ToScore]:
        return [_to_score(row) for row in await self._database.rows("load_batch", batch, TURN_BREAK)]

    async def judged(self, batch: UUID, verdicts: Sequence[Verdict], *, max_failures: int, pause_s: float) -> bool:
        return await self._database.row("write_verdicts", batch, *_columns(verdicts), max_failures, pause_s) is not None

    async def set_aside(self, batch: UUID, numbers: Sequence[int], *, pause_s: float) -> None:
        await self._database.row("put_aside", batch, numbers, pause_s)

    async def merge(self, batch: UUID) -> Sequence[UUID]:
        row = await self._database.row("merge_scores", batch)
        return () if row is None else row["rounds"]

    async def close_batch(self, batch: UUID) -> None:
        await self._database.row("close_batch", batch)

    async def backlog(self) -> Backlog:
        row = (await self._database.rows("scoring_backlog"))[0]
        return Backlog(row["waiting"], row["oldest_s"], row["parked"], row["open_batches"])

    async def wanted_scorers(self) -> Sequence[str]:
        return [row["scorer"] for row in await self._database.rows("wanted_scorers")]

    async def recount(self, round_id: UUID) -> Mapping[str, tuple[int, int]]:
        rows = await self._database.rows("recount_round", round_id)
        return {row["contestant"]: (row["scored"], row["score"]) for row in rows}


def _to_score(row: Record) -> ToScore:
    sample = Sample(row["prompt"], row["answer"], row["reference"], row["contestant"])
    return ToScore(row["number"], row["scorer"], sample, row["failures"])


def _columns(verdicts: Sequence[Verdict]) -> tuple[list[object], ...]:
    columns: tuple[list[object], ...] = ([], [], [], [], [], [], [])
    for verdict in verdicts:
        said = _said(verdict)
        for column, value in zip(columns, (verdict.number, *said, verdict.revision, verdict.score_key), strict=True):
            column.append(value)
    return columns


def _said(verdict: Verdict) -> tuple[str, int | None, str | None, str | None]:
    """Stage, score, detail and error as the ledger has them. Raises `ValueError` where it can hold no such score."""
    match verdict.scored:
        case Score(value, detail):
            return "scored", to_units(value), _json(detail), None
        case Abstained(reason, detail):
            return "abstained", None, _json(detail), storable(reason)
        case poison:
            return "poison", None, None, storable(poison.error)


def _json(detail: Mapping[str, Any] | None) -> str | None:
    return None if detail is None else json.dumps(_storable(detail), allow_nan=False, separators=(",", ":"))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {storable(str(key)): _storable(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_storable(item) for item in cast("Sequence[Any]", value)]
    return value
