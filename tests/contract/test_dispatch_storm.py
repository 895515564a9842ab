"""`Dispatch` under crowds, cancellation and random order: what is counted is exactly what is held."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.contract import fleet as fleets
from tests.contract.fleet import Fleet, job, report, server_of

from agon.core.errors import Unavailable
from agon.core.placement import AnswerRef, Beat, Placement
from agon.stores.redis.client import connect
from agon.stores.redis.dispatch import RedisDispatch

SERVERS: tuple[str, ...] = ("one", "two", "three")
REPORTS = tuple(report(server) for server in SERVERS)


class Member:
    """An executor that keeps what it holds by heart and beats for it, as every executor does."""

    def __init__(self, dispatch: RedisDispatch, *, serves: bool) -> None:
        self.dispatch = dispatch
        self.held: dict[AnswerRef, Placement] = {}
        self.serves = serves

    async def beat(self) -> None:
        held = {ref: (each.replica, each.job.cost.prompt, each.job.cost.output) for ref, each in self.held.items()}
        await self.dispatch.beat(Beat(REPORTS if self.serves else (), held))

    async def pass_on(self, chance: random.Random) -> None:
        """A gateway's part."""
        placed = await self.dispatch.reserve([job(output=chance.randint(1, 900), prompt=chance.randint(0, 300))])
        self.held |= {each.job.ref: each for each in placed}
        try:
            await asyncio.sleep(chance.random() / 200)
            await self.dispatch.send(placed)
        finally:
            for each in placed:
                self.held.pop(each.job.ref)
            await self.dispatch.release([each.job.ref for each in placed])

    async def pass_through(self, chance: random.Random) -> None:
        """The part of a gateway that asks a server itself, and of a runner."""
        (placed,) = await self.dispatch.reserve([job(output=chance.randint(1, 900), prompt=chance.randint(0, 300))])
        await self.finish(placed, chance)

    async def finish(self, placed: Placement, chance: random.Random) -> None:
        self.held[placed.job.ref] = placed
        try:
            await asyncio.sleep(chance.random() / 200)
            await self.dispatch.speak([placed.job.ref])
            await asyncio.sleep(chance.random() / 200)
        finally:
            self.held.pop(placed.job.ref)
            await self.dispatch.release([placed.job.ref])

    async def run(self, chance: random.Random, done: asyncio.Event) -> None:
        """A runner's part."""
        running: set[asyncio.Task[None]] = set()
        while True:
            taken = await self.dispatch.take(0.05)
            if not taken and done.is_set():
                break
            running |= {asyncio.create_task(self.finish(each, chance)) for each in taken}
        await asyncio.gather(*running)


async def beat_all(members: Sequence[Member], pause_s: float) -> None:
    while True:
        await asyncio.sleep(pause_s)
        for member in members:
            await member.beat()


async def come_and_go(gateway: Member, chance: random.Random) -> None:
    """Some turns one after the other, of which some are given up."""
    for step in range(10):
        part = (gateway.pass_on, gateway.pass_through)[step % 2]
        task = asyncio.create_task(part(chance))
        if chance.random() < 0.3:
            await asyncio.sleep(chance.random() / 100)
            task.cancel()
        # After a loss nobody is known to be ready until the next beats.
        with suppress(asyncio.CancelledError, Unavailable):
            await task


async def lose_now_and_then(fleet: Fleet, losses: int) -> None:
    for _ in range(losses):
        await asyncio.sleep(0.1)
        await fleet.lose_everything()


@pytest.mark.parametrize("losses", [0, 4])
async def test_a_crowd_whose_members_give_up_at_any_moment_leaves_nothing(fleet: Fleet, losses: int) -> None:
    chance = random.Random(7)
    runners = [Member(fleet.executor(f"runner {number}"), serves=True) for number in range(3)]
    gateways = [Member(fleet.executor(f"gateway {number}"), serves=False) for number in range(3)]
    everybody = (*runners, *gateways)
    for member in everybody:
        await member.beat()
    done = asyncio.Event()
    running = [asyncio.create_task(runner.run(chance, done)) for runner in runners]
    beats = asyncio.create_task(beat_all(everybody, 0.02))
    async with asyncio.timeout(50):
        crowd = [come_and_go(gateways[number % 3], chance) for number in range(200)]
        await asyncio.gather(lose_now_and_then(fleet, losses), *crowd)
        done.set()
        await asyncio.gather(*running)
    beats.cancel()
    # Keys that are lost one by one tear counts apart; the absolute statements of a few beats mend them.
    for member in everybody * (6 if losses else 0):
        await member.beat()
    await fleet.assert_nothing_left()


async def test_one_who_gives_up_waiting_for_a_place_has_none(fleet: Fleet) -> None:
    await fleet.runner("runner", *REPORTS)
    gateway = fleet.executor("gateway")
    await gateway.reap()
    for ticks in range(6):
        asking = asyncio.create_task(gateway.reserve([job(), job()]))
        for _ in range(ticks):
            await asyncio.sleep(0)
        asking.cancel()
        with suppress(asyncio.CancelledError):
            placed = await asking
            await gateway.release([each.job.ref for each in placed])
        await gateway.unheld([job().ref])
        await fleet.assert_nothing_left()


@dataclass
class Model:
    """What ought to be counted, and where."""

    holder: dict[AnswerRef, str] = field(default_factory=dict[AnswerRef, str])
    queued: dict[str, list[AnswerRef]] = field(default_factory=dict[str, list[AnswerRef]])
    placed: dict[AnswerRef, Placement] = field(default_factory=dict[AnswerRef, Placement])
    left: dict[AnswerRef, tuple[int, int]] = field(default_factory=dict[AnswerRef, tuple[int, int]])

    def outstanding(self) -> dict[str, int]:
        sums = dict.fromkeys(SERVERS, 0)
        for ref, tokens in self.left.items():
            sums[server_of(self.placed[ref])] += sum(tokens)
        return sums

    def turns(self) -> dict[str, int]:
        sums = dict.fromkeys(SERVERS, 0)
        for ref in self.left:
            sums[server_of(self.placed[ref])] += 1
        return sums

    def waits(self) -> dict[str, float]:
        """What ranks servers of two places and one speed: the wait for one, how full they are, what is left."""
        tokens, turns = self.outstanding(), self.turns()
        share = {server: max(0, count - 1) / (count + 1) for server, count in turns.items()}
        return {server: tokens[server] * (share[server] + 0.02) + 5 * turns[server] for server in SERVERS}

    def drop(self, ref: AnswerRef) -> None:
        del self.holder[ref], self.left[ref]


Step = tuple[str, int, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("reserve", "reserve", "send", "take", "speak", "release", "beat", "die", "lose")),
        st.integers(0, 2),
        st.integers(0, 5),
        st.integers(1, 500),
    ),
    min_size=5,
    max_size=60,
)


class Play:
    """Plays the same steps on Redis and on the model."""

    names = ("runner 0", "runner 1", "gateway")

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.model = Model(queued={name: [] for name in self.names})
        self.members = {name: fleet.executor(name) for name in self.names}
        self.refs = [fleets.ref(conversation=UUID(int=number)) for number in range(6)]

    async def beat(self, name: str) -> None:
        model = self.model
        mine = [ref for ref, holder in model.holder.items() if holder == name and ref not in model.queued[name]]
        held = {ref: (model.placed[ref].replica, *model.left[ref]) for ref in mine}
        await self.members[name].beat(Beat(REPORTS if name.startswith("runner") else (), held))

    async def reserve(self, name: str, ref: AnswerRef, tokens: int) -> None:
        was = self.model.placed.get(ref) if ref in self.model.left else None
        before = self.model.waits()
        (placed,) = await self.members[name].reserve([job(of=ref, prompt=tokens // 3, output=tokens)])
        if was is None:
            assert before[server_of(placed)] == pytest.approx(min(before.values()))
        else:
            assert placed.replica == was.replica
        for queue in self.model.queued.values():
            if ref in queue:
                queue.remove(ref)
        self.model.placed[ref] = placed
        self.model.holder[ref] = name
        self.model.left[ref] = tokens // 3, tokens

    async def send(self, name: str, ref: AnswerRef, tokens: int) -> None:
        del tokens
        placed = self.model.placed.get(ref)
        if placed is None or placed.executor != name or self.model.holder.get(ref) != name:
            return
        loads = {each: sum(holder == each for holder in self.model.holder.values()) for each in self.names[:2]}
        await self.members[name].send([placed])
        loads[name] = loads.get(name, 0) - 1
        holders = {each: await self.holds(each, ref) for each in self.names[:2]}
        (chosen,) = (each for each, holds in holders.items() if holds)
        assert loads[chosen] == min(loads[each] for each in self.names[:2])
        for queue in self.model.queued.values():
            if ref in queue:
                queue.remove(ref)
        self.model.holder[ref] = chosen
        self.model.queued[chosen].append(ref)

    async def holds(self, name: str, ref: AnswerRef) -> bool:
        redis: Any = self.fleet.redis
        text = f"{ref.conversation}:{ref.turn}:{ref.side.value}:{ref.contestant}"
        return bool(await redis.hexists(f"{self.fleet.prefix}:holds:{name}", text))

    async def take(self, name: str, ref: AnswerRef, tokens: int) -> None:
        del ref, tokens
        taken = await self.members[name].take(0)
        assert [each.job.ref for each in taken] == self.model.queued[name]
        self.model.queued[name] = []
        self.model.placed |= {each.job.ref: each for each in taken}

    async def speak(self, name: str, ref: AnswerRef, tokens: int) -> None:
        del tokens
        await self.members[name].speak([ref])
        if self.model.holder.get(ref) == name:
            self.model.left[ref] = 0, self.model.left[ref][1]

    async def release(self, name: str, ref: AnswerRef, tokens: int) -> None:
        del tokens
        await self.members[name].release([ref])
        if self.model.holder.get(ref) == name:
            self.model.drop(ref)
            if ref in self.model.queued[name]:
                self.model.queued[name].remove(ref)

    async def die(self, name: str) -> None:
        """One falls silent, the others give out what it held."""
        await self.fleet.pass_s(1.6)
        others = [each for each in self.names if each != name]
        for other in others:
            await self.beat(other)
        theirs = {ref for ref, holder in self.model.holder.items() if holder == name}
        given = await self.members[others[0]].reap()
        assert {each.ref for each in given} == theirs
        assert await self.members[others[1]].reap() == []
        for ref in theirs:
            self.model.drop(ref)
        self.model.queued[name] = []
        await self.beat(name)

    async def lose(self) -> None:
        """Redis begins with nothing; what waited in inboxes is lost."""
        await self.fleet.lose_everything()
        for ref in [ref for queue in self.model.queued.values() for ref in queue]:
            self.model.drop(ref)
        self.model.queued = {name: [] for name in self.names}
        for _ in range(2):
            for name in self.names:
                await self.beat(name)

    async def step(self, kind: str, who: int, which: int, tokens: int) -> None:
        name, ref = self.names[who], self.refs[which]
        match kind:
            case "beat":
                await self.beat(name)
            case "die":
                await self.die(name)
            case "lose":
                await self.lose()
            case _:
                await getattr(self, kind)(name, ref, tokens)

    async def play(self, steps: list[Step]) -> None:
        for name in self.names:
            await self.beat(name)
        for step in steps:
            await self.step(*step)
            assert await self.fleet.outstanding() == self.model.outstanding(), step
            assert await self.fleet.turns() == self.model.turns(), step
        for ref, holder in list(self.model.holder.items()):
            await self.members[holder].release([ref])
        for name in self.names:
            await self.members[name].take(0)
        await self.fleet.assert_nothing_left()


plays = count(1)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_order_of_calls_counts_as_the_model_does(redis_url: str, key_prefix: str, steps: list[Step]) -> None:
    async def one() -> None:
        redis = connect(redis_url)
        fleet = Fleet(redis_url, f"{key_prefix}{next(plays)}", redis)
        try:
            await Play(fleet).play(steps)
        finally:
            for executor in fleet.members:
                await executor.close()
            await redis.aclose()

    run(one())


def run(work: Coroutine[object, object, None]) -> None:
    asyncio.run(work)
