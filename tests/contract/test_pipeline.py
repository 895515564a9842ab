"""What the pipeline makes of scorers that are away, broken, slow or exchanged; on a real ledger, without jobs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest

from agon.core.errors import InvalidInput, Unavailable
from agon.core.rounds import AnswerStage, RoundAnswer, answer_id
from agon.core.scoring import Abstained, Poison, Sample, Score, Scored, Scorer
from agon.rounds import pipeline as module
from agon.rounds.flights import Make
from agon.rounds.pipeline import MAX_FAILURES, Pipeline, PipelineParts
from agon.rounds.pump import Pump, PumpSettings, rest_after
from agon.rounds.verdicts import score_key
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_scoring import PostgresScoring
from agon.stores.postgres.round_standings import PostgresStandings
from agon.stores.postgres.rounds import PostgresRounds


@dataclass(slots=True)
class Lengths:
    """A scorer: how long an answer is. Some words make it do something else."""

    name: str = "lengths"
    revision: str = "1"
    compares: bool = False
    cacheable: bool = True
    away: int = 0
    """So often it is away before it scores."""
    exchanged: bool = False
    """Whether another one has its place while it scores."""
    takes_s: float = 0.0
    costs_s: float = 0.0
    """By the clock that it moves itself."""
    now_s: float = 0.0
    asked: list[str] = field(default_factory=list[str])
    calls: list[int] = field(default_factory=list[int])

    async def warm_up(self) -> None: ...

    async def close(self) -> None: ...

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        await asyncio.sleep(self.takes_s)
        self.now_s += self.costs_s
        if self.away:
            self.away -= 1
            raise Unavailable("It is away.")
        self.asked += [sample.answer for sample in samples]
        self.calls.append(len(samples))
        if self.exchanged:
            self.revision += "+"
        return [_said(sample.answer) for sample in samples]


def _said(answer: str) -> Scored:
    match answer:
        case "broken":
            raise RuntimeError("it broke")
        case "infinite":
            return Score(float("inf"))
        case "no json":
            return Score(1.0, {"why": object()})
        case "silent":
            return Abstained("unparseable")
        case "poisoned":
            return Poison("it is bad")
        case _:
            return Score(float(len(answer)), {"said": answer})


@dataclass(slots=True)
class Book:
    """Scorers by name."""

    scorers: Mapping[str, Scorer]

    async def named(self, name: str) -> Scorer:
        if name not in self.scorers:
            raise InvalidInput(f"There is no scorer named {name!r}.")
        return self.scorers[name]


@dataclass(slots=True)
class Kept:
    """Known scores in a dictionary, with the same promise as the real one."""

    values: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    async def find_or_make(self, keys: Sequence[bytes], make: Make) -> Mapping[bytes, bytes]:
        absent = list(dict.fromkeys(key for key in keys if key not in self.values))
        if absent:
            self.values |= await make(absent)
        return {key: self.values[key] for key in keys if key in self.values}


@dataclass(slots=True)
class Heard:
    """Boards and measures: what they were told."""

    boards: list[UUID] = field(default_factory=list[UUID])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    batches: Counter[bool] = field(default_factory=Counter[bool])
    closed: int = 0

    async def publish(self, round_id: UUID) -> None:
        self.boards.append(round_id)

    def scored(self, scorer: str, outcome: str, answers: int) -> None:
        self.outcomes[outcome] += answers

    def took(self, scorer: str, samples: int, seconds: float) -> None: ...

    def sent(self, *, again: bool) -> None:
        self.batches[again] += 1

    def close(self) -> None:
        self.closed += 1


class Works:
    """A pipeline on a ledger of its own."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ledger = PostgresScoring(database)
        self.lengths = Lengths()
        self.kept = Kept()
        self.heard = Heard()
        self.pipeline = self.another()

    def another(self) -> Pipeline:
        """In a process that knows nothing of the first one."""
        return Pipeline(
            PipelineParts(
                ledger=self.ledger,
                scorers=Book({"lengths": self.lengths}),
                boards=self.heard,
                measures=self.heard,
                clock=lambda: self.lengths.now_s,
                flight=self.kept,
                closed=self.heard.close,
            )
        )

    async def answered(self, *texts: str, scorer: str = "lengths") -> UUID:
        round_id = uuid4()
        async with self.database.transaction() as connection:
            await connection.execute("insert into rounds values ($1, 'r', $2, true, 0, 9)", round_id, scorer)
            await connection.execute("insert into round_contestants values ($1, 'x', 0, false)", round_id)
            for place, text in enumerate(texts):
                key = f"q{place}"
                await connection.execute(
                    "insert into round_questions values ($1, $2, $3, '', '', '{why}', ''::bytea)", round_id, key, place
                )
                await connection.execute(
                    "insert into round_answers (id, round, question, contestant, stage, texts, answered_at)"
                    " values ($1, $2, $3, 'x', 'answered', $4, now())",
                    answer_id(round_id, "x", key),
                    round_id,
                    key,
                    [text],
                )
        return round_id

    async def a_batch(self) -> UUID:
        (batch,) = await self.ledger.open_batches(in_flight=1, size=100, lease_s=60.0)
        return batch

    async def go(self, batch: UUID) -> None:
        """All steps, as its jobs would take them."""
        for tried in range(3):
            try:
                await self.pipeline.score(batch, last_try=tried == 2)
                break
            except Unavailable:
                continue
        await self.pipeline.merge(batch)
        await self.pipeline.board(batch)

    async def answers(self, round_id: UUID) -> Mapping[str, RoundAnswer]:
        async with self.database.transaction() as connection:
            rows = await connection.fetch("select question from round_questions where round = $1", round_id)
        rounds = PostgresRounds(self.database)
        found = [(await rounds.answers(round_id, row["question"]))[0] for row in rows]
        return {answer.text: answer for answer in found}

    async def rest_is_over(self) -> None:
        async with self.database.transaction() as connection:
            await connection.execute("update round_answers set leased_until = null")


@pytest.fixture
async def works(database_url: str) -> AsyncIterator[Works]:
    database = Database(database_url)
    await database.open()
    yield Works(database)
    await database.close()


async def test_a_batch_of_several_scorers_and_rounds(works: Works) -> None:
    first = await works.answered("one", "three", "silent")
    second = await works.answered("seven")
    stranger = await works.answered("two", scorer="unheard of")
    await works.go(await works.a_batch())
    assert set(works.heard.boards) == {first, second, stranger}
    assert works.heard.closed == 1
    totals = await PostgresStandings(works.database).totals(first)
    assert [(each.scored, each.score) for each in totals] == [(2, 8_000_000)]
    found = await works.answers(first)
    assert found["three"].detail == {"said": "three"}
    assert (found["silent"].stage, found["silent"].error) == (AnswerStage.ABSTAINED, "unparseable")
    assert (await works.answers(stranger))["two"].error == "There is no scorer named 'unheard of'."
    assert works.heard.outcomes == {"scored": 3, "abstained": 1, "poison": 1}


async def test_poison_of_every_kind_is_parked_after_its_tries_and_alone(works: Works) -> None:
    bad = {
        "broken": "RuntimeError: it broke",
        "infinite": "The score is inf, which is not a finite number of at most 1e+06.",
        "no json": "What the scorer says beside the score is no JSON: TypeError: Object of type object is not JSON"
        " serializable",
        "poisoned": "it is bad",
    }
    round_id = await works.answered(*bad, "fine", "fine, too")
    for tried in range(1, MAX_FAILURES + 1):
        await works.go(await works.a_batch())
        found = await works.answers(round_id)
        stage = AnswerStage.PARKED if tried == MAX_FAILURES else AnswerStage.ANSWERED
        assert {text: (found[text].stage, found[text].error) for text in bad} == {
            text: (stage, error) for text, error in bad.items()
        }
        assert found["fine"].score == 4.0
        assert await works.ledger.open_batches(in_flight=1, size=100, lease_s=60.0) == [], "it rests"
        await works.rest_is_over()


async def test_what_is_known_is_not_scored_again(works: Works) -> None:
    await works.answered("one", "one", "three")
    await works.go(await works.a_batch())
    assert Counter(works.lengths.asked) == {"one": 1, "three": 1}
    round_id = await works.answered("one", "five", "three")
    await works.go(await works.a_batch())
    assert Counter(works.lengths.asked) == {"one": 1, "three": 1, "five": 1}
    found = await works.answers(round_id)
    assert found["three"].detail == {"said": "three"}
    assert found["one"].score == 3.0
    works.lengths.revision = "2"
    await works.answered("one")
    await works.go(await works.a_batch())
    assert works.lengths.asked.count("one") == 2


async def test_scores_of_an_exchanged_scorer_are_kept_for_nobody(works: Works) -> None:
    works.lengths.exchanged = True
    round_id = await works.answered("one")
    await works.go(await works.a_batch())
    assert (await works.answers(round_id))["one"].score == 3.0
    assert works.kept.values == {}
    async with works.database.transaction() as connection:
        assert await connection.fetchval("select score_key from round_answers where round = $1", round_id) is None


async def test_a_scorer_that_always_says_something_else_is_not_remembered(works: Works) -> None:
    works.lengths.cacheable = False
    await works.answered("one", "one")
    await works.go(await works.a_batch())
    assert works.lengths.asked == ["one", "one"]


async def test_a_scorer_that_comes_back_within_its_tries(works: Works) -> None:
    works.lengths.away = 2
    round_id = await works.answered("one")
    await works.go(await works.a_batch())
    assert (await works.answers(round_id))["one"].score == 3.0


async def test_a_scorer_that_stays_away_keeps_no_batch_open_and_counts_no_failure(works: Works) -> None:
    works.lengths.away = 3
    round_id = await works.answered("one", "three")
    await works.go(await works.a_batch())
    assert works.heard.closed == 1
    assert {answer.stage for answer in (await works.answers(round_id)).values()} == {AnswerStage.ANSWERED}
    assert await works.ledger.open_batches(in_flight=1, size=100, lease_s=60.0) == []
    await works.rest_is_over()
    batch = await works.a_batch()
    assert {each.failures for each in await works.ledger.load(batch)} == {0}
    await works.go(batch)
    assert (await works.answers(round_id))["three"].score == 5.0


async def test_a_slow_scorer_is_given_what_fits_and_the_rest_comes_later(works: Works) -> None:
    works.lengths.costs_s = 40.0
    round_id = await works.answered(*(f"text {number}" for number in range(20)))
    await works.go(await works.a_batch())
    assert works.lengths.calls == [8, 4], "in 40 s it has scored 8, so in 20 s it may score 4; after 60 s none is begun"
    left = [each for each in (await works.answers(round_id)).values() if each.stage is AnswerStage.ANSWERED]
    assert len(left) == 8
    works.lengths.costs_s = 1.0
    await works.go(await works.a_batch())
    assert works.lengths.calls == [8, 4, 2, 6], "4 of them in 40 s, so 2 in 20 s; then it is quicker"


async def test_a_scorer_that_hangs_fails(works: Works, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SCORE_S", 0.05)
    works.lengths.takes_s = 5.0
    round_id = await works.answered("one")
    await works.go(await works.a_batch())
    assert (await works.answers(round_id))["one"].error == "There was no score within 0.05 s."


async def test_what_ends_its_process_each_time_is_found_and_parked(works: Works) -> None:
    round_id = await works.answered("one", "three", "seven")
    batch = await works.a_batch()
    for _ in range(3):
        assert await works.ledger.begin(batch, 60.0)
    await works.go(batch)
    found = await works.answers(round_id)
    assert found["one"].stage is AnswerStage.PARKED
    assert found["three"].score == 5.0
    assert works.lengths.calls == [1, 1]


async def test_a_scorer_that_is_away_again_and_again_has_no_answer_parked(works: Works) -> None:
    works.lengths.away = 5
    round_id = await works.answered("one", "three")
    batch = await works.a_batch()
    for _ in range(5):
        with pytest.raises(Unavailable):
            await works.pipeline.score(batch, last_try=False)
    await works.go(batch)
    assert {answer.stage for answer in (await works.answers(round_id)).values()} == {AnswerStage.SCORED}
    assert works.lengths.calls == [2], "there is nobody to be careful of"


async def test_two_of_the_same_job_in_a_process_score_once(works: Works) -> None:
    works.lengths.takes_s = 0.05
    works.lengths.cacheable = False
    await works.answered("one", "three")
    batch = await works.a_batch()
    await asyncio.gather(*(works.pipeline.score(batch, last_try=False) for _ in range(3)))
    assert works.lengths.calls == [2]
    await works.go(batch)
    assert works.heard.closed == 1


async def test_two_processes_at_the_same_batch_count_once(works: Works) -> None:
    works.lengths.takes_s = 0.02
    round_id = await works.answered("one", "three")
    batch = await works.a_batch()
    other = works.another()
    await asyncio.gather(works.pipeline.score(batch, last_try=False), other.score(batch, last_try=False))
    await asyncio.gather(works.pipeline.merge(batch), other.merge(batch))
    await asyncio.gather(works.pipeline.board(batch), other.board(batch))
    assert await works.ledger.recount(round_id) == {"x": (2, 8_000_000)}
    totals = await PostgresStandings(works.database).totals(round_id)
    assert [(each.scored, each.score) for each in totals] == [(2, 8_000_000)]


async def test_a_held_batch_is_not_taken_up_by_others(works: Works, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEASE_S", 0.2)
    works.lengths.takes_s = 0.6
    await works.answered("one")
    batch = await works.a_batch()
    scoring = asyncio.create_task(works.pipeline.score(batch, last_try=False))
    await asyncio.sleep(0.5)
    assert await works.ledger.overdue(60.0) == []
    await scoring


@dataclass(slots=True)
class Jobs:
    """What the pump sends; it may be told to refuse."""

    sent: list[tuple[UUID, str]] = field(default_factory=list[tuple[UUID, str]])
    refuses: bool = False

    async def send(self, batch: UUID, step: str) -> None:
        if self.refuses:
            raise Unavailable("No jobs now.")
        self.sent.append((batch, step))


async def test_the_pump_sends_what_is_new_and_what_was_left(works: Works) -> None:
    await works.answered("one", "two", "three", "four")
    jobs = Jobs()
    pump = Pump(ledger=works.ledger, jobs=jobs, settings=PumpSettings(2, 1, 0.05), measures=works.heard)
    await pump.turn()
    assert [step for _, step in jobs.sent] == ["score", "score"]
    first, second = (batch for batch, _ in jobs.sent)
    await works.go(first)
    await works.pipeline.score(second, last_try=True)
    await works.ledger.renew(second, 0.0)
    await pump.turn()
    assert jobs.sent[2] == (second, "merge")
    assert jobs.sent[3][1] == "score"
    assert works.heard.batches == {False: 3, True: 1}


async def test_the_pump_finds_its_work_by_itself_and_at_once_when_stirred(works: Works) -> None:
    jobs = Jobs(refuses=True)
    pump = Pump(ledger=works.ledger, jobs=jobs, settings=PumpSettings(1, 9, 0.05), measures=works.heard)
    running = asyncio.create_task(pump.run())
    await works.answered("one")
    pump.stir()
    while not (await works.ledger.backlog()).open_batches:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    jobs.refuses = False
    while not jobs.sent:  # noqa: ASYNC110 - its lease runs out, and then it is sent
        await asyncio.sleep(0.01)
    running.cancel()


def test_looks_that_find_nothing_never_keep_the_ledger_busy() -> None:
    assert rest_after(0.001) == pytest.approx(0.02), "a quick look is repeated soon"
    assert rest_after(0.2) == pytest.approx(1.8)
    assert rest_after(60.0) == pytest.approx(5.0), "but work that came meanwhile does not wait for long"


async def test_the_pump_says_whether_it_found_anything(works: Works) -> None:
    pump = Pump(ledger=works.ledger, jobs=Jobs(), settings=PumpSettings(2, 9, 60.0), measures=works.heard)
    assert await pump.turn() == 0
    await works.answered("one")
    assert await pump.turn() == 1
    assert await pump.turn() == 0


def test_keys_tell_everything_apart_that_decides_a_score() -> None:
    sample = Sample("why", "because", "so", "x")
    others = [
        score_key(Sample("why?", "because", "so", "x"), "s", "1"),
        score_key(Sample("why", "because!", "so", "x"), "s", "1"),
        score_key(Sample("why", "because", None, "x"), "s", "1"),
        score_key(Sample("why", "because", "", "x"), "s", "1"),
        score_key(Sample("whybecause", "", "so", "x"), "s", "1"),
        score_key(sample, "t", "1"),
        score_key(sample, "s", "2"),
    ]
    key = score_key(sample, "s", "1")
    assert len({key, *others}) == 8
    assert len(key) == 32
    assert score_key(Sample("why", "because", "so", "y"), "s", "1") == key, "who wrote it makes no difference"
