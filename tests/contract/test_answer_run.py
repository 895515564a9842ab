"""One answer from claim to ledger, on the real ledger and bus, with engines that say what the test tells them."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from tests.contract.ledger import Ledger, contestant, ref

from agon.core.conversation import AnswerState, Conversation, Kind, Side
from agon.core.errors import EngineError, EngineTruncated, EngineUnreachable
from agon.core.events import Event, Follower, Packet, Settled, Void, Waiting
from agon.core.generation import Finish, FinishReason, GenerationRequest, Piece
from agon.core.placement import AnswerRef
from agon.core.ports import Outcome
from agon.dispatch.answer import AnswerRun, MovedError, Surroundings
from agon.dispatch.endings import SupersededError
from agon.dispatch.policy import Policy
from agon.dispatch.pool import Member
from agon.stores.redis.bus import RedisBus
from agon.telemetry import RunnerMetrics

POLICY = Policy(battle_deadline_s=15.0, other_deadline_s=120.0)
Say = Sequence[str | EngineError | asyncio.Event]


class Engine:
    """Says the words of one attempt after the other; an event is waited for, an error is raised."""

    def __init__(self, *attempts: Say) -> None:
        self._attempts = list(attempts)
        self.requests: list[GenerationRequest] = []
        self.closed = 0

    async def warm_up(self) -> None:
        """Always ready."""

    async def close(self) -> None:
        """Holds nothing."""

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish]:
        self.requests.append(request)
        try:
            for word in self._attempts.pop(0):
                if isinstance(word, EngineError):
                    raise word
                if isinstance(word, asyncio.Event):
                    await word.wait()
                else:
                    yield Piece(word)
            yield Finish(FinishReason.STOP, prompt_tokens=3, completion_tokens=5)
        finally:
            self.closed += 1


class ColdEngine(Engine):
    """Never comes into memory."""

    @property
    def resident(self) -> bool:
        return False


class Meter:
    """Remembers how far each turn has come."""

    def __init__(self) -> None:
        self.spoken: list[AnswerRef] = []
        self.tokens = 0

    def spoke(self, ref: AnswerRef) -> None:
        self.spoken.append(ref)

    def wrote(self, ref: AnswerRef, tokens: int) -> None:
        assert ref in self.spoken
        self.tokens += tokens


class Stage:
    """A conversation and what a watcher of side A makes of it."""

    def __init__(self, ledger: Ledger, bus: RedisBus, conversation: Conversation) -> None:
        self.ledger = ledger
        self.bus = bus
        self.conversation = conversation
        self.meter = Meter()
        self.ref = ref(conversation, Side.A)

    def member(self, engine: Engine, *, prefill: bool = False) -> Member:
        return Member("north@here", replace(contestant("north"), prefill=prefill, max_concurrent=1), engine)

    async def answering(
        self, engine: Engine | Member, policy: Policy | None = None, *, prefill: bool = False
    ) -> AnswerRun:
        around = Surroundings(
            ledger=self.ledger.answers,
            bus=self.bus,
            policy=policy or POLICY,
            meter=self.meter,
            measures=RunnerMetrics(CollectorRegistry()),
            monotonic_s=time.monotonic,
        )
        work = await self.ledger.answers.load(self.ref)
        member = engine if isinstance(engine, Member) else self.member(engine, prefill=prefill)
        return AnswerRun(work, member, around)

    async def breaks(self, engine: Engine, *, prefill: bool = False, skipped: int = 0) -> None:
        """One attempt that fails, and the beginning of the next; some may begin and say nothing."""
        run = await self.answering(engine, prefill=prefill)
        with pytest.raises(EngineError):
            await run.run()
        for _ in range(1 + skipped):
            work = await self.ledger.answers.load(self.ref)
            assert await self.ledger.answers.retry(self.ref, work.attempt, failed=True) is not None

    async def told(self) -> list[Event]:
        """What the bus has of the conversation, up to the end of the side or the first quiet second."""
        events: list[Event] = []
        async with aclosing(self.bus.watch(self.conversation.id)) as watched:
            async for event in watched:
                if event is None:
                    return events
                events.append(event)
                if isinstance(event, Settled):
                    return events
        return events

    async def kept(self) -> str | None:
        return (await self.ledger.conversations.find(self.conversation.id)).last_turn.answers[Side.A].text


def shown(events: Sequence[Event]) -> str:
    """What a watcher of side A sees from the bus alone."""
    follower, text = Follower(), ""
    for event in events:
        for sent in follower.see(event):
            if isinstance(sent.event, Packet):
                text = text[: sent.event.offset] + sent.event.text
    assert not follower.missing
    return text


@pytest.fixture
async def stage(ledger: Ledger, bus: RedisBus) -> Stage:
    return Stage(ledger, bus, await ledger.begin())


async def test_an_answer_is_told_and_kept(stage: Stage) -> None:
    outcome = await (await stage.answering(Engine(["Hello", " world", "\x00!"]))).run()
    assert (outcome.state, outcome.finish_reason) == (AnswerState.DONE, "stop")
    assert (outcome.prompt_tokens, outcome.completion_tokens) == (3, 5)
    events = await stage.told()
    assert shown(events) == await stage.kept() == "Hello world\ufffd!"
    assert events[-1] == Settled(1, Side.A, 1, AnswerState.DONE, 13, "stop")


FIRST_AND_SECOND: list[tuple[list[str], list[str]]] = [
    (["Hello", " wor"], ["Hello", " world"]),
    (["Hello", " wor"], ["Hello", " again"]),
    (["Hello", " wor"], ["Good", "bye"]),
    (["Hello", " wor"], ["Hel"]),
    (["Hello", " wor"], ["Hello", " wor"]),
    ([], ["Hello"]),
]


@pytest.mark.parametrize("skipped", [0, 1])
@pytest.mark.parametrize(("first", "second"), FIRST_AND_SECOND)
async def test_a_second_attempt_takes_the_place_of_the_first(
    stage: Stage, first: list[str], second: list[str], skipped: int
) -> None:
    engine = Engine([*first, EngineTruncated("it broke")], second)
    await stage.breaks(engine, skipped=skipped)
    outcome = await (await stage.answering(engine)).run()
    assert (outcome.state, outcome.attempt, outcome.text) == (AnswerState.DONE, 2 + skipped, "".join(second))
    assert await stage.kept() == "".join(second)
    assert shown(await stage.told()) == "".join(second)
    assert engine.requests[0].messages == engine.requests[1].messages
    assert engine.requests[0].seed == engine.requests[1].seed
    assert engine.requests[1].said == ""
    assert engine.closed == 2


@pytest.mark.parametrize("skipped", [0, 1])
async def test_an_engine_that_can_goes_on_behind_what_was_said(stage: Stage, skipped: int) -> None:
    engine = Engine(["Hello, 🌊 wor", EngineTruncated("it broke")], ["ld", " again"])
    await stage.breaks(engine, prefill=True, skipped=skipped)
    outcome = await (await stage.answering(engine, prefill=True)).run()
    assert (outcome.state, outcome.text) == (AnswerState.DONE, "Hello, 🌊 world again")
    assert (outcome.completion_tokens, outcome.ttft_ms) == (None, None)
    assert shown(await stage.told()) == await stage.kept() == "Hello, 🌊 world again"
    assert [request.said for request in engine.requests] == ["", "Hello, 🌊 wor"]
    assert [request.sampling.max_tokens for request in engine.requests] == [100, 99]


async def test_an_answer_that_was_complete_but_for_its_end_asks_no_engine(stage: Stage) -> None:
    engine = Engine([*(f"{number} " for number in range(100)), EngineTruncated("it broke")])
    await stage.breaks(engine, prefill=True)
    outcome = await (await stage.answering(engine, prefill=True)).run()
    assert (outcome.state, outcome.finish_reason) == (AnswerState.DONE, "length")
    assert await stage.kept() == outcome.text == "".join(f"{number} " for number in range(100))
    assert len(engine.requests) == 1


async def test_nothing_is_continued_where_nothing_was_said(stage: Stage) -> None:
    engine = Engine([EngineUnreachable("gone")], ["Hello"])
    await stage.breaks(engine, prefill=True)
    outcome = await (await stage.answering(engine, prefill=True)).run()
    assert (outcome.text, engine.requests[1].said, outcome.completion_tokens) == ("Hello", "", 5)
    assert shown(await stage.told()) == "Hello"


async def test_a_failure_is_told_only_once_it_is_final(stage: Stage) -> None:
    error = EngineUnreachable("http://secret:1 cannot be reached")
    run = await stage.answering(Engine(["a", error]))
    with pytest.raises(EngineUnreachable):
        await run.run()
    assert (await stage.ledger.conversations.find(stage.conversation.id)).void_reason is None
    assert (await run.give_up(error)).state is AnswerState.FAILED
    events = await stage.told()
    found = await stage.ledger.conversations.find(stage.conversation.id)
    assert Void(str(found.void_reason)) in events
    assert isinstance(events[-1], Settled)
    assert "secret" not in repr(events)


async def test_the_first_token_and_all_tokens_are_noted(stage: Stage) -> None:
    await (await stage.answering(Engine(["Hello", " world", "!"]))).run()
    assert (stage.meter.spoken, stage.meter.tokens) == ([stage.ref], 3)


async def test_a_turn_without_a_place_can_be_stopped_and_moved(stage: Stage) -> None:
    engine = Engine(["Hello"])
    member = stage.member(engine)
    run = await stage.answering(member)
    async with member.place():
        running = asyncio.create_task(run.run())
        await asyncio.sleep(0.01)
        run.move()
        with pytest.raises(MovedError):
            await running
        again = await stage.answering(member)
        running = asyncio.create_task(again.run())
        await asyncio.sleep(0.01)
        again.stop()
        assert (await running).state is AnswerState.STOPPED
    assert (engine.requests, run.begun, member.waiting) == ([], False, 0)


async def test_a_turn_can_be_moved_while_it_is_written(stage: Stage) -> None:
    engine = Engine(["Hello", asyncio.Event()], ["Hello", " world"])
    run = await stage.answering(engine)
    running = asyncio.create_task(run.run())
    assert shown(await stage.told()) == "Hello"
    run.move()
    with pytest.raises(MovedError):
        await running
    assert engine.closed == 1
    assert await stage.ledger.answers.retry(stage.ref, 1, failed=False) == 2
    assert (await (await stage.answering(engine)).run()).text == "Hello world"
    assert shown(await stage.told()) == "Hello world"


async def test_stopping_closes_the_engine_and_keeps_the_text(stage: Stage) -> None:
    engine = Engine(["Hello", asyncio.Event(), " world"])
    run = await stage.answering(engine)
    running = asyncio.create_task(run.run())
    assert shown(await stage.told()) == "Hello"
    run.stop()
    outcome = await running
    assert (outcome.state, outcome.text, outcome.finish_reason) == (AnswerState.STOPPED, "Hello", "stopped")
    assert await stage.kept() == "Hello"
    assert engine.closed == 1


async def test_a_side_that_is_late_has_lost(stage: Stage) -> None:
    engine = Engine(["Hello", asyncio.Event()])
    outcome = await (await stage.answering(engine, replace(POLICY, battle_deadline_s=0.3))).run()
    assert (outcome.state, outcome.error, outcome.text) == (AnswerState.FORFEITED, "deadline", "Hello")
    assert engine.closed == 1
    found = await stage.ledger.conversations.find(stage.conversation.id)
    assert found.void_reason is None
    assert found.last_turn.answers[Side.A].state is AnswerState.FORFEITED
    assert (await stage.told())[-1] == Settled(1, Side.A, 1, AnswerState.FORFEITED, 5, None)


async def test_a_side_that_the_arena_kept_waiting_has_not_lost(stage: Stage) -> None:
    engine = Engine(["Hello"])
    member = stage.member(engine)
    async with member.place():
        outcome = await (await stage.answering(member, replace(POLICY, battle_deadline_s=0.3))).run()
    assert (outcome.state, outcome.error) == (AnswerState.FAILED, "deadline")
    assert (await stage.ledger.conversations.find(stage.conversation.id)).void_reason is not None
    assert engine.requests == []


async def test_a_model_that_must_be_loaded_says_so_and_does_not_lose_for_it(stage: Stage) -> None:
    engine = ColdEngine([asyncio.Event()])
    outcome = await (await stage.answering(engine, replace(POLICY, battle_deadline_s=0.4))).run()
    assert outcome.state is AnswerState.FAILED
    assert (await stage.told())[0] == Waiting(1, Side.A, "The model is being loaded.")


async def test_without_a_deadline_there_is_none(ledger: Ledger, bus: RedisBus) -> None:
    stage = Stage(ledger, bus, await ledger.begin(Kind.CHAT))
    outcome = await (await stage.answering(Engine(["Hi"]), replace(POLICY, other_deadline_s=0.0))).run()
    assert outcome.state is AnswerState.DONE


async def test_a_runner_that_was_replaced_tells_nothing_of_the_end(stage: Stage) -> None:
    gate = asyncio.Event()
    run = await stage.answering(Engine(["old", gate]))
    running = asyncio.create_task(run.run())
    where = ref(stage.conversation, Side.A)
    assert await stage.ledger.answers.retry(where, 1, failed=False) == 2
    gate.set()
    with pytest.raises(SupersededError):
        await running
    assert not any(isinstance(event, Settled) for event in await stage.told())
    assert await stage.kept() is None
    assert (await stage.ledger.answers.settle(Outcome(where, 2, AnswerState.DONE, "new", "stop"))).written


async def test_a_shutdown_leaves_the_answer_to_the_next_runner(stage: Stage) -> None:
    running = asyncio.create_task((await stage.answering(Engine(["Hello", asyncio.Event()]))).run())
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    answer = (await stage.ledger.conversations.find(stage.conversation.id)).last_turn.answers[Side.A]
    assert (answer.state, answer.attempt) == (AnswerState.PENDING, 1)


async def test_an_answer_is_kept_while_the_bus_is_away(ledger: Ledger, tmp_path: Path) -> None:
    away = RedisBus(f"unix://{tmp_path}/nobody.sock")
    try:
        stage = Stage(ledger, away, await ledger.begin())
        outcome = await (await stage.answering(Engine(["Hello", " world"]))).run()
        assert outcome.state is AnswerState.DONE
        assert await stage.kept() == "Hello world"
    finally:
        await away.close()
