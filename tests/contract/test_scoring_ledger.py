"""The outbox of scoring: whatever is repeated, run twice at once or broken off, each score counts once."""

import asyncio
import inspect
import random
from collections.abc import AsyncIterator, Sequence
from uuid import UUID, uuid4

import asyncpg
import pytest

from agon.core.errors import Unavailable
from agon.core.round_ports import Backlog, ScoringLedger, ToScore, Verdict
from agon.core.rounds import AnswerStage, RoundAnswer, answer_id, to_units
from agon.core.scoring import Abstained, Poison, Sample, Score, Scored
from agon.stores.postgres.database import Database
from agon.stores.postgres.queries import sql
from agon.stores.postgres.round_scoring import PostgresScoring
from agon.stores.postgres.round_standings import PostgresStandings
from agon.stores.postgres.rounds import PostgresRounds

LONG_S = 60.0
KEY = b"k" * 32


class Scoring:
    """Rounds with answers of `x` and `y`, in a database of their own."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ledger: ScoringLedger = PostgresScoring(database)
        self.rounds = PostgresRounds(database)

    async def execute(self, statement: str, *arguments: object) -> None:
        async with self.database.transaction() as connection:
            await connection.execute(statement, *arguments)

    async def a_round(self, questions: int, *, anchor: str | None = None, answered: Sequence[str] = ("x", "y")) -> UUID:
        round_id = uuid4()
        await self.execute("insert into rounds values ($1, 'r', 'length', true, 0, 9, $2)", round_id, anchor)
        for place, name in enumerate(("x", "y")):
            await self.execute("insert into round_contestants values ($1, $2, $3, true)", round_id, name, place)
        for place in range(questions):
            await self.execute(
                "insert into round_questions values ($1, $2, $3, '', '', '{why,then}', ''::bytea)",
                round_id,
                f"q{place}",
                place,
            )
            for name in ("x", "y"):
                await self.execute(
                    "insert into round_answers (id, round, question, contestant, stage, texts, answered_at)"
                    " values ($1, $2, $3, $4, $5, $6, now())",
                    answer_id(round_id, name, f"q{place}"),
                    round_id,
                    f"q{place}",
                    name,
                    "answered" if name in answered else "pending",
                    [f"{name} one", f"{name} two"] if name in answered else None,
                )
        return round_id

    async def open(self, *, in_flight: int = 3, size: int = 100, lease_s: float = LONG_S) -> Sequence[UUID]:
        return await self.ledger.open_batches(in_flight=in_flight, size=size, lease_s=lease_s)

    async def judge(self, batch: UUID, scored: Scored | None = None, *, pause_s: float = 0.0) -> None:
        verdicts = [verdict(each, scored) for each in await self.ledger.load(batch)]
        await self.ledger.judged(batch, verdicts, max_failures=3, pause_s=pause_s)

    async def steps(self) -> Sequence[str]:
        async with self.database.transaction() as connection:
            return [row["step"] for row in await connection.fetch("select step from round_batches order by made_at")]

    async def answers(self, round_id: UUID) -> Sequence[RoundAnswer]:
        async with self.database.transaction() as connection:
            rows = await connection.fetch("select distinct question from round_answers where round = $1", round_id)
        found = [await self.rounds.answers(round_id, row["question"]) for row in rows]
        return [answer for answers in found for answer in answers]

    async def assert_counted(self, round_id: UUID) -> None:
        """Totals equal the recount, and both what the answers say by another way of reading them."""
        totals = await PostgresStandings(self.database).totals(round_id)
        assert {each.contestant: (each.scored, each.score) for each in totals} == await self.ledger.recount(round_id)
        scored = [answer for answer in await self.answers(round_id) if answer.stage is AnswerStage.SCORED]
        by_hand: dict[str, tuple[int, int]] = {}
        for answer in scored:
            count, total = by_hand.get(answer.contestant, (0, 0))
            assert answer.score is not None
            by_hand[answer.contestant] = (count + 1, total + to_units(answer.score))
        assert by_hand == await self.ledger.recount(round_id)


def verdict(of: ToScore, scored: Scored | None = None, *, key: bytes | None = None) -> Verdict:
    return Verdict(of.number, scored or Score(of.number / 7), "r1", key)


@pytest.fixture
async def scoring(database_url: str) -> AsyncIterator[Scoring]:
    database = Database(database_url)
    await database.open()
    yield Scoring(database)
    await database.close()


async def test_a_batch_goes_its_way(scoring: Scoring) -> None:
    round_id = await scoring.a_round(3)
    (batch,) = await scoring.open()
    assert [await scoring.ledger.begin(batch, LONG_S) for _ in range(2)] == [1, 2]
    loaded = await scoring.ledger.load(batch)
    assert [each.scorer for each in loaded] == ["length"] * 6
    assert loaded[0].sample == Sample("why\n\nthen", "x one\n\nx two", None, "x")
    assert await scoring.ledger.merge(batch) == ()
    await scoring.judge(batch, Score(0.25, {"why": "said"}))
    assert await scoring.steps() == ["merge"]
    assert await scoring.ledger.begin(batch, LONG_S) == 0
    assert await scoring.ledger.merge(batch) == [round_id]
    await scoring.assert_counted(round_id)
    assert await scoring.ledger.recount(round_id) == {"x": (3, 750_000), "y": (3, 750_000)}
    assert (await scoring.answers(round_id))[0].detail == {"why": "said"}
    assert await scoring.steps() == ["board"]
    await scoring.ledger.close_batch(batch)
    assert await scoring.steps() == []
    assert await scoring.open() == []


async def test_no_more_are_open_than_may_be_whoever_opens(scoring: Scoring) -> None:
    await scoring.a_round(10)
    opened = await asyncio.gather(*(scoring.open(size=4) for _ in range(5)))
    batches = [batch for each in opened for batch in each]
    loaded = [answer.number for batch in batches for answer in await scoring.ledger.load(batch)]
    assert len(batches) == 3
    assert len(loaded) == len(set(loaded)) == 12
    assert loaded == sorted(loaded)
    await scoring.judge(batches[1])
    await scoring.ledger.merge(batches[1])
    await scoring.ledger.close_batch(batches[1])
    (batch,) = await scoring.open(size=100)
    assert len(await scoring.ledger.load(batch)) == 8


async def test_each_step_repeated_by_two_at_once_counts_once(scoring: Scoring) -> None:
    round_id = await scoring.a_round(5)
    (batch,) = await scoring.open()
    loaded = await scoring.ledger.load(batch)
    verdicts = [verdict(each) for each in loaded]
    for work in (
        lambda: scoring.ledger.judged(batch, verdicts, max_failures=3, pause_s=0.0),
        lambda: scoring.ledger.merge(batch),
        lambda: scoring.ledger.close_batch(batch),
    ):
        await asyncio.gather(*(work() for _ in range(4)))
        await work()
    await scoring.assert_counted(round_id)
    assert sum(count for count, _ in (await scoring.ledger.recount(round_id)).values()) == 10
    assert await scoring.steps() == []


async def test_steps_that_come_too_early_do_nothing(scoring: Scoring) -> None:
    round_id = await scoring.a_round(2)
    (batch,) = await scoring.open()
    await scoring.ledger.close_batch(batch)
    assert await scoring.ledger.merge(batch) == ()
    first, *_ = await scoring.ledger.load(batch)
    await scoring.ledger.judged(batch, [verdict(first)], max_failures=3, pause_s=0.0)
    assert await scoring.ledger.merge(batch) == ()
    await scoring.ledger.close_batch(batch)
    assert await scoring.steps() == ["score"]
    await scoring.judge(batch)
    assert await scoring.ledger.merge(batch) == [round_id]
    await scoring.assert_counted(round_id)


async def test_a_slow_twin_is_not_heard_after_the_merge(scoring: Scoring) -> None:
    round_id = await scoring.a_round(2)
    (batch,) = await scoring.open()
    loaded = await scoring.ledger.load(batch)
    await scoring.judge(batch, Poison("it broke"))
    await scoring.ledger.merge(batch)
    await scoring.ledger.judged(batch, [verdict(each) for each in loaded], max_failures=3, pause_s=0.0)
    await scoring.ledger.close_batch(batch)
    assert await scoring.ledger.recount(round_id) == {}
    assert {answer.stage for answer in await scoring.answers(round_id)} == {AnswerStage.ANSWERED}


async def test_poison_comes_again_after_its_pause_and_is_parked_in_the_end(scoring: Scoring) -> None:
    round_id = await scoring.a_round(1)
    for failures in range(3):
        (batch,) = await scoring.open()
        assert [each.failures for each in await scoring.ledger.load(batch)] == [failures] * 2
        await scoring.judge(batch, Poison("bad \x00 \ud800"), pause_s=0.2)
        await scoring.ledger.merge(batch)
        await scoring.ledger.close_batch(batch)
        assert await scoring.open() == []
        await asyncio.sleep(0.21)
    assert await scoring.open() == []
    assert await scoring.ledger.backlog() == Backlog(waiting=0, oldest_s=0.0, parked=2, open_batches=0)
    parked = await scoring.rounds.troubled(round_id, limit=9)
    assert {(each.stage, each.error) for each in parked} == {(AnswerStage.PARKED, "bad \ufffd \ufffd")}
    assert await scoring.rounds.rerun(round_id) == 2
    (batch,) = await scoring.open()
    assert [each.failures for each in await scoring.ledger.load(batch)] == [0, 0]
    await scoring.judge(batch)
    await scoring.ledger.merge(batch)
    await scoring.assert_counted(round_id)
    assert {answer.error for answer in await scoring.answers(round_id)} == {None}


async def test_what_is_set_aside_comes_again_and_counts_no_failure(scoring: Scoring) -> None:
    round_id = await scoring.a_round(2)
    (batch,) = await scoring.open()
    loaded = await scoring.ledger.load(batch)
    numbers = [each.number for each in loaded]
    await scoring.ledger.judged(batch, [verdict(loaded[0])], max_failures=3, pause_s=0.0)
    await scoring.ledger.set_aside(batch, numbers, pause_s=0.1)
    await scoring.ledger.judged(batch, (), max_failures=3, pause_s=0.0)
    assert await scoring.ledger.merge(batch) == [round_id]
    await scoring.ledger.close_batch(batch)
    assert await scoring.open() == []
    await asyncio.sleep(0.11)
    (again,) = await scoring.open()
    assert [(each.number, each.failures) for each in await scoring.ledger.load(again)] == [(n, 0) for n in numbers[1:]]


async def test_abstaining_counts_neither_way(scoring: Scoring) -> None:
    round_id = await scoring.a_round(2)
    (batch,) = await scoring.open()
    await scoring.judge(batch, Abstained("unparseable", {"tail": "\x00"}))
    assert await scoring.ledger.merge(batch) == [round_id]
    await scoring.ledger.close_batch(batch)
    await scoring.assert_counted(round_id)
    answer, *_ = await scoring.answers(round_id)
    assert (answer.stage, answer.error, answer.detail) == (AnswerStage.ABSTAINED, "unparseable", {"tail": "\ufffd"})


async def test_a_comparison_waits_for_the_anchor(scoring: Scoring) -> None:
    round_id = await scoring.a_round(2, anchor="x", answered=("y",))
    assert await scoring.open() == []
    await scoring.execute(
        "update round_answers set stage = 'answered', texts = '{anchor}' where round = $1 and contestant = 'x'"
        " and question = 'q0'",
        round_id,
    )
    await scoring.execute(
        "update round_answers set stage = 'failed' where round = $1 and contestant = 'x' and question = 'q1'", round_id
    )
    (batch,) = await scoring.open()
    found = [(each.sample.contestant, each.sample.reference) for each in await scoring.ledger.load(batch)]
    assert found == [("x", "anchor"), ("y", "anchor"), ("y", None)]


async def test_an_overdue_batch_goes_to_one_who_asks(scoring: Scoring) -> None:
    await scoring.a_round(2)
    (batch,) = await scoring.open(lease_s=0.05)
    assert await scoring.ledger.overdue(LONG_S) == []
    await asyncio.sleep(0.06)
    found = await asyncio.gather(*(scoring.ledger.overdue(LONG_S) for _ in range(4)))
    assert [each for each in found if each] == [[(batch, "score")]]
    await scoring.ledger.renew(batch, 0.0)
    await scoring.judge(batch)
    assert await scoring.ledger.overdue(LONG_S) == [(batch, "merge")]


async def test_no_clock_but_the_ledgers_is_asked() -> None:
    """So it makes no difference what time a worker believes it is."""
    for name, method in inspect.getmembers(PostgresScoring, inspect.isfunction):
        kinds = {str(parameter.annotation) for parameter in inspect.signature(method).parameters.values()}
        assert not any("date" in kind for kind in kinds), name
    statements = [sql(name) for name in ("open_batches", "overdue_batches", "renew_batch", "write_verdicts")]
    assert all("now()" in statement and "timestamp" not in statement for statement in statements)


async def test_a_merge_that_breaks_off_leaves_nothing(scoring: Scoring, database_url: str) -> None:
    round_id = await scoring.a_round(4)
    (batch,) = await scoring.open()
    await scoring.judge(batch)
    await scoring.execute("insert into round_totals values ($1, 'y', 0, 0)", round_id)
    other = await asyncpg.connect(database_url)
    async with other.transaction():
        await other.execute("select * from round_totals where round = $1 for update", round_id)
        waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock'"
        merging = asyncio.create_task(scoring.ledger.merge(batch))
        while not (waits := await other.fetch(waiting)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await other.execute("select pg_terminate_backend($1)", waits[0]["pid"])
        with pytest.raises(Unavailable):
            await merging
    await other.close()
    assert await scoring.ledger.recount(round_id) == {}
    assert await scoring.ledger.merge(batch) == [round_id]
    await scoring.assert_counted(round_id)
    assert (await scoring.ledger.recount(round_id))["y"][0] == 4


async def test_any_order_of_any_steps_by_anyone_ends_in_the_same_sums(scoring: Scoring) -> None:
    rounds = [await scoring.a_round(12), await scoring.a_round(7)]
    draw = random.Random(4)
    known: set[UUID] = set()

    async def worker() -> None:
        for _ in range(60):
            known.update(await scoring.open(size=draw.randint(1, 9), lease_s=draw.choice([0.0, LONG_S])))
            known.update(batch for batch, _ in await scoring.ledger.overdue(0.0))
            if not known:
                return
            batch = draw.choice(sorted(known))
            loaded = await scoring.ledger.load(batch)
            part = draw.sample(loaded, draw.randint(0, len(loaded)))
            said = [verdict(each, None if draw.random() < 0.8 else Poison("no")) for each in part]
            await asyncio.sleep(draw.choice([0.0, 0.002]))
            await scoring.ledger.judged(batch, said, max_failures=3, pause_s=0.0)
            for step in draw.sample([scoring.ledger.merge, scoring.ledger.close_batch], draw.randint(0, 2)):
                await step(batch)

    await asyncio.gather(*(worker() for _ in range(3)))
    for _ in range(20):
        known.update(await scoring.open())
        for batch in known:
            await scoring.judge(batch)
            await scoring.ledger.merge(batch)
            await scoring.ledger.close_batch(batch)
    assert await scoring.steps() == []
    for round_id in rounds:
        await scoring.assert_counted(round_id)
        assert {answer.stage for answer in await scoring.answers(round_id)} <= {AnswerStage.SCORED, AnswerStage.PARKED}
    async with scoring.database.transaction() as connection:
        left = "select count(*) from round_answers where stage = 'answered' or stage = 'scored' and not merged"
        assert await connection.fetchval(left) == 0
