"""A gateway leaves nothing counted that it does not send, whatever happens on the way."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

import pytest

from agon.arena.executor import Executor
from agon.bootstrap.executor import executing
from agon.core.contestants import EngineState
from agon.core.conversation import Side
from agon.core.placement import Admission, AnswerRef, Beat, Cost, Job, ReplicaReport
from agon.dispatch.clearing import Clearing
from agon.stores.redis.dispatch import RedisDispatch

MODEL = "north"
REPLICA = f"{MODEL}@runner"


@dataclass(frozen=True, slots=True)
class Fleet:
    """One gateway, and one runner that is ready."""

    gateway: Executor
    clearing: Clearing
    runner: RedisDispatch

    async def counted(self) -> tuple[int, int]:
        [replica] = await self.runner.replicas()
        return replica.turns, replica.outstanding_tokens

    async def until(self, counted: tuple[int, int]) -> None:
        async with asyncio.timeout(5):
            while await self.counted() != counted:
                await self.beat()
                await asyncio.sleep(0.02)

    async def beat(self) -> None:
        await self.runner.beat(Beat((ReplicaReport(REPLICA, MODEL, EngineState.READY, capacity=8),)))


@asynccontextmanager
async def fleet(url: str, prefix: str) -> AsyncGenerator[Fleet]:
    off = Admission(arena_share=0.0, queue_s=0.0)
    runner = RedisDispatch(url, prefix=prefix, executor="runner", admission=off)
    dispatch = RedisDispatch(url, prefix=prefix, executor="gateway", admission=off)
    clearing = Clearing(dispatch, time.monotonic)
    running = Fleet(Executor(dispatch, clearing), clearing, runner)
    await running.beat()
    async with executing(dispatch, clearing, tuple):
        yield running
        await running.gateway.close()
    await dispatch.close()
    await runner.close()


def a_job() -> Job:
    return Job(AnswerRef(uuid4(), 1, Side.A, MODEL), Cost(prompt=30, output=70))


async def test_what_was_sent_is_the_runners(redis_url: str, key_prefix: str) -> None:
    async with fleet(redis_url, key_prefix) as running:
        job = a_job()
        async with running.gateway.reservation() as reservation:
            await reservation.reserve([job], client="somebody")
            assert await running.counted() == (1, 100)
            assert len(running.clearing.holdings) == 1
            assert await reservation.send()
        assert len(running.clearing.holdings) == 0
        [placement] = await running.runner.take(1.0)
        assert placement.job.ref == job.ref
        assert await running.counted() == (1, 100)
        await running.runner.release([job.ref])
        assert await running.counted() == (0, 0)


async def test_what_was_not_sent_is_released(redis_url: str, key_prefix: str) -> None:
    async with fleet(redis_url, key_prefix) as running:

        async def fail() -> None:
            async with running.gateway.reservation() as reservation:
                await reservation.reserve([a_job(), a_job()], client="somebody")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        async with running.gateway.reservation() as reservation:
            assert not await reservation.send(), "there was nothing to send"
        await running.until((0, 0))
        assert len(running.clearing.holdings) == 0


async def test_one_who_is_cancelled_anywhere_leaves_nothing_counted(redis_url: str, key_prefix: str) -> None:
    async with fleet(redis_url, key_prefix) as running:

        async def ask() -> None:
            async with running.gateway.reservation() as reservation:
                await reservation.reserve([a_job()], client="somebody")
                await asyncio.sleep(0)
                await reservation.send()

        async def give_up(after_s: float) -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(after_s):
                    await ask()

        await asyncio.gather(*(give_up(0.0002 * number) for number in range(60)))
        async with asyncio.timeout(5):
            while running.clearing.holdings.refs:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        while taken := await running.runner.take(0.1):
            await running.runner.release([placement.job.ref for placement in taken])
        await running.until((0, 0))


async def test_a_gateway_that_ends_in_good_order_leaves_nothing_behind(redis_url: str, key_prefix: str) -> None:
    off = Admission(arena_share=0.0, queue_s=0.0)
    runner = RedisDispatch(redis_url, prefix=key_prefix, executor="runner", admission=off)
    async with fleet(redis_url, key_prefix) as running:
        placements = await running.gateway.reserve([a_job()], "somebody")
        running.gateway.release([placement.job.ref for placement in placements])
    [replica] = await runner.replicas()
    assert (replica.turns, replica.outstanding_tokens) == (0, 0)
    assert await runner.reap() == []
    await runner.close()
