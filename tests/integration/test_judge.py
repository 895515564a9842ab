"""A round that a contestant judges: over the bus, by a real runner, from submitting to what is told of the judge."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
from tests.integration.stage import NAMES, Stage
from tests.integration.test_rounds import BANK, create, visitor
from tests.integration.voter import expect, expect_error
from tests.scoring.quantise.small import small_model

from agon.bootstrap.generation import asking
from agon.bootstrap.scorer_desk import measuring_agreement
from agon.bootstrap.scorers import ScorerBook
from agon.core.errors import InvalidInput, Unavailable
from agon.core.scoring import Sample, Score, Scorer
from agon.engines.encoder.scorer import RewardScorer, always
from agon.engines.encoder.session import Engines, ScoreEngine, load
from agon.rounds.pipeline import Pipeline, PipelineParts
from agon.scoring.drift import Precision
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_scoring import PostgresScoring
from agon.stores.redis.client import connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

JUDGE, OTHER = NAMES
SCORER = f"judge:{JUDGE}"
SAYS = [
    {"when": r"ANSWER A\nGood", "text": "A it is. [[A>>B]]"},
    {"when": r"ANSWER B\nGood", "text": "B it is. [[B>A]]"},
    {"when": r"Odd", "text": "I say [[A>B]], always."},
    {"text": "Who knows?"},
]
ANSWERS = {"anchor": ["Plain.", "Plain.", "Plain."], "other": ["Good.", "Odd.", "Dull."]}


class Quiet:
    """Boards and measures that nobody looks at."""

    async def publish(self, round_id: UUID) -> None:
        del round_id

    def scored(self, scorer: str, outcome: str, answers: int) -> None: ...

    def took(self, scorer: str, samples: int, seconds: float) -> None: ...


async def no_reward() -> Scorer:
    raise Unavailable("There is no reward model here.")


@asynccontextmanager
async def scorers(stage: Stage, database: Database) -> AsyncGenerator[ScorerBook]:
    async with asking(stage.settings, database) as parts:
        book = ScorerBook(stage.settings.scoring, asking=parts, reward=no_reward)
        try:
            yield book
        finally:
            await book.close()


@pytest_asyncio.fixture(loop_scope="session")
async def database(stage: Stage) -> AsyncGenerator[Database]:
    opened = Database(stage.settings.stores.database_url, max_connections=4)
    await opened.open()
    yield opened
    await opened.close()


async def score_all(database: Database, book: ScorerBook) -> None:
    ledger, quiet = PostgresScoring(database), Quiet()
    pipeline = Pipeline(PipelineParts(ledger, book, quiet, quiet, time.monotonic))
    while batches := await ledger.open_batches(in_flight=1, size=100, lease_s=30.0):
        for batch in batches:
            await pipeline.score(batch, last_try=False)
            await pipeline.merge(batch)
            await pipeline.board(batch)


async def submit(client: httpx.AsyncClient, made: dict[str, Any]) -> None:
    answers = [
        {"round_id": made["id"], "model": model, "question": question["id"] if isinstance(question["id"], str) else "3"}
        | ({"texts": [text, "More."]} if "turns" in question else {"text": text})
        for model, texts in ANSWERS.items()
        for question, text in zip(BANK, texts, strict=True)
    ]
    found = expect(await client.post("/arena/submit", json={"answers": answers}), 200)
    assert [one.get("error") for one in found["answers"]] == [None] * 6


async def test_a_round_is_judged_and_tells_of_its_judge(stage: Stage, database: Database) -> None:
    stage.script(JUDGE, says=SAYS)
    contestants = [{"name": name, "made_here": False} for name in ANSWERS]
    made = await create(stage, scorer=SCORER, contestants=contestants)
    assert made["anchor"] == "anchor"
    async with visitor(stage) as client, scorers(stage, database) as book:
        await submit(client, made)
        await score_all(database, book)
        by_question = {
            question: expect(await client.get(f"/arena/rounds/{made['id']}/answers?question={question}"), 200)[
                "answers"
            ]
            for question in ("sky", "haiku", "3")
        }
        told = expect(await client.get(f"/arena/rounds/{made['id']}/judge"), 200)
    found = {q: {one["contestant"]: one for one in answers} for q, answers in by_question.items()}
    assert {answers["anchor"]["score"] for answers in found.values()} == {0.5}
    good, odd, dull = (found[question]["other"] for question in ("sky", "haiku", "3"))
    assert (good["score"], good["detail"]["verdicts"]) == (0.75, ["A>>B", "B>A"])
    assert (odd["stage"], odd["error"], odd["detail"]["verdicts"]) == ("abstained", "orders_disagree", ["A>B", "A>B"])
    assert (dull["stage"], dull["error"], dull["detail"]["verdicts"]) == ("abstained", "unparseable", [None])
    assert (told["judge"], told["anchor"], told["answers"]) == (JUDGE, "anchor", 3)
    assert {name: told[name]["count"] for name in ("scored", "unparseable", "orders_disagree", "judge_abstained")} == {
        "scored": 1,
        "unparseable": 1,
        "orders_disagree": 1,
        "judge_abstained": 0,
    }
    assert (told["first_shown"]["count"], told["first_shown"]["of"]) == (3, 4)
    assert told["self_preference"] is None
    assert told["tokens"] > 500


async def test_rounds_without_a_judge_have_nothing_to_tell_of_one(stage: Stage) -> None:
    made = await create(stage)
    async with visitor(stage) as client:
        expect_error(await client.get(f"/arena/rounds/{made['id']}/judge"), 404, "no_judge")
        unknown = "00000000-0000-4000-8000-000000000000"
        expect_error(await client.get(f"/arena/rounds/{unknown}/judge"), 404, "round_not_found")


async def test_scorers_are_listed_with_how_far_they_agree_with_voters(stage: Stage, database: Database) -> None:
    async with stage.person() as person:
        battle = await person.answered("Name two rivers of this country.")
        expect(await person.vote(battle, "a"), 200)
    scoring = stage.settings.scoring.model_copy(update={"agreement_every_s": 0.05})
    settings = stage.settings.model_copy(update={"scoring": scoring})
    async with (
        visitor(stage) as client,
        scorers(stage, database) as book,
        measuring_agreement(settings, database, scorers=book, flight=None),
    ):
        until_s, listed = time.monotonic() + 10, {}
        while not listed.get("overlap") and time.monotonic() < until_s:
            found = expect(await client.get("/arena/scorers"), 200)["scorers"]
            listed = {one["name"]: one["agreement"] for one in found}
    assert {"reward", "format", "overlap"} <= set(listed)
    assert listed["overlap"]["pairs"] >= 1
    assert listed["overlap"]["decided"] + listed["overlap"]["unscored"] >= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+Z", listed["overlap"]["made_at"])
    assert listed["reward"] is None


async def test_a_scorer_is_made_once_however_many_want_it(stage: Stage, database: Database) -> None:
    stage.script(JUDGE, says=[{"text": "[[A=B]]"}])
    before = stage.engine.counters(NAMES[JUDGE]).started
    async with scorers(stage, database) as book:
        judge, *others = [await book.named(SCORER) for _ in range(5)]
        assert all(other is judge for other in others)
        # The one question is that of warming up.
        assert stage.engine.counters(NAMES[JUDGE]).started == before + 1
        (scored,) = await judge.score([Sample("?", "a", reference="b")])
        assert isinstance(scored, Score)
        assert scored.value == 0.5
        with pytest.raises(InvalidInput):
            await book.named("nobody")
        with pytest.raises(Unavailable):
            await book.named("judge:nobody")
        with pytest.raises(Unavailable):
            await book.named("reward")


async def test_the_reward_model_is_loaded_once_a_process(stage: Stage, database: Database, tmp_path: Path) -> None:
    folder, opened = small_model(tmp_path / "reward"), list[Path]()

    def opening(where: Path, precision: Precision) -> ScoreEngine:
        opened.append(where)
        return load(where, precision)

    async def reward() -> Scorer:
        return RewardScorer(Engines(opening), folder, Precision.FP32, in_force=always)

    samples = [Sample("Why is the sky blue?", text) for text in ("Because of scattering.", "No idea.")]
    async with asking(stage.settings, database) as parts:
        book = ScorerBook(stage.settings.scoring, asking=parts, reward=reward)
        found = await asyncio.gather(*(book.named("reward") for _ in range(8)))
        assert len({id(scorer) for scorer in found}) == 1
        scored = await asyncio.gather(*(scorer.score(samples) for scorer in found))
        assert opened == [folder]
        assert all(each == scored[0] for each in scored)
        assert [type(each) for each in scored[0]] == [Score, Score]
        await book.close()


async def test_one_who_gives_up_waiting_takes_the_scorer_from_nobody_else(stage: Stage, database: Database) -> None:
    async with scorers(stage, database) as book:
        impatient, patient = (asyncio.create_task(book.named("format")) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        assert (await patient).name == "format"
        assert await book.named("format") is patient.result()


async def test_a_scorer_that_nobody_knows_is_refused_when_a_round_asks_for_it(stage: Stage) -> None:
    async with stage.admin() as admin:
        for scorer in ("nobody", "judge:", ""):
            body = {"name": "r", "scorer": scorer, "contestants": [JUDGE], "questions": BANK}
            expect_error(await admin.post("/arena/rounds", json=body), 422, "scorer_unknown", "scorer")


async def test_redis_may_lose_what_was_measured(stage: Stage) -> None:
    stores = stage.settings.stores
    client: Any = connect(stores.redis_url)
    await client.delete(f"{stores.redis_prefix}:agreements")
    await client.aclose()
    async with visitor(stage) as person:
        listed = expect(await person.get("/arena/scorers"), 200)["scorers"]
    assert [one["agreement"] for one in listed] == [None] * len(listed)
