"""Drift in the ledger: scored traffic to look at, what was found, and which engines are out of force."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from agon.core.rounds import TURN_BREAK, from_units
from agon.core.scoring import Sample
from agon.scoring.drift import EngineName, Evidence, Precision, Row, Traffic, figures
from agon.scoring.fidelity import Decision, Fidelity, Verdict
from agon.stores.postgres.database import Database, Record
from agon.stores.postgres.queries import sql


class PostgresDrift:
    """`DriftLedger` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def traffic(self, engine: EngineName, *, since: datetime | None, share: float, limit: int) -> list[Traffic]:
        rows = await self._database.rows("drift_traffic", str(engine), since, share, limit, TURN_BREAK)
        return [Traffic(row["number"], Sample(row["prompt"], row["answer"]), from_units(row["score"])) for row in rows]

    async def keep(self, evidence: Evidence) -> None:
        engine, decision = evidence.engine, evidence.decision
        rows = [[row.number, row.reduced, row.full] for row in evidence.rows]
        texts = json.dumps(dict(figures(evidence))), json.dumps(rows)
        async with self._database.transaction() as connection:
            check: int = await connection.fetchval(
                sql("keep_drift_check"), engine.model, engine.artefact, decision.verdict, *texts, evidence.checked_at
            )
            if decision.verdict is Verdict.ROLL_BACK:
                await connection.execute(sql("roll_engine_back"), engine.model, engine.artefact, check)

    async def latest(self, model: str) -> Evidence | None:
        row = await self._database.row("latest_drift_check", model)
        return None if row is None else _evidence(model, row)

    async def precision_in_force(self, engine: EngineName) -> Precision:
        row = await self._database.row("engine_rolled_back", engine.model, engine.artefact)
        return engine.precision if row is None else Precision.FP32

    async def restore(self, model: str) -> int:
        return len(await self._database.rows("restore_engines", model))


def _evidence(model: str, row: Record) -> Evidence:
    told: dict[str, Any] = json.loads(row["figures"])
    rows: list[tuple[int, float, float]] = json.loads(row["evidence"])
    return Evidence(
        engine=EngineName(model, Precision(told["precision"]), row["engine"]),
        decision=Decision(Verdict(row["verdict"]), tuple(cast("Sequence[str]", told["reasons"]))),
        found=_fidelity(told["found"]),
        noise=_fidelity(told["noise"]),
        rows=[Row(*each) for each in rows],
        checked_at=row["checked_at"],
    )


def _fidelity(value: Mapping[str, Any] | None) -> Fidelity | None:
    return None if value is None else Fidelity(**value)
