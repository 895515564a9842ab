"""Runners and scripted servers on one ledger and one Redis, and a hand that asks as a gateway does."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from prometheus_client import CollectorRegistry
from tests.contract.ledger import Ledger, new, ref

from agon.core.contestants import Contestant, ContestantKind, EngineState
from agon.core.conversation import AnswerState, Conversation, Kind, Side
from agon.core.errors import Unavailable
from agon.core.events import Event, Follower, Packet, Settled
from agon.core.generation import Engine, GenerationRequest, Message, Sampling
from agon.core.placement import Admission, AnswerRef, Job
from agon.dispatch.costs import prefix_of, request_cost, turn_cost
from agon.dispatch.policy import Policy
from agon.dispatch.runner import BEAT_S, Runner, RunnerParts, RunnerSettings
from agon.engines.openai_http import OpenAiEngine
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_models import ScriptedModel
from agon.stores.redis.bus import RedisBus
from agon.stores.redis.dispatch import RedisDispatch
from agon.telemetry import RunnerMetrics

MODELS = ("north-model", "south-model")
POLICY = Policy(battle_deadline_s=15.0, other_deadline_s=120.0)


class Line(RedisDispatch):
    """A line to Redis that can be cut, so that a runner seems dead to all others."""

    is_cut = False

    async def _call(self, name: str, words: Sequence[Any]) -> Any:
        if self.is_cut:
            raise Unavailable("The line is cut.", code="bus_unavailable")
        return await super()._call(name, words)


class Cast:
    """`ContestantLedger` as far as a runner reads it."""

    def __init__(self, contestants: Sequence[Contestant]) -> None:
        self.present = list(contestants)

    async def contestants(self) -> Sequence[Contestant]:
        return self.present

    async def put_contestant(self, contestant: Contestant, *, replace: bool) -> None:
        raise AssertionError((contestant, replace))


@dataclass(slots=True)
class Hand:
    """A runner that is at work."""

    runner: Runner
    line: Line
    bus: RedisBus
    cast: Cast
    metrics: RunnerMetrics
    task: asyncio.Task[None]

    async def kill(self) -> None:
        """As `kill -9` would, as far as others can see."""
        self.line.is_cut = True
        await self.end()

    async def end(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


@dataclass(slots=True)
class Seen:
    """What one watcher has of a conversation's sides, by what the bus alone tells."""

    texts: dict[Side, str] = field(default_factory=dict[Side, str])
    ends: dict[Side, Settled] = field(default_factory=dict[Side, Settled])
    events: list[Event] = field(default_factory=list[Event])
    whole: bool = True
    """Whether nothing was missing that only the ledger could give."""


class Floor:
    def __init__(self, ledger: Ledger, redis_url: str, prefix: str) -> None:
        self.ledger = ledger
        self._url = redis_url
        self._prefix = prefix
        self.servers: list[ScriptedServer] = []
        self.hands: list[Hand] = []
        self.bus = RedisBus(redis_url, prefix=prefix)
        self.gate = RedisDispatch(
            redis_url, prefix=prefix, executor="gate", admission=Admission(arena_share=0, queue_s=0)
        )

    async def server(self, **script: object) -> ScriptedServer:
        server = ScriptedServer(MODELS, script=ScriptedModel().changed(script))
        await server.start()
        self.servers.append(server)
        return server

    def cast(self, *servers: ScriptedServer, prefill: bool = False, places: int = 16) -> list[Contestant]:
        urls = tuple(server.url for server in servers)
        return [
            Contestant(
                model.removesuffix("-model"),
                ContestantKind.OPENAI,
                model,
                urls=urls,
                prefill=prefill,
                max_concurrent=places,
            )
            for model in MODELS
        ]

    async def hand(
        self, name: str, contestants: Sequence[Contestant], *, policy: Policy = POLICY, drain_s: float = 5.0
    ) -> Hand:
        """A runner that is at work and whose replicas are ready."""
        line = Line(self._url, prefix=self._prefix, executor=name)
        bus = RedisBus(self._url, prefix=self._prefix)
        metrics, cast = RunnerMetrics(CollectorRegistry()), Cast(contestants)
        parts = RunnerParts(
            answers=self.ledger.answers,
            contestants=cast,
            bus=bus,
            dispatch=line,
            make_engine=_make_engine,
            measures=metrics,
            monotonic_s=time.monotonic,
            chance=random.random,
        )
        runner = Runner(RunnerSettings(name, policy, drain_s, _say_nothing), parts)
        hand = Hand(runner, line, bus, cast, metrics, asyncio.create_task(runner.run()))
        self.hands.append(hand)
        count = sum(len(each.urls) for each in contestants)
        await self.until(lambda: [member.state for member in runner.members] == count * [EngineState.READY])
        await self.until_served(contestants)
        await asyncio.sleep(BEAT_S)
        return hand

    async def until_served(self, contestants: Sequence[Contestant]) -> None:
        wanted = {f"{each.name}@{url}" for each in contestants for url in each.urls}
        async with asyncio.timeout(10):
            while not wanted <= {replica.id for replica in await self.gate.replicas()}:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def ask(self, kind: Kind = Kind.BATTLE) -> Conversation:
        asked = new(kind)
        started, _ = await self.ledger.conversations.start(asked)
        jobs = [
            Job(where, turn_cost(asked.turn.prompt, asked.turn.max_tokens), prefix_of(where))
            for where in (ref(started, side) for side in started.contestants)
        ]
        await self.gate.send(await self.gate.reserve(jobs))
        return started

    async def request(self, **extra: object) -> AnswerRef:
        """Ask north something that the ledger does not know."""
        where = AnswerRef(uuid4(), 1, Side.A, "north")
        asked = GenerationRequest((Message("user", "Why?"),), Sampling(100), 7, extra=extra)
        job = Job(where, request_cost(asked), request=asked)
        await self.gate.send(await self.gate.reserve([job]))
        return where

    async def events(self, where: AnswerRef) -> list[Event]:
        """What the stream of such a request holds, up to its end."""
        found: list[Event] = []
        async with asyncio.timeout(20), aclosing(self.bus.watch(where.conversation)) as watched:
            async for event in watched:
                if event is not None:
                    found.append(event)
                if isinstance(event, Settled):
                    break
        return found

    async def watch(self, conversation: Conversation) -> Seen:
        seen, follower = Seen(), Follower()
        async with asyncio.timeout(30), aclosing(self.bus.watch(conversation.id)) as events:
            async for event in events:
                for sent in [] if event is None else follower.see(event):
                    seen.events.append(sent.event)
                    if isinstance(sent.event, Packet):
                        side, text = sent.event.side, seen.texts.get(sent.event.side, "")
                        seen.texts[side] = text[: sent.event.offset] + sent.event.text
                    elif isinstance(sent.event, Settled):
                        seen.ends[sent.event.side] = sent.event
                if len(seen.ends) == len(conversation.contestants):
                    break
        seen.whole = not follower.missing
        return seen

    async def written(self, conversation: Conversation) -> Conversation:
        """The conversation once every side of it is over."""
        async with asyncio.timeout(30):
            while True:
                found = await self.ledger.conversations.find(conversation.id)
                answers = found.last_turn.answers.values()
                if all(answer.state is not AnswerState.PENDING for answer in answers):
                    # Once more: the conversation may have been read before the last answer's end was written.
                    return await self.ledger.conversations.find(conversation.id)
                await asyncio.sleep(0.05)

    async def stop(self, conversation: Conversation) -> None:
        await self.bus.stop([ref(conversation, side) for side in conversation.contestants])

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(15):
            while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
                await asyncio.sleep(0.01)

    async def counted(self) -> dict[str, tuple[int, int]]:
        """Turns and tokens that are counted on replicas, but for those that have none."""
        found = await self.gate.replicas()
        return {
            each.id: (each.turns, each.outstanding_tokens) for each in found if each.turns or each.outstanding_tokens
        }

    async def until_nothing_counts(self) -> None:
        async with asyncio.timeout(5):
            while await self.counted():  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        for hand in self.hands:
            await hand.end()
            await hand.bus.close()
            await hand.line.close()
        for server in self.servers:
            await server.stop()
        await self.bus.close()
        await self.gate.close()


def _say_nothing(subject: str, words: str) -> None:
    """Nobody listens."""


def _make_engine(contestant: Contestant, url: str | None, progress: Callable[[str], None]) -> Engine:
    del progress
    assert url is not None
    return OpenAiEngine(url, contestant.model)
