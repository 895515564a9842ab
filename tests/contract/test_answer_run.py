"""One answer from claim to ledger, on the real ledger and bus, with engines that say what the test tells them."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.ledger import Ledger, ref

from agon.core.conversation import AnswerState, Conversation, Kind, Side
from agon.core.errors import EngineError, EngineTruncated, EngineUnreachable
from agon.core.events import Event, Follower, Packet, Settled, Void
from agon.core.generation import Finish, FinishReason, GenerationRequest, Piece
from agon.core.ports import Outcome
from agon.dispatch.answer import AnswerRun, SupersededError, Surroundings
from agon.dispatch.policy import Policy
from agon.stores.redis.bus import RedisBus

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


class Stage:
    """A conversation and what a watcher of side A makes of it."""

    def __init__(self, ledger: Ledger, bus: RedisBus, conversation: Conversation) -> None:
        self.ledger = ledger
        self.bus = bus
        self.conversation = conversation

    async def answering(self, engine: Engine, policy: Policy | None = None) -> AnswerRun:
        around = Surroundings(self.ledger.answers, self.bus, policy or POLICY, time.monotonic)
        work = await self.ledger.answers.load(ref(self.conversation, Side.A))
        return AnswerRun(work, engine, around)

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


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["Hello", " wor"], ["Hello", " world"]),
        (["Hello", " wor"], ["Hello", " again"]),
        (["Hello", " wor"], ["Good", "bye"]),
        (["Hello", " wor"], ["Hel"]),
        (["Hello", " wor"], ["Hello", " wor"]),
        ([], ["Hello"]),
    ],
)
async def test_a_second_attempt_takes_the_place_of_the_first(stage: Stage, first: list[str], second: list[str]) -> None:
    engine = Engine([*first, EngineTruncated("it broke")], second)
    outcome = await (await stage.answering(engine)).run()
    assert (outcome.state, outcome.attempt, outcome.text) == (AnswerState.DONE, 2, "".join(second))
    assert await stage.kept() == "".join(second)
    assert shown(await stage.told()) == "".join(second)
    assert engine.requests[0].messages == engine.requests[1].messages
    assert engine.requests[0].seed == engine.requests[1].seed
    assert engine.closed == 2


async def test_two_failures_are_the_end_and_void_the_battle(stage: Stage) -> None:
    error = EngineUnreachable("http://secret:1 cannot be reached")
    outcome = await (await stage.answering(Engine(["a", error], [error]))).run()
    assert outcome.state is AnswerState.FAILED
    events = await stage.told()
    found = await stage.ledger.conversations.find(stage.conversation.id)
    assert Void(str(found.void_reason)) in events
    assert isinstance(events[-1], Settled)
    assert "secret" not in repr(events)


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


async def test_the_deadline_ends_an_answer(stage: Stage) -> None:
    engine = Engine(["Hello", asyncio.Event()])
    outcome = await (await stage.answering(engine, replace(POLICY, battle_deadline_s=0.3))).run()
    assert (outcome.state, outcome.error) == (AnswerState.FAILED, "deadline")
    assert engine.closed == 1


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
