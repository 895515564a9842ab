"""Contestants that must be loaded first, and replicas that are drained, as a gateway sees them."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agon.arena.roster import Contestants
from agon.core.contestants import Contestant, ContestantKind, EngineState
from agon.core.errors import NotFound, Unavailable
from agon.core.placement import Beat, ReplicaReport
from agon.stores.redis.dispatch import RedisDispatch

MODEL = "north"
REPLICA = f"{MODEL}@runner"


class Ledger:
    """A `ContestantLedger` of one."""

    def __init__(self) -> None:
        self.contestant = Contestant(MODEL, ContestantKind.EMBEDDED, MODEL)

    async def contestants(self) -> Sequence[Contestant]:
        return [self.contestant]

    async def put_contestant(self, contestant: Contestant, *, replace: bool) -> None:
        assert replace
        self.contestant = contestant


@asynccontextmanager
async def runner(url: str, prefix: str, state: EngineState) -> AsyncGenerator[RedisDispatch]:
    dispatch = RedisDispatch(url, prefix=prefix, executor="runner")
    await dispatch.beat(Beat((ReplicaReport(REPLICA, MODEL, state, capacity=2),)))
    yield dispatch
    await dispatch.close()


async def test_a_cold_model_is_refused_and_loaded_meanwhile(redis_url: str, key_prefix: str) -> None:
    async with runner(redis_url, key_prefix, EngineState.COLD) as running:
        contestants = Contestants(Ledger(), running, time.monotonic, cold_plays=False)
        for _ in range(3):
            with pytest.raises(Unavailable) as refused:
                await contestants.named(MODEL, "model")
            assert (refused.value.code, refused.value.field) == ("model_not_ready", "model")
        [placement] = await running.take(1.0)
        assert placement.replica == REPLICA
        assert placement.job.request is not None, "the ledger knows nothing of it"
        assert placement.job.request.sampling.max_tokens == 1
        assert await running.take(0.05) == [], "it is woken once"


async def test_a_cold_model_is_waited_for_where_that_is_set(redis_url: str, key_prefix: str) -> None:
    async with runner(redis_url, key_prefix, EngineState.COLD) as running:
        contestants = Contestants(Ledger(), running, time.monotonic)
        assert (await contestants.named(MODEL, "model")).playable
        assert await running.take(0.05) == []


async def test_what_is_drained_is_kept_in_the_ledger(redis_url: str, key_prefix: str) -> None:
    async with runner(redis_url, key_prefix, EngineState.READY) as running:
        ledger = Ledger()
        ledger.contestant = Contestant(MODEL, ContestantKind.EMBEDDED, MODEL, draining=(f"{MODEL}@gone",))
        contestants = Contestants(ledger, running, time.monotonic)
        assert (await contestants.drain(REPLICA, draining=True)).state is EngineState.DRAINING
        assert ledger.contestant.draining == (REPLICA,), "a runner that is gone never comes back"
        with pytest.raises(Unavailable):
            await contestants.named(MODEL, "model")
        assert (await contestants.drain(REPLICA, draining=False)).state is EngineState.READY
        assert ledger.contestant.draining == ()
        with pytest.raises(NotFound):
            await contestants.drain(f"{MODEL}@gone", draining=True)
