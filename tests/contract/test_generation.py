"""Answers that are to be made: taken on by one at a time, written once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from agon.core.round_ports import PendingAnswer
from agon.core.rounds import Question
from agon.stores.postgres.database import Database, Record
from agon.stores.postgres.round_generation import PostgresGeneration

KEY = b"k" * 32
LONG_S = 60.0


class Asked:
    """A round of five questions with two contestants whose names nobody else has."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ledger = PostgresGeneration(database)
        self.round = uuid4()
        self.x, self.y = f"x-{self.round}", f"y-{self.round}"

    async def write(self, questions: int = 5) -> None:
        async with self.database.transaction() as connection:
            await connection.execute("insert into rounds values ($1, 'r', 's', true, 7, 40)", self.round)
            for place in range(questions):
                await connection.execute(
                    "insert into round_questions values ($1, $2, $3, 'maths', 'en', '{why,and then}', ''::bytea)",
                    self.round,
                    f"q{place}",
                    place,
                )
            for place, name in enumerate((self.x, self.y)):
                await connection.execute(
                    "insert into round_contestants values ($1, $2, $3, true)", self.round, name, place
                )
            await connection.execute(
                "insert into round_answers (id, round, question, contestant, stage)"
                " select gen_random_uuid(), q.round, q.question, c.contestant, 'pending'"
                " from round_questions q join round_contestants c using (round) where q.round = $1"
                " order by q.place, c.place",
                self.round,
            )

    async def row(self, number: int) -> Record:
        async with self.database.transaction() as connection:
            found = await connection.fetchrow("select * from round_answers where number = $1", number)
        assert found is not None
        return found

    async def wanted(self) -> dict[str, int]:
        """How many may be taken on; the ledger names those contestants and no other of this round."""
        async with self.database.transaction() as connection:
            rows = await connection.fetch(
                "select contestant, count(*) from round_answers where round = $1 and stage = 'pending'"
                " and (leased_until is null or leased_until <= now()) group by contestant",
                self.round,
            )
        named = await self.ledger.wanted()
        assert len(named) == len(set(named))
        assert {name for name in named if name in (self.x, self.y)} == {row["contestant"] for row in rows}
        return {row["contestant"]: row["count"] for row in rows}

    async def claim_one(self) -> PendingAnswer:
        [pending] = await self.ledger.claim("one", {self.x: 1}, LONG_S)
        return pending


@pytest.fixture
async def asked(database: Database) -> AsyncIterator[Asked]:
    asked = Asked(database)
    await asked.write()
    yield asked
    # Tests share a database, and answers that nobody makes would be wanted for ever.
    async with database.transaction() as connection:
        await connection.execute("delete from round_answers where round = $1", asked.round)


async def test_an_answer_comes_with_all_that_it_is_made_from(asked: Asked) -> None:
    pending = await asked.claim_one()
    assert pending.question == Question("q0", ("why", "and then"), "maths", "en")
    assert (pending.round, pending.contestant, pending.seed, pending.max_tokens) == (asked.round, asked.x, 7, 40)
    assert pending.failures == 0


async def test_the_oldest_are_taken_first_and_no_more_than_fill_the_places(asked: Asked) -> None:
    claimed = await asked.ledger.claim("one", {asked.x: 2, asked.y: 1}, LONG_S)
    assert [(pending.contestant, pending.question.key) for pending in claimed] == [
        (asked.x, "q0"),
        (asked.y, "q0"),
        (asked.x, "q1"),
    ]
    # Whoever holds them, they fill their places.
    assert await asked.ledger.claim("two", {asked.x: 2}, LONG_S) == []
    [more] = await asked.ledger.claim("two", {asked.x: 3, asked.y: 0}, LONG_S)
    assert more.question.key == "q2"
    assert await asked.wanted() == {asked.x: 2, asked.y: 4}
    assert await asked.ledger.claim("two", {}, LONG_S) == []


async def test_two_who_claim_at_once_never_get_the_same_nor_too_many(asked: Asked) -> None:
    async def claim(holder: str) -> list[int]:
        numbers: list[int] = []
        for _ in range(4):
            numbers += [one.number for one in await asked.ledger.claim(holder, {asked.x: 4, asked.y: 5}, LONG_S)]
        return numbers

    both = await asyncio.gather(*(claim(holder) for holder in ("one", "two", "three")))
    numbers = Counter(number for each in both for number in each)
    assert set(numbers.values()) == {1}
    assert len(numbers) == 9
    assert await asked.wanted() == {asked.x: 1}


async def test_a_lease_that_is_over_lets_others_go_on(asked: Asked) -> None:
    [mine] = await asked.ledger.claim("one", {asked.x: 1}, 0.05)
    await asked.ledger.renew("one", [mine.number], 0.05)
    await asyncio.sleep(0.1)
    [theirs] = await asked.ledger.claim("two", {asked.x: 1}, LONG_S)
    assert theirs.number == mine.number
    # Of both, the ledger takes one.
    assert await asked.ledger.made(mine.number, ["late"], request_key=None)
    assert not await asked.ledger.made(theirs.number, ["later"], request_key=None)
    assert (await asked.row(mine.number))["texts"] == ["late"]


async def test_a_renewed_lease_keeps_others_off(asked: Asked) -> None:
    mine, forgotten = await asked.ledger.claim("one", {asked.x: 2}, 0.05)
    await asked.ledger.renew("one", [mine.number], LONG_S)
    await asked.ledger.renew("two", [forgotten.number], LONG_S)
    await asyncio.sleep(0.1)
    [theirs] = await asked.ledger.claim("two", {asked.x: 2}, LONG_S)
    assert theirs.number == forgotten.number


async def test_who_lets_go_holds_nothing(asked: Asked) -> None:
    await asked.ledger.claim("one", {asked.x: 5}, LONG_S)
    [other] = await asked.ledger.claim("two", {asked.y: 1}, LONG_S)
    await asked.ledger.let_go("one")
    assert len(await asked.ledger.claim("three", {asked.x: 5, asked.y: 5}, LONG_S)) == 9
    assert (await asked.row(other.number))["leased_by"] == "two"


async def test_what_is_put_back_rests_and_is_taken_on_again(asked: Asked) -> None:
    pending = await asked.claim_one()
    await asked.ledger.put_back(pending.number, 0.1)
    [next_one] = await asked.ledger.claim("one", {asked.x: 1}, 0.01)
    assert next_one.number != pending.number
    await asyncio.sleep(0.15)
    again = await asked.claim_one()
    assert (again.number, again.failures) == (pending.number, 0)


async def test_an_answer_is_written_once_with_its_key(asked: Asked) -> None:
    pending = await asked.claim_one()
    await asked.ledger.failed(pending.number, "engine_error: it broke", final=False)
    assert await asked.ledger.made(pending.number, ["because", "nul \0 and \ud800"], request_key=KEY)
    row = await asked.row(pending.number)
    assert (row["stage"], row["texts"], row["request_key"]) == ("answered", ["because", "nul \ufffd and \ufffd"], KEY)
    assert (row["failures"], row["error"], row["leased_by"], row["leased_until"]) == (0, None, None, None)
    assert row["answered_at"] is not None
    assert not await asked.ledger.made(pending.number, ["other"], request_key=KEY)
    await asked.ledger.failed(pending.number, "too late", final=True)
    assert (await asked.row(pending.number))["stage"] == "answered"


async def test_failures_are_counted_and_rest_longer_each_time(asked: Asked) -> None:
    pending = await asked.claim_one()
    rests: list[float] = []
    for _ in range(2):
        await asked.ledger.failed(pending.number, "engine_error: \0", final=False)
        async with asked.database.transaction() as connection:
            rests.append(
                await connection.fetchval(
                    "select extract(epoch from leased_until - now())::float from round_answers where number = $1",
                    pending.number,
                )
            )
    assert rests == [pytest.approx(1, abs=0.5), pytest.approx(4, abs=0.5)]
    row = await asked.row(pending.number)
    assert (row["stage"], row["failures"], row["error"]) == ("pending", 2, "engine_error: \ufffd")
    assert await asked.wanted() == {asked.x: 4, asked.y: 5}
    await asked.ledger.failed(pending.number, "it broke for good", final=True)
    row = await asked.row(pending.number)
    assert (row["stage"], row["failures"], row["error"]) == ("failed", 3, "it broke for good")
    assert (row["texts"], row["leased_until"]) == (None, None)


async def test_one_that_rests_fills_no_place(asked: Asked) -> None:
    pending = await asked.claim_one()
    await asked.ledger.failed(pending.number, "engine_error", final=False)
    [other] = await asked.ledger.claim("two", {asked.x: 1}, LONG_S)
    assert other.number != pending.number


async def test_claims_stay_quick_where_many_wait(asked: Asked) -> None:
    """There is an index that has them in their order, however few there are just now."""
    async with asked.database.transaction() as connection:
        await connection.execute("set local enable_seqscan = off")
        await connection.execute("set local enable_sort = off")
        plan: list[Record] = await connection.fetch(
            "explain select a.number from round_answers a where a.stage = 'pending' and a.contestant = 'x'"
            " and (a.leased_until is null or a.leased_until <= now()) order by a.number limit 4"
        )
    assert "round_answers_pending" in "\n".join(row[0] for row in plan)
