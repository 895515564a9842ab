"""Drift in the real ledger."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from agon.scoring.drift import DriftLedger, EngineName, Evidence, Precision, Row
from agon.scoring.fidelity import Decision, Fidelity, Verdict
from agon.stores.postgres.database import Database
from agon.stores.postgres.drift import PostgresDrift

ENGINE = EngineName("model", Precision.INT8, "abc")
FIDELITY = Fidelity(10, 5, 0.1, 0.2, 0.06, 0.1, 0.9, 0.8, 0.7)
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[DriftLedger]:
    database = Database(database_url, max_connections=2)
    await database.open()
    yield PostgresDrift(database)
    await database.close()


def evidence(verdict: Verdict = Verdict.ROLL_BACK, engine: EngineName = ENGINE) -> Evidence:
    rows = [Row(1, 0.25, 0.5), Row(2, -1.0, 3.0)]
    return Evidence(engine, Decision(verdict, ("mean KL 0.06 is over 0.05",)), FIDELITY, None, rows, NOON)


async def scored(url: str, count: int, revision: str, *, at: datetime = NOON) -> None:
    """Put answers that an engine has scored into the ledger."""
    round_id = uuid4()
    connection = await asyncpg.connect(url)
    await connection.execute(
        "insert into rounds (id, name, scorer, strict, seed, max_tokens) values ($1, 'r', 'reward', true, 0, 10)",
        round_id,
    )
    await connection.execute(
        "insert into round_questions (round, question, place, category, language, turns, digest)"
        " values ($1, 'q', 0, '', '', '{one,two}', '\\x00')",
        round_id,
    )
    await connection.execute(
        "insert into round_contestants (round, contestant, place, made_here)"
        " select $1, 'c' || n, n, false from generate_series(1, $2::integer) n",
        round_id,
        count,
    )
    await connection.execute(
        "insert into round_answers (id, round, question, contestant, stage, texts, score, revision, scored_at)"
        " select gen_random_uuid(), $1, 'q', 'c' || n, 'scored', array['a' || n, 'b'], n * 1000000, $3, $4"
        " from generate_series(1, $2::integer) n",
        round_id,
        count,
        revision,
        at,
    )
    await connection.close()


async def test_what_is_kept_is_read_again(ledger: DriftLedger) -> None:
    assert await ledger.latest("model") is None
    await ledger.keep(evidence(Verdict.PROMOTE))
    await ledger.keep(replace(evidence(Verdict.HOLD), found=None, checked_at=NOON + timedelta(days=7)))
    assert await ledger.latest("model") == replace(
        evidence(Verdict.HOLD), found=None, checked_at=NOON + timedelta(days=7)
    )
    assert await ledger.latest("another") is None


@pytest.mark.parametrize("verdict", [Verdict.PROMOTE, Verdict.HOLD])
async def test_only_a_roll_back_takes_an_engine_out(ledger: DriftLedger, verdict: Verdict) -> None:
    await ledger.keep(evidence(verdict))
    assert await ledger.precision_in_force(ENGINE) is Precision.INT8


async def test_a_rolled_back_engine_stays_so_until_it_is_restored(ledger: DriftLedger) -> None:
    await ledger.keep(evidence())
    await ledger.keep(evidence())
    assert await ledger.precision_in_force(ENGINE) is Precision.FP32
    for other in (replace(ENGINE, artefact="new"), replace(ENGINE, model="another")):
        assert await ledger.precision_in_force(other) is Precision.INT8
    assert await ledger.restore("another") == 0
    assert await ledger.restore("model") == 1
    assert await ledger.precision_in_force(ENGINE) is Precision.INT8
    assert await ledger.latest("model") == evidence()


async def test_traffic_is_what_this_engine_has_scored(ledger: DriftLedger, database_url: str) -> None:
    await scored(database_url, 3, str(ENGINE))
    await scored(database_url, 3, "model/fp32")
    traffic = await ledger.traffic(ENGINE, since=None, share=1.0, limit=10)
    assert [(each.sample.prompt, each.sample.answer, each.score) for each in traffic] == [
        ("one\n\ntwo", f"a{n}\n\nb", float(n)) for n in (3, 2, 1)
    ]
    assert len(await ledger.traffic(ENGINE, since=None, share=1.0, limit=2)) == 2
    assert await ledger.traffic(ENGINE, since=NOON, share=1.0, limit=10) == []
    assert len(await ledger.traffic(ENGINE, since=NOON - timedelta(seconds=1), share=1.0, limit=10)) == 3


async def test_a_share_is_the_same_whenever_it_is_asked_for(ledger: DriftLedger, database_url: str) -> None:
    await scored(database_url, 2_000, str(ENGINE))
    tenth = await ledger.traffic(ENGINE, since=None, share=0.1, limit=5_000)
    assert tenth == await ledger.traffic(ENGINE, since=None, share=0.1, limit=5_000)
    assert 150 <= len(tenth) <= 250
    fifth = {each.number for each in await ledger.traffic(ENGINE, since=None, share=0.2, limit=5_000)}
    assert {each.number for each in tenth} < fifth
    assert await ledger.traffic(ENGINE, since=None, share=0.0, limit=5_000) == []
