"""The contract of `RoundLedger`."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.contract.conftest import complete

from agon.core.errors import AgonError, Conflict, NotFound, Unavailable
from agon.core.round_ports import RoundLedger, Submission, Submitted
from agon.core.rounds import AnswerStage, Question, Round, RoundContestant, answer_id, prompt_digest
from agon.stores.postgres.database import Database
from agon.stores.postgres.rounds import PostgresRounds

HERE = RoundContestant("here", made_here=True)
ELSEWHERE = RoundContestant("elsewhere", made_here=False)
BANK = (
    Question("q2", ("Why is the sky blue?",), "science", "en"),
    Question("q1", ('Say "hi" \\ {then}, NULL', "And\nbye"), "chat"),
    Question("q3", ("",)),
)


def new(*contestants: RoundContestant, strict: bool = True) -> Round:
    return Round(uuid4(), "Spring", "format", contestants, len(BANK), strict, 7, 64, "here")


def answer(to: Round, question: str = "q2", *texts: str, by: str = "elsewhere") -> Submission:
    return Submission(to.id, by, texts or ("Because.",), question)


@pytest.fixture(scope="module")
def rounds_url(postgres_url: str, migrated_template: str) -> str:
    """A database of these tests' own: what is pending here would be taken on by those that claim answers."""

    async def make() -> None:
        server = await asyncpg.connect(postgres_url)
        await server.execute(f"create database rounds template {migrated_template}")
        await server.close()

    complete(make())
    return postgres_url.replace("@/agon?", "@/rounds?")


@pytest.fixture
async def database(rounds_url: str) -> AsyncIterator[Database]:
    database = Database(rounds_url)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def rounds(database: Database) -> AsyncIterator[PostgresRounds]:
    rounds = PostgresRounds(database)
    yield rounds
    await rounds.close()


async def alter(database: Database, statement: str, *arguments: object) -> None:
    async with database.transaction() as connection:
        await connection.execute(statement, *arguments)


async def count(database: Database, round_id: UUID) -> int:
    async with database.transaction() as connection:
        return await connection.fetchval("select count(*) from round_answers where round = $1", round_id)


async def refusals(rounds: RoundLedger, *submissions: Submission) -> list[tuple[type[AgonError], str, str | None]]:
    results = await rounds.submit(submissions)
    return [(type(one), one.code, one.field) for one in results if isinstance(one, AgonError)]


def done(results: Sequence[Submitted | AgonError]) -> list[Submitted]:
    assert all(isinstance(one, Submitted) for one in results), results
    return [one for one in results if isinstance(one, Submitted)]


async def test_a_round_is_found_as_it_was_made(rounds: RoundLedger) -> None:
    made = await rounds.create(new(HERE, ELSEWHERE), BANK)
    assert made == replace(new(HERE, ELSEWHERE), id=made.id, created_at=made.created_at)
    assert made.created_at is not None
    assert await rounds.find(made.id) == made
    assert tuple(await rounds.questions(made.id)) == BANK
    assert tuple(await rounds.questions(made.id, skip=1, limit=1)) == BANK[1:2]
    assert [(one.contestant, dict(one.stages)) for one in await rounds.progress(made.id)] == [
        ("here", {AnswerStage.PENDING: 3}),
        ("elsewhere", {}),
    ]


async def test_pending_answers_have_the_ids_that_anyone_can_reckon(rounds: RoundLedger) -> None:
    made = await rounds.create(new(HERE), BANK)
    (pending,) = await rounds.answers(made.id, "q1")
    assert pending.id == answer_id(made.id, "here", "q1")
    assert (pending.stage, pending.contestant, pending.texts) == (AnswerStage.PENDING, "here", ())


async def test_the_same_again_is_the_same_round(rounds: RoundLedger, database: Database) -> None:
    asked = new(HERE)
    made = await rounds.create(asked, BANK)
    await rounds.add_contestant(made.id, ELSEWHERE)
    again = await asyncio.gather(*(rounds.create(asked, BANK) for _ in range(5)))
    assert {one.contestants for one in again} == {(HERE, ELSEWHERE)}
    assert await count(database, made.id) == 3


async def test_many_who_create_it_at_once_make_one_round(database: Database) -> None:
    asked = new(HERE)
    gateways = [PostgresRounds(database) for _ in range(6)]
    made = await asyncio.gather(*(gateway.create(asked, BANK) for gateway in gateways))
    assert len(set(made)) == 1
    assert await count(database, asked.id) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Autumn"},
        {"scorer": "reward"},
        {"strict": False},
        {"seed": 8},
        {"max_tokens": 65},
        {"anchor": None},
        {"contestants": (HERE, RoundContestant("third", made_here=False))},
        {"contestants": (replace(HERE, made_here=False),)},
    ],
)
async def test_another_round_of_the_same_id_is_refused(rounds: RoundLedger, change: dict[str, object]) -> None:
    asked = new(HERE)
    made = await rounds.create(asked, BANK)
    with pytest.raises(Conflict) as refused:
        await rounds.create(replace(asked, **change), BANK)  # pyright: ignore[reportArgumentType]
    assert (refused.value.code, refused.value.field) == ("round_exists", "id")
    assert await rounds.find(made.id) == made


@pytest.mark.parametrize("bank", [BANK[:2], BANK[::-1], (*BANK[:2], replace(BANK[2], category="x"))])
async def test_another_bank_is_another_round(rounds: RoundLedger, bank: Sequence[Question]) -> None:
    asked = new(HERE)
    await rounds.create(asked, BANK)
    with pytest.raises(Conflict):
        await rounds.create(asked, bank)


async def test_nothing_of_a_round_is_there_when_it_cannot_be_written_whole(database: Database) -> None:
    rounds = PostgresRounds(database)
    asked = new(HERE, HERE)
    twice = (*BANK, Question("q4", ("NUL \x00",)))
    with pytest.raises(Exception, match="invalid byte sequence"):
        await rounds.create(asked, twice)
    with pytest.raises(NotFound):
        await rounds.find(asked.id)
    assert await count(database, asked.id) == 0


async def test_rounds_are_listed_newest_first_in_pages(rounds: RoundLedger) -> None:
    made = [await rounds.create(new(HERE), BANK) for _ in range(5)]
    page = await rounds.latest(limit=2)
    rest = await rounds.latest(limit=3, before=page[-1].id)
    assert [*page, *rest] == made[::-1]
    assert await rounds.latest(limit=3, before=uuid4()) == []


async def test_rounds_of_one_moment_are_listed_once_each(rounds: RoundLedger, database: Database) -> None:
    made = {(await rounds.create(new(HERE), BANK)).id for _ in range(4)}
    await alter(database, "update rounds set created_at = now() where id = any($1)", list(made))
    first = await rounds.latest(limit=3)
    second = await rounds.latest(limit=1, before=first[-1].id)
    assert {one.id for one in (*first, *second)} == made


async def test_what_is_not_there_is_not_found(rounds: RoundLedger) -> None:
    nowhere = uuid4()
    for asking in (
        rounds.find(nowhere),
        rounds.questions(nowhere),
        rounds.add_contestant(nowhere, HERE),
        rounds.progress(nowhere),
        rounds.answers(nowhere, "q1"),
        rounds.troubled(nowhere, limit=3),
        rounds.rerun(nowhere),
    ):
        with pytest.raises(NotFound) as refused:
            await asking
        assert refused.value.code == "round_not_found"
    made = await rounds.create(new(), BANK)
    with pytest.raises(NotFound) as refused:
        await rounds.answers(made.id, "q9")
    assert refused.value.code == "question_unknown"
    assert await rounds.answers(made.id, "q1") == []
    assert await rounds.troubled(made.id, limit=3) == []
    assert await rounds.progress(made.id) == []


async def test_a_newcomer_is_asked_the_bank_once(rounds: RoundLedger, database: Database) -> None:
    made = await rounds.create(new(ELSEWHERE), BANK)
    changed = await asyncio.gather(*(rounds.add_contestant(made.id, HERE) for _ in range(4)))
    assert {one.contestants for one in changed} == {(ELSEWHERE, HERE)}
    assert await count(database, made.id) == 3
    with pytest.raises(Conflict) as refused:
        await rounds.add_contestant(made.id, replace(HERE, made_here=False))
    assert (refused.value.code, refused.value.field) == ("contestant_exists", "name")


async def test_a_submitted_answer_is_kept_and_its_contestant_added(rounds: RoundLedger) -> None:
    made = await rounds.create(new(HERE), BANK)
    texts = ('He said "{a,b}" \\ NULL', "", "日本\n\t🙂")
    (result,) = done(await rounds.submit([answer(made, "q1", *texts)]))
    assert result == Submitted(answer_id(made.id, "elsewhere", "q1"))
    _, kept = await rounds.answers(made.id, "q1")
    assert (kept.id, kept.texts, kept.stage) == (result.answer, texts, AnswerStage.ANSWERED)
    assert (await rounds.find(made.id)).contestants == (HERE, ELSEWHERE)


async def test_a_question_may_be_named_by_its_text(rounds: RoundLedger) -> None:
    made = await rounds.create(new(), BANK)
    (result,) = done(await rounds.submit([Submission(made.id, "e", ("x",), turns=BANK[1].turns)]))
    assert result.answer == answer_id(made.id, "e", "q1")
    (joined,) = await rounds.submit([Submission(made.id, "e", ("x",), turns=(BANK[1].prompt,))])
    assert isinstance(joined, NotFound)


async def test_the_same_answer_again_is_no_other_answer(rounds: RoundLedger, database: Database) -> None:
    made = await rounds.create(new(), BANK)
    once = answer(made)
    await rounds.submit([once])
    again, elsewhere, other = await rounds.submit([once, answer(made, "q3"), answer(made, "q2", "No.")])
    assert again == Submitted(answer_id(made.id, "elsewhere", "q2"), repeated=True)
    assert elsewhere == Submitted(answer_id(made.id, "elsewhere", "q3"))
    assert isinstance(other, Conflict)
    assert (other.code, other.field) == ("answer_exists", "text")
    assert await count(database, made.id) == 2


async def test_repeats_within_one_batch_are_told_apart(rounds: RoundLedger) -> None:
    made = await rounds.create(new(), BANK)
    results = await rounds.submit([answer(made), answer(made, "q2", "No."), answer(made), answer(made, "q3")])
    where = answer_id(made.id, "elsewhere", "q2")
    assert results[0] == Submitted(where)
    assert isinstance(results[1], Conflict)
    assert results[2] == Submitted(where, repeated=True)
    assert results[3] == Submitted(answer_id(made.id, "elsewhere", "q3"))


async def test_refusals_leave_the_rest_of_a_batch_alone(rounds: RoundLedger) -> None:
    made = await rounds.create(new(HERE), BANK)
    good, bad = answer(made), answer(new())
    by_text = Submission(made.id, "elsewhere", ("x",), turns=("What else?",))
    assert await refusals(rounds, bad, answer(made, "q9"), by_text, answer(made, by="here"), good) == [
        (NotFound, "round_not_found", "round_id"),
        (NotFound, "question_unknown", "question"),
        (NotFound, "question_unknown", "prompt"),
        (Conflict, "contestant_made_here", "model"),
    ]
    assert [one.contestant for one in await rounds.answers(made.id, "q2")] == ["here", "elsewhere"]


async def test_an_open_round_takes_new_questions_by_their_text(rounds: RoundLedger) -> None:
    made = await rounds.create(new(HERE, strict=False), BANK)
    turns = ("What else?", "And more?")
    results = await rounds.submit(
        [Submission(made.id, who, ("x", "y"), turns=turns) for who in ("e", "f")] + [answer(made, "q9")]
    )
    assert done(results[:2]) == [Submitted(answer_id(made.id, who, prompt_digest(turns).hex())) for who in ("e", "f")]
    assert isinstance(results[2], NotFound)
    assert tuple(await rounds.questions(made.id)) == (*BANK, Question(prompt_digest(turns).hex(), turns))
    assert (await rounds.find(made.id)).questions == 4
    # Whoever is made here is asked the bank alone, and the round is still the one that was asked for.
    assert (await rounds.progress(made.id))[0].stages == {AnswerStage.PENDING: 3}
    assert (await rounds.create(made, BANK)).questions == 4
    await rounds.add_contestant(made.id, RoundContestant("late", made_here=True))
    assert (await rounds.progress(made.id))[-1].stages == {AnswerStage.PENDING: 3}


async def test_gateways_that_race_keep_one_answer_and_add_one_contestant(database: Database) -> None:
    gateways = [PostgresRounds(database) for _ in range(5)]
    made = await gateways[0].create(new(strict=False), BANK)
    keys = [question.key for question in BANK]
    questions: list[Submission] = [answer(made, key, by=f"m{who}") for key in keys for who in range(8)]
    questions += [Submission(made.id, f"m{who}", ("x",), turns=(f"New {n}?",)) for n in range(5) for who in range(8)]
    batches = [gateways[n % 5].submit(questions[:: -1 if n % 2 else 1]) for n in range(10)]
    results = [done(one) for one in await asyncio.gather(*batches)]
    assert sum(not one.repeated for batch in results for one in batch) == len(questions)
    assert await count(database, made.id) == len(questions)
    contestants = (await gateways[0].find(made.id)).contestants
    assert sorted(one.name for one in contestants) == [f"m{who}" for who in range(8)]


async def test_who_is_added_to_be_made_here_may_not_submit_too(database: Database) -> None:
    gateways = [PostgresRounds(database) for _ in range(2)]
    for _ in range(8):
        made = await gateways[0].create(new(), BANK)
        added, submitted = await asyncio.gather(
            gateways[0].add_contestant(made.id, HERE),
            gateways[1].submit([answer(made, by="here")]),
            return_exceptions=True,
        )
        (progress,) = await gateways[0].progress(made.id)
        assert isinstance(submitted, list)
        if isinstance(added, Conflict):
            assert isinstance(submitted[0], Submitted)
            assert progress.stages == {AnswerStage.ANSWERED: 1}
        else:
            assert isinstance(submitted[0], Conflict)
            assert progress.stages == {AnswerStage.PENDING: 3}


async def test_trouble_is_listed_and_may_be_run_again(rounds: RoundLedger, database: Database) -> None:
    made = await rounds.create(new(HERE), BANK)
    await rounds.submit([answer(made), answer(made, "q1")])
    fail = "update round_answers set stage = 'failed', failures = 3, error = 'it broke' where id = $1"
    park = "update round_answers set stage = 'parked', failures = 3, error = 'poison', batch = $2 where id = $1"
    await alter(database, fail, answer_id(made.id, "here", "q3"))
    await alter(database, park, answer_id(made.id, "elsewhere", "q1"), uuid4())
    trouble = await rounds.troubled(made.id, limit=9)
    assert [(one.contestant, one.question, one.stage, one.error) for one in trouble] == [
        ("here", "q3", AnswerStage.FAILED, "it broke"),
        ("elsewhere", "q1", AnswerStage.PARKED, "poison"),
    ]
    assert await rounds.troubled(made.id, limit=1) == trouble[:1]
    assert sum(await asyncio.gather(rounds.rerun(made.id), rounds.rerun(made.id))) == 2
    assert await rounds.troubled(made.id, limit=9) == []
    assert [dict(one.stages) for one in await rounds.progress(made.id)] == [
        {AnswerStage.PENDING: 3},
        {AnswerStage.ANSWERED: 2},
    ]


async def test_scores_are_read_with_what_the_scorer_said(rounds: RoundLedger, database: Database) -> None:
    made = await rounds.create(new(), BANK)
    await rounds.submit([answer(made)])
    score = (
        "update round_answers set stage = 'scored', score = -1500000, detail = '{\"verdict\": \"A>B\"}' where id = $1"
    )
    await alter(database, score, answer_id(made.id, "elsewhere", "q2"))
    (scored,) = await rounds.answers(made.id, "q2")
    assert (scored.score, scored.detail, scored.stage) == (-1.5, {"verdict": "A>B"}, AnswerStage.SCORED)


async def test_a_submission_that_the_ledger_cannot_take_is_refused_alone(rounds: RoundLedger) -> None:
    made = await rounds.create(new(), BANK)
    with pytest.raises(Exception, match="invalid byte sequence"):
        await rounds.submit([answer(made, "q1", "NUL \x00"), answer(made)])
    assert len(await rounds.answers(made.id, "q2")) == 1


async def test_without_its_server_nothing_is_taken(tmp_path: object) -> None:
    rounds = PostgresRounds(Database(f"postgresql://agon@/agon?host={tmp_path}"))
    with pytest.raises(Unavailable):
        await rounds.find(uuid4())


async def kill_backends(url: str) -> None:
    """What a crash of the server is to those who are connected."""
    connection = await asyncpg.connect(url)
    words = (
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'rounds' and pid <> pg_backend_pid()"
    )
    await connection.execute(words)
    await connection.close()


@pytest.mark.slow
async def test_a_round_whose_making_breaks_off_is_not_there(rounds: RoundLedger, rounds_url: str) -> None:
    bank = [Question(f"q{n}", (f"{n}?",)) for n in range(20_000)]
    asked = replace(new(HERE), questions=len(bank))
    creating = asyncio.create_task(rounds.create(asked, bank))
    await asyncio.sleep(0.2)
    assert not creating.done()
    await kill_backends(rounds_url)
    with pytest.raises(Unavailable):
        await creating
    with pytest.raises(NotFound):
        await rounds.find(asked.id)
    # The same again makes it whole.
    assert (await rounds.create(asked, bank)).questions == len(bank)
    assert (await rounds.progress(asked.id))[0].stages == {AnswerStage.PENDING: len(bank)}


@pytest.mark.slow
async def test_answers_are_written_once_though_connections_break(
    rounds: PostgresRounds, rounds_url: str, database: Database
) -> None:
    bank = [Question(f"q{n}", (f"{n}?",)) for n in range(200)]
    made = await rounds.create(replace(new(), questions=200), bank)
    answers = [answer(made, f"q{n}", by=f"m{who}") for n in range(200) for who in range(10)]
    writing = asyncio.create_task(rounds.submit(answers))
    while not writing.done():
        await asyncio.sleep(0.05)
        await kill_backends(rounds_url)
        await asyncio.sleep(0.4)
    assert {one.answer for one in done(await writing)} == {
        answer_id(made.id, one.contestant, one.question) for one in answers
    }
    assert await count(database, made.id) == len(answers)


async def one_by_one_s(rounds: RoundLedger, made: Round) -> float:
    """Seconds for one answer with a commit of its own."""
    begun_s = time.monotonic()
    for question in range(50):
        done(await rounds.submit([answer(made, f"q{question}", by="alone")]))
    return (time.monotonic() - begun_s) / 50


@pytest.mark.slow
async def test_a_hundred_thousand_answers_are_asked_for_at_once(rounds: RoundLedger, database: Database) -> None:
    bank = [Question(f"q{n}", (f"What is {n} times {n}?",), "maths") for n in range(10_000)]
    contestants = tuple(RoundContestant(f"model-{n}", made_here=True) for n in range(10))
    asked = replace(new(*contestants), questions=len(bank))
    longest_s = 0.0
    creating = asyncio.create_task(rounds.create(asked, bank))
    begun_s = time.monotonic()
    while not creating.done():
        before_s = time.monotonic()
        await asyncio.sleep(0.005)
        longest_s = max(longest_s, time.monotonic() - before_s)
    made = await creating
    took_s = time.monotonic() - begun_s
    assert await count(database, asked.id) == 100_000
    assert took_s < 100_000 * await one_by_one_s(rounds, made) / 5
    # Others are served meanwhile.
    assert longest_s < took_s / 3


@pytest.mark.slow
async def test_those_who_submit_at_once_share_their_commits(rounds: RoundLedger, database: Database) -> None:
    bank = [Question(f"q{n}", (f"{n}?",)) for n in range(100)]
    made = await rounds.create(replace(new(), questions=100), bank)
    answers = [answer(made, f"q{n}", "word " * 50, by=f"m{who}") for who in range(50) for n in range(100)]
    waiting = asyncio.Semaphore(200)

    async def send(one: Submission) -> None:
        async with waiting:
            done(await rounds.submit([one]))

    begun_s = time.monotonic()
    await asyncio.gather(*map(send, answers))
    took_s = time.monotonic() - begun_s
    assert await count(database, made.id) == len(answers)
    assert took_s < len(answers) * await one_by_one_s(rounds, made) / 2
