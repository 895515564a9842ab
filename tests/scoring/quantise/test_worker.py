"""The reward model as a worker runs it, on the real ledger: from the first score to the roll-back and back again."""

import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from tests.scoring.quantise.small import small_model, some_samples
from tests.scoring.quantise.test_drift import Counters

from agon.bootstrap.quantise import RewardParts, reward_parts
from agon.core.errors import Unavailable
from agon.core.scoring import Sample, Score, Scored
from agon.engines.encoder.making import Made
from agon.scoring.drift import DriftSettings, Precision
from agon.scoring.fidelity import Gates, Verdict
from agon.stores.postgres.database import Database
from agon.stores.postgres.drift import PostgresDrift

LOOK_AT_ALL = DriftSettings(share=1.0)
UNFORGIVING = DriftSettings(share=1.0, gates=Gates(kl_mean=1e-6))


@pytest.fixture(autouse=True)
def few_texts(pairs_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of those that come with Agon, which take a minute."""
    monkeypatch.setattr("agon.bootstrap.quantise.PACKAGED", pairs_file)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, max_connections=3)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def folder(made: tuple[Path, Made], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "model"))


async def parts_of(folder: Path, database: Database, counters: Counters, drift: DriftSettings) -> RewardParts:
    """What a worker builds; the engine that is in the folder was made from other texts, so a new one is made."""
    return await reward_parts(folder.parent, database, counters, folder=folder, drift=drift)


async def keep(url: str, samples: Sequence[Sample], scores: Sequence[Scored], revision: str) -> None:
    """Write scored answers, as the pipeline does."""
    round_id = uuid4()
    connection = await asyncpg.connect(url)
    await connection.execute(
        "insert into rounds (id, name, scorer, strict, seed, max_tokens) values ($1, 'r', 'reward', true, 0, 10)",
        round_id,
    )
    await connection.execute(
        "insert into round_contestants (round, contestant, place, made_here) values ($1, 'c', 0, false)", round_id
    )
    for place, (sample, scored) in enumerate(zip(samples, scores, strict=True)):
        assert isinstance(scored, Score)
        await connection.execute(
            "insert into round_questions (round, question, place, category, language, turns, digest)"
            " values ($1, $2, $3, '', '', $4, '\\x00')",
            round_id,
            str(place),
            place,
            [sample.prompt],
        )
        await connection.execute(
            "insert into round_answers (id, round, question, contestant, stage, texts, score, revision, scored_at)"
            " values ($1, $2, $3, 'c', 'scored', $4, $5, $6, now())",
            uuid4(),
            round_id,
            str(place),
            [sample.answer],
            round(scored.value * 1_000_000),
            revision,
        )
    await connection.close()


async def test_a_drifted_engine_is_replaced_while_the_worker_runs(
    folder: Path, database: Database, database_url: str
) -> None:
    counters, samples = Counters(), some_samples(60)
    parts = await parts_of(folder, database, counters, UNFORGIVING)
    assert await parts.look() is None
    await parts.scorer.warm_up()
    revision = parts.scorer.revision
    assert "/int8/" in revision
    await keep(database_url, samples, await parts.scorer.score(samples), revision)

    evidence = await parts.look()
    assert evidence is not None
    assert evidence.decision.verdict is Verdict.ROLL_BACK
    assert len(evidence.rows) == 60
    assert parts.scorer.revision == "small/fp32"
    assert counters.forced == ["fp32"]
    assert await parts.look() is None
    await parts.scorer.close()

    # Another worker, started later, knows it from the ledger.
    later = await parts_of(folder, database, counters, UNFORGIVING)
    await later.scorer.warm_up()
    assert later.scorer.revision == "small/fp32"
    assert await PostgresDrift(database).restore("small") == 1
    await later.scorer.refresh()
    assert later.scorer.revision == revision
    await later.scorer.close()


async def test_a_faithful_engine_stays_and_the_full_one_leaves_memory(
    folder: Path, database: Database, database_url: str
) -> None:
    counters, samples = Counters(), some_samples(60)
    parts = await parts_of(folder, database, counters, LOOK_AT_ALL)
    await parts.scorer.warm_up()
    revision = parts.scorer.revision
    await keep(database_url, samples, await parts.scorer.score(samples), revision)
    evidence = await parts.look()
    assert evidence is not None
    assert evidence.decision.verdict is Verdict.PROMOTE
    assert evidence.noise is not None
    assert evidence.noise.error_mean < 1e-5
    assert evidence.found is not None
    assert evidence.found.error_mean > 1e-4
    assert parts.scorer.revision == revision
    assert await parts.look() is None
    await parts.scorer.close()


async def test_where_no_engine_is_faithful_the_full_one_scores(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nothing(_: object) -> None:
        """Choose none of the candidates."""

    monkeypatch.setattr("agon.engines.encoder.making.choose", nothing)
    folder = small_model(tmp_path / "model")
    parts = await parts_of(folder, database, Counters(), LOOK_AT_ALL)
    assert "runs at full precision" in caplog.text
    await parts.scorer.warm_up()
    assert parts.scorer.configured is not None
    assert parts.scorer.configured.precision is Precision.FP32
    assert await parts.look() is None
    await parts.scorer.close()


async def test_without_a_gpu_a_worker_that_wants_one_scores_nowhere_else(folder: Path, database: Database) -> None:
    parts = await reward_parts(folder.parent, database, Counters(), folder=folder, gpu=True)
    with pytest.raises(Unavailable) as refused:
        await parts.scorer.warm_up()
    assert refused.value.code == "provider_missing"
    assert not parts.scorer.ready
    await parts.scorer.close()
