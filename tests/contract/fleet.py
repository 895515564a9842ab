"""A fleet of executors on one Redis, with a clock of its own."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID, uuid4

from agon.core.contestants import EngineState
from agon.core.conversation import Side
from agon.core.placement import (
    Admission,
    AnswerRef,
    Balance,
    Beat,
    Cost,
    Job,
    Placement,
    ReplicaReport,
    ReplicaStatus,
    replica_id,
)
from agon.stores.redis.client import Client
from agon.stores.redis.dispatch import RedisDispatch

NOTHING_BOUND = Admission(arena_share=0, queue_s=0)


def ref(contestant: str = "north", *, conversation: UUID | None = None, side: Side = Side.A) -> AnswerRef:
    return AnswerRef(conversation or uuid4(), 1, side, contestant)


def job(
    contestant: str = "north",
    *,
    output: int = 100,
    prompt: int = 0,
    cached: int = 0,
    prefix: str | None = None,
    avoid: tuple[str, ...] = (),
    of: AnswerRef | None = None,
) -> Job:
    return Job(of or ref(contestant), Cost(prompt, output, cached), prefix, avoid)


def report(
    server: str,
    state: EngineState = EngineState.READY,
    *,
    contestant: str = "north",
    capacity: int = 2,
    tokens: int = 0,
    stream_s: float = 0.0,
    foreign: int = 0,
) -> ReplicaReport:
    return ReplicaReport(
        id=replica_id(contestant, server),
        contestant=contestant,
        state=state,
        url=f"http://{server}",
        capacity=capacity,
        tokens=tokens,
        stream_s=stream_s,
        foreign=foreign,
    )


class Fleet:
    """Makes executors, beats for them, and looks at what is counted. Nothing dies before `clock` says so."""

    def __init__(self, url: str, prefix: str, redis: Client) -> None:
        self.url = url
        self.prefix = prefix
        self.redis = redis
        self.now_s = 1_000.0
        self.members: list[RedisDispatch] = []

    def executor(
        self, name: str, *, admission: Admission | None = None, balance: Balance | None = None
    ) -> RedisDispatch:
        made = RedisDispatch(
            self.url,
            prefix=self.prefix,
            executor=name,
            admission=admission or NOTHING_BOUND,
            balance=balance,
            clock_s=lambda: self.now_s,
        )
        self.members.append(made)
        return made

    async def runner(self, name: str, *reports: ReplicaReport) -> RedisDispatch:
        made = self.executor(name)
        await made.beat(Beat(reports))
        return made

    async def pass_s(self, seconds: float) -> None:
        """Let so much time pass over those who say nothing. Somebody else lives on: where all are silent, none dies."""
        somebody = self.executor("somebody")
        for _ in range(4):
            self.now_s += seconds / 4
            await somebody.beat(Beat())

    async def status(self) -> Mapping[str, ReplicaStatus]:
        """By what follows the contestant's name in the id."""
        assert self.members
        return {replica.id.split("@")[1]: replica for replica in await self.members[0].replicas()}

    async def outstanding(self) -> Mapping[str, int]:
        return {server: replica.outstanding_tokens for server, replica in (await self.status()).items()}

    async def turns(self) -> Mapping[str, int]:
        return {server: replica.turns for server, replica in (await self.status()).items()}

    async def keys(self) -> set[str]:
        cut = len(self.prefix) + 1
        redis: Any = self.redis
        return {key[cut:] async for key in redis.scan_iter(match=f"{self.prefix}:*", count=1000)}

    async def lose_everything(self) -> None:
        for key in await self.keys():
            await self.redis.delete(f"{self.prefix}:{key}")

    async def assert_nothing_left(self) -> None:
        """No turn is counted anywhere, and no key of one remains."""
        for server, replica in (await self.status()).items():
            assert (replica.turns, replica.outstanding_tokens) == (0, 0), server
        kinds = {key.split(":")[0] for key in await self.keys()}
        assert not kinds & {"turn", "holds"}, kinds
        for key in await self.keys():
            if key.startswith("inbox:"):
                assert await self.redis.xlen(f"{self.prefix}:{key}") == 0
            if key.startswith("replica:"):
                fields: dict[str, str] = await cast("Any", self.redis).hgetall(f"{self.prefix}:{key}")
                assert not [field for field in fields if field[:2] in {"n:", "t:"}], fields


def held(*placements: Placement) -> dict[AnswerRef, tuple[str, int, int]]:
    """As an executor states what it has just got."""
    return {each.job.ref: (each.replica, each.job.cost.prompt, each.job.cost.output) for each in placements}


def server_of(placement: Placement) -> str:
    return placement.replica.split("@")[1]
