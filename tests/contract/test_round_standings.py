"""What boards of rounds are made from: merged scores alone, and as often as they are lost."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from agon.core.errors import Unavailable
from agon.core.round_ports import QuestionScores, Total
from agon.rounds.boards import RoundBoard, RoundBoardReader
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_standings import PostgresStandings
from agon.stores.postgres.rounds import PostgresRounds
from agon.stores.redis.client import connect
from agon.stores.redis.rounds import RedisRoundBoards

ANSWER = (
    "insert into round_answers (id, round, question, contestant, stage, texts, score, merged)"
    " values ($1, $2, $3, $4, $5, '{text}', $6, $7)"
)


@pytest.fixture
async def a_round(database: Database) -> UUID:
    round_id = uuid4()
    async with database.transaction() as connection:
        await connection.execute(
            "insert into rounds (id, name, scorer, strict, seed, max_tokens) values ($1, 'r', 's', true, 0, 9)",
            round_id,
        )
        for place, (question, category) in enumerate([("late", "b"), ("early", "a"), ("bare", "a")]):
            await connection.execute(
                "insert into round_questions values ($1, $2, $3, $4, '', '{why}', ''::bytea)",
                round_id,
                question,
                place,
                category,
            )
        for place, name in enumerate(("x", "y")):
            await connection.execute("insert into round_contestants values ($1, $2, $3, true)", round_id, name, place)
    return round_id


async def _answer(
    database: Database, round_id: UUID, question: str, contestant: str, score: int | None, *, merged: bool
) -> None:
    stage = "answered" if score is None else "scored"
    async with database.transaction() as connection:
        await connection.execute(ANSWER, uuid4(), round_id, question, contestant, stage, score, merged)


async def test_scores_are_the_merged_ones_in_the_banks_order(database: Database, a_round: UUID) -> None:
    for question, contestant, score in (("early", "x", 3), ("late", "y", -2), ("late", "x", 0)):
        await _answer(database, a_round, question, contestant, score, merged=True)
    await _answer(database, a_round, "bare", "x", 5, merged=False)
    await _answer(database, a_round, "bare", "y", None, merged=False)
    assert await PostgresStandings(database).scores(a_round) == [
        QuestionScores("late", "b", {"y": -2, "x": 0}),
        QuestionScores("early", "a", {"x": 3}),
    ]


async def test_totals_and_how_many_are_merged(database: Database, a_round: UUID) -> None:
    source = PostgresStandings(database)
    assert await source.totals(a_round) == []
    assert a_round not in await source.scored_rounds()
    async with database.transaction() as connection:
        await connection.execute("insert into round_totals values ($1, 'y', 2, -7), ($1, 'x', 1, 4)", a_round)
    assert await source.totals(a_round) == [Total("x", 1, 4), Total("y", 2, -7)]
    assert (await source.scored_rounds())[a_round] == 3


async def test_a_lost_redis_gets_the_same_board_back(
    database: Database, redis_url: str, key_prefix: str, a_round: UUID
) -> None:
    for place, question in enumerate(("early", "late", "bare")):
        await _answer(database, a_round, question, "x", place * 1_000_000, merged=True)
    await _answer(database, a_round, "late", "y", 5_000_000, merged=True)
    async with database.transaction() as connection:
        await connection.execute(
            "insert into round_totals values ($1, 'x', 3, 3000000), ($1, 'y', 1, 5000000)", a_round
        )
    boards, ledger = RedisRoundBoards([redis_url], prefix=key_prefix), PostgresRounds(database)
    source = PostgresStandings(database)
    maker = RoundBoard(rounds=ledger, source=source, boards=boards, now=lambda: datetime.now(UTC))
    reader = RoundBoardReader(rounds=ledger, source=source, boards=boards, patience_s=0.2)
    await maker.publish(a_round)
    before, ranked = await reader.standings(a_round), await boards.ranked(a_round)
    assert list(ranked) == [("y", 5.0), ("x", 1.0)]
    assert before.merged == 4
    await _forget(redis_url, key_prefix)
    with pytest.raises(Unavailable):
        await reader.standings(a_round)
    await maker.rebuild()
    after = await reader.standings(a_round)
    assert replace(after, made_at=None) == replace(before, made_at=None)
    assert await boards.ranked(a_round) == ranked
    await boards.close()
    await ledger.close()


async def _forget(redis_url: str, key_prefix: str) -> None:
    client: Any = connect(redis_url)
    keys: list[str] = [key async for key in client.scan_iter(match=f"{key_prefix}*")]
    assert keys
    await client.delete(*keys)
    await client.aclose()
