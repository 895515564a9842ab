"""Answers of rounds, made by a real runner and a scripted engine, and what disturbs that."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry
from tests.integration.stage import NAMES, Stage

from agon.bootstrap.caches import answer_cache
from agon.bootstrap.generation import asking, generation
from agon.core.conversation import Side
from agon.core.errors import NotFound
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.placement import AnswerRef, Cost, Job
from agon.core.rounds import AnswerStage, Question, Round, RoundAnswer, RoundContestant
from agon.core.text import storable
from agon.engines.scripted_text import check_text, text_key
from agon.stores.postgres.database import Database
from agon.stores.postgres.rounds import PostgresRounds
from agon.stores.redis.client import connect
from agon.telemetry import CacheMetrics

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIRST, SECOND = NAMES
BANK = [
    Question("one", ("Name a colour.",)),
    Question("two", ("Name a river.", "And another?")),
    Question("three", ("Name a town.",)),
]
PATIENCE_S = 30.0


@dataclass(slots=True)
class Rounds:
    """Rounds of a stage, and workers that make their answers."""

    stage: Stage
    database: Database
    ledger: PostgresRounds
    made: list[UUID] = field(default_factory=list[UUID])

    async def ask(self, *contestants: str, seed: int | None = None, max_tokens: int = 40, bank: Any = BANK) -> UUID:
        new = Round(
            id=uuid4(),
            name="r",
            scorer="s",
            contestants=tuple(RoundContestant(name, made_here=True) for name in contestants),
            questions=len(bank),
            # A seed of its own, so that no answer is known from another test.
            seed=uuid4().int % 2**31 if seed is None else seed,
            max_tokens=max_tokens,
        )
        await self.ledger.create(new, bank)
        self.made.append(new.id)
        return new.id

    @asynccontextmanager
    async def worker(self, **changed: object) -> AsyncGenerator[list[float]]:
        """Makes answers; yields when answers came."""
        settings = self.stage.settings
        settings = settings.model_copy(update={"rounds": settings.rounds.model_copy(update=changed)})
        came: list[float] = []
        metrics = CacheMetrics(CollectorRegistry())
        async with AsyncExitStack() as stack:
            parts = await stack.enter_async_context(asking(settings, self.database))
            answers = await stack.enter_async_context(answer_cache(settings, self.database, metrics))
            await stack.enter_async_context(
                generation(
                    settings,
                    self.database,
                    asking=parts,
                    answers=answers,
                    came=lambda: came.append(time.monotonic()),
                )
            )
            yield came

    async def answers(self, round_id: UUID) -> dict[tuple[str, str], RoundAnswer]:
        found = [one for question in BANK for one in await self.ledger.answers(round_id, question.key)]
        return {(answer.contestant, answer.question): answer for answer in found}

    async def until_made(self, *rounds: UUID) -> None:
        await until(lambda: self.are_made(rounds))

    async def are_made(self, rounds: tuple[UUID, ...]) -> bool:
        progress = [one for each in rounds for one in await self.ledger.progress(each)]
        return not any(one.stages.get(AnswerStage.PENDING) for one in progress)

    async def forget(self) -> None:
        async with self.database.transaction() as connection:
            await connection.execute(
                "update round_answers set stage = 'failed', leased_by = null, leased_until = null"
                " where stage = 'pending'"
            )


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def empty_redis(stage: Stage) -> None:
    """All that this arena has there: others share the server."""
    client: Any = connect(stage.settings.stores.redis_url)
    keys = [key async for key in client.scan_iter(match=f"{stage.settings.stores.redis_prefix}:*", count=1000)]
    assert keys
    await client.delete(*keys)
    await client.aclose()


@pytest_asyncio.fixture(loop_scope="session")
async def rounds(stage: Stage) -> AsyncGenerator[Rounds]:
    database = Database(stage.settings.stores.database_url)
    await database.open()
    rounds = Rounds(stage, database, PostgresRounds(database))
    # Other tests of this arena have rounds, too, and no worker.
    await rounds.forget()
    yield rounds
    await rounds.forget()
    await rounds.ledger.close()
    await database.close()


def started(stage: Stage, name: str) -> int:
    return stage.engine.counters(NAMES[name]).started


async def test_every_answer_is_made_turn_by_turn(rounds: Rounds, stage: Stage) -> None:
    asked = await rounds.ask(FIRST, SECOND, seed=77)
    async with rounds.worker() as came:
        await rounds.until_made(asked)
    answers = await rounds.answers(asked)
    assert {answer.stage for answer in answers.values()} == {AnswerStage.ANSWERED}
    assert len(came) == len(answers) == 6
    first, second = answers[SECOND, "two"].texts
    dialogue = [Message("user", "Name a river."), Message("assistant", first), Message("user", "And another?")]
    assert check_text(first).key == text_key(NAMES[SECOND], dialogue[:1], 77)
    assert check_text(second).key == text_key(NAMES[SECOND], dialogue, 77)
    assert check_text(second).complete
    await stage.until_idle()


async def test_a_request_that_was_answered_is_not_made_again(rounds: Rounds, stage: Stage) -> None:
    seed = uuid4().int % 2**31
    first = await rounds.ask(FIRST, seed=seed)
    async with rounds.worker():
        await rounds.until_made(first)
        before = started(stage, FIRST)
        second = await rounds.ask(FIRST, seed=seed)
        await rounds.until_made(second)
    # Nor by another worker, after Redis was emptied: the ledger knows it.
    await empty_redis(stage)
    await stage.until_ready()
    third = await rounds.ask(FIRST, seed=seed)
    async with rounds.worker():
        await rounds.until_made(third)
    assert started(stage, FIRST) == before
    texts = [{key: one.texts for key, one in (await rounds.answers(each)).items()} for each in (first, second, third)]
    assert texts[0] == texts[1] == texts[2]


async def test_an_answer_that_was_cut_by_its_tokens_is_known_and_one_cut_otherwise_is_not(
    rounds: Rounds, stage: Stage
) -> None:
    for dialect, again in (({"finish_reason": "length"}, True), ({"finish_reason": "auto"}, False)):
        stage.script(FIRST, tokens=24, dialect=dialect)
        seed = uuid4().int % 2**31
        async with rounds.worker():
            await rounds.until_made(await rounds.ask(FIRST, seed=seed, max_tokens=24 if not again else 90))
            before = started(stage, FIRST)
            await rounds.until_made(await rounds.ask(FIRST, seed=seed, max_tokens=24 if not again else 90))
        assert (started(stage, FIRST) > before) is again


async def test_a_failure_that_passes_is_made_good(rounds: Rounds, stage: Stage) -> None:
    # Dispatch itself tries again; what it gives up is asked for anew after a moment.
    stage.script(FIRST, fail={"kind": "http_500", "times": 3})
    asked = await rounds.ask(FIRST, bank=BANK[:1])
    async with rounds.worker():
        await rounds.until_made(asked)
    [answer] = await rounds.ledger.answers(asked, "one")
    assert (answer.stage, answer.error) == (AnswerStage.ANSWERED, None)
    assert check_text(answer.text).complete


@pytest.mark.slow
async def test_the_third_failure_ends_an_answer_and_holds_up_no_other(rounds: Rounds, stage: Stage) -> None:
    # Its engine is in order, and has nothing to say.
    stage.script(FIRST, fail={"kind": "empty"})
    asked = await rounds.ask(FIRST, SECOND)
    async with rounds.worker() as came:
        await rounds.until_made(asked)
    answers = await rounds.answers(asked)
    assert {answers[FIRST, question.key].stage for question in BANK} == {AnswerStage.FAILED}
    assert {answers[SECOND, question.key].stage for question in BANK} == {AnswerStage.ANSWERED}
    assert (answers[FIRST, "one"].error or "").startswith("engine_empty: ")
    assert answers[FIRST, "one"].texts == ()
    assert len(came) == 3
    troubled = await rounds.ledger.troubled(asked, limit=10)
    assert len(troubled) == 3
    # Once the engine is mended they are made after all.
    await stage.reset()
    assert await rounds.ledger.rerun(asked) == 3
    async with rounds.worker():
        await rounds.until_made(asked)
    assert {one.stage for one in (await rounds.answers(asked)).values()} == {AnswerStage.ANSWERED}


async def test_answers_of_an_engine_that_is_down_wait_for_it(rounds: Rounds, stage: Stage) -> None:
    stage.script(FIRST, fail={"kind": "disconnect", "at_token": 3})
    asked = await rounds.ask(FIRST)
    async with rounds.worker():
        await until(lambda: _is_down(stage))
        await stage.reset()
        await rounds.until_made(asked)
    answers = (await rounds.answers(asked)).values()
    assert {answer.stage for answer in answers} == {AnswerStage.ANSWERED}


async def _is_down(stage: Stage) -> bool:
    return (await stage.contestants())[FIRST]["engine"] in {"failed", "ejected"}


async def test_answers_of_a_contestant_that_is_gone_fail_at_once(rounds: Rounds) -> None:
    asked = await rounds.ask("Nobody's Model")
    async with rounds.worker():
        await rounds.until_made(asked)
    answers = (await rounds.answers(asked)).values()
    assert {answer.stage for answer in answers} == {AnswerStage.FAILED}
    assert all("contestant_not_found" in (answer.error or "") for answer in answers)


async def test_who_is_stopped_lets_go_and_others_go_on_at_once(rounds: Rounds, stage: Stage) -> None:
    stage.script(tokens=400, rate_tokens_per_s=40)
    asked = await rounds.ask(FIRST, max_tokens=500)
    async with rounds.worker(lease_s=60.0):
        await until(lambda: _holds(stage.engine.counters(NAMES[FIRST]).active > 0))
    # The engine is told, too.
    await stage.until_idle()
    stage.script(tokens=24, rate_tokens_per_s=0)
    async with rounds.worker(lease_s=60.0):
        await rounds.until_made(asked)
    assert {one.stage for one in (await rounds.answers(asked)).values()} == {AnswerStage.ANSWERED}


async def _holds(holds: bool) -> bool:
    return holds


async def test_rounds_take_their_share_and_no_more(rounds: Rounds, stage: Stage) -> None:
    bank = [Question(f"q{number}", (f"Say {number}.",)) for number in range(12)]
    stage.script(FIRST, tokens=30, rate_tokens_per_s=60)
    asked = await rounds.ask(FIRST, bank=bank)
    most = 0
    async with rounds.worker(share=0.25), rounds.worker(share=0.25):
        while not await rounds.are_made((asked,)):
            most = max(most, stage.engine.counters(NAMES[FIRST]).active)
            await asyncio.sleep(0.02)
    # Of 16 places, over two workers.
    assert most == 4
    [progress] = await rounds.ledger.progress(asked)
    assert progress.stages == {AnswerStage.ANSWERED: 12}


@pytest.mark.slow
async def test_an_emptied_redis_loses_no_answer(rounds: Rounds, stage: Stage) -> None:
    stage.script(tokens=60, rate_tokens_per_s=30)
    asked = await rounds.ask(FIRST, SECOND, max_tokens=80)
    async with rounds.worker():
        await until(lambda: _holds(stage.engine.counters(NAMES[FIRST]).active > 0))
        await asyncio.sleep(0.3)
        await empty_redis(stage)
        await rounds.until_made(asked)
    answers = (await rounds.answers(asked)).values()
    assert {answer.stage for answer in answers} == {AnswerStage.ANSWERED}
    assert all(check_text(storable(text)).complete for answer in answers for text in answer.texts)


async def test_asking_one_that_is_not_there_is_refused(stage: Stage, rounds: Rounds) -> None:
    request = GenerationRequest((Message("user", "Hello?"),), Sampling(8), seed=1)
    async with asking(stage.settings, rounds.database) as parts:
        with pytest.raises(NotFound) as refusal:
            await parts.asks.ask("nobody", request)
    assert refusal.value.code == "contestant_not_found"


async def test_an_answer_tells_why_it_ended_and_what_it_took(stage: Stage, rounds: Rounds) -> None:
    request = GenerationRequest((Message("user", "Hello?"),), Sampling(8), seed=1)
    async with asking(stage.settings, rounds.database) as parts:
        reply = await parts.asks.ask(FIRST, request)
    assert (reply.finish_reason, reply.completion_tokens) == ("length", 8)
    assert check_text(reply.text).key == text_key(NAMES[FIRST], request.messages, 1)


async def test_while_people_have_every_place_rounds_wait(stage: Stage, rounds: Rounds) -> None:
    request = GenerationRequest((Message("user", "Hello?"),), Sampling(8), seed=1)
    jobs = [Job(AnswerRef(uuid4(), 1, Side.A, FIRST), Cost(9, 9)) for _ in range(16)]
    before = started(stage, FIRST)
    async with stage.dispatch() as dispatch, asking(stage.settings, rounds.database) as parts:
        await dispatch.reserve(jobs)
        # It has been read how things are by then.
        waiting = asyncio.create_task(parts.asks.ask(FIRST, request))
        await asyncio.sleep(0.8)
        assert started(stage, FIRST) == before
        await dispatch.release([jobs[0].ref])
        assert (await waiting).completion_tokens == 8
        await dispatch.release([job.ref for job in jobs[1:]])
