"""What the drift guard has kept, read by those who look at scores."""

import json
from uuid import uuid4

from agon.stores.postgres.database import Database
from agon.stores.postgres.engine_checks import PostgresEngineChecks


async def _check(database: Database, model: str, engine: str, verdict: str, reason: str) -> None:
    figures = json.dumps({"precision": "int8", "reasons": [reason], "found": None, "noise": None})
    async with database.transaction() as connection:
        await connection.execute(
            "insert into drift_checks (revision, engine, verdict, figures, evidence) values ($1, $2, $3, $4, '[]')",
            model,
            engine,
            verdict,
            figures,
        )


async def test_the_last_look_at_each_engine_is_told(database: Database) -> None:
    model = f"model-{uuid4()}"
    await _check(database, model, "int8/one", "promote", "old")
    await _check(database, model, "int8/two", "hold", "other")
    await _check(database, model, "int8/one", "roll_back", "mean KL 0.0700 is over 0.05")
    async with database.transaction() as connection:
        await connection.execute("insert into engines_rolled_back (revision, engine) values ($1, 'int8/one')", model)
    found = [check for check in await PostgresEngineChecks(database).latest(limit=100) if check.model == model]
    assert [(check.engine, check.verdict) for check in found] == [("int8/one", "roll_back"), ("int8/two", "hold")]
    assert found[0].rolled_back_since is not None
    assert found[0].figures["reasons"] == ["mean KL 0.0700 is over 0.05"]
    assert found[1].rolled_back_since is None


async def test_no_more_are_told_than_asked_for(database: Database) -> None:
    for engine in ("a", "b", "c"):
        await _check(database, f"model-{uuid4()}", engine, "hold", "few")
    assert len(await PostgresEngineChecks(database).latest(limit=2)) == 2
