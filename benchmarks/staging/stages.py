"""Ways to bring an answer to a board, each with what the one before has and one thing more."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from uuid import UUID, uuid4

import asyncpg
from benchmarks.harness.arena import Arena
from benchmarks.harness.crowd import measure
from benchmarks.harness.statistics import percentile
from benchmarks.harness.wire import HttpConnection, request_bytes
from benchmarks.staging.engines import Fast, Judge, Plain
from benchmarks.staging.traffic import Traffic
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from agon.bootstrap.caches import score_cache
from agon.config import load_settings
from agon.core.rounds import Round
from agon.core.scoring import Sample, Score
from agon.rounds.flights import SingleFlight
from agon.rounds.messages import decode_score, encode_score
from agon.rounds.verdicts import score_key
from agon.scoring.drift import Precision
from agon.stores.postgres.database import Database
from agon.stores.postgres.rounds import PostgresRounds
from agon.telemetry import CacheMetrics

SUBMITTERS = 200

PLAIN = "synchronous, full precision"
UNPADDED = "+ fusion, no padding"
INT8 = "+ 8 bits"
CACHED = "+ cache, 68 % repeated"
BATCHED = "+ asynchronous batches"

_PATIENCE_S = 240.0


@dataclass(frozen=True, slots=True)
class Figures:
    per_s: float
    """Answers on the board."""
    p50_ms: float
    """Until who submits has the reply."""
    p99_ms: float


class Yard:
    """The stores and the model that all stages share."""

    def __init__(self, arena: Arena, model: Path) -> None:
        self._arena = arena
        self._model = model
        self._settings = load_settings(arena.environment)

    async def synchronous(self, stage: str, *, seed: int, warm_up_s: float, window_s: float) -> Figures:
        """Every submitter waits for the score, the ledger and the board."""
        async with AsyncExitStack() as stack:
            traffic = await self._round(stack, seed)
            ledger = await self._ledger(stack)
            board = Redis.from_url(self._arena.redis_url)
            stack.push_async_callback(board.aclose)
            judge = await self._judge(stage, stack)

            async def submit() -> None:
                sent = traffic.next()
                value = await judge(sent.sample)
                await ledger.submit([sent.submission])
                await board.zadd(f"benchmark:{traffic.round_id}", {sent.submission.contestant: value})

            crowd = await measure([submit] * SUBMITTERS, warm_up_s=warm_up_s, window_s=window_s)
            await self._forget(traffic.round_id)
        return Figures(crowd.per_s, crowd.p50_ms, crowd.p99_ms)

    async def asynchronous(self, *, seed: int, answers: int) -> Figures:
        """The gateway replies when the ledger has an answer; a worker brings it to the board."""
        async with AsyncExitStack() as stack:
            traffic = await self._round(stack, seed)
            requests = iter([_request(traffic) for _ in range(answers)])
            waits_s: list[float] = []
            begun = perf_counter()
            await asyncio.gather(*(self._submit(requests, waits_s) for _ in range(SUBMITTERS)))
            await self._on_board(traffic.round_id, answers)
            took_s = perf_counter() - begun
        return Figures(answers / took_s, percentile(waits_s, 0.5) * 1000, percentile(waits_s, 0.99) * 1000)

    async def _forget(self, round_id: UUID) -> None:
        """Leave the worker nothing to do that this stage has done."""
        ledger = await asyncpg.connect(self._arena.database_url)
        await ledger.execute("delete from round_answers where round = $1", round_id)
        await ledger.close()

    async def _judge(self, stage: str, stack: AsyncExitStack) -> Judge:
        if stage == PLAIN:
            plain = Plain(self._model)
            stack.callback(plain.close)
            return plain.judge
        fast = Fast(self._model, Precision.FP32 if stage == UNPADDED else Precision.INT8)
        stack.callback(fast.close)
        if stage != CACHED:
            return fast.judge
        database = await self._database(stack)
        # A registry of its own: a process has one cache of a name, and this one makes it anew each time.
        caching = await stack.enter_async_context(
            score_cache(self._settings, database, CacheMetrics(CollectorRegistry()))
        )
        return _cached(fast, caching.flight)

    async def _ledger(self, stack: AsyncExitStack) -> PostgresRounds:
        ledger = PostgresRounds(await self._database(stack))
        stack.push_async_callback(ledger.close)
        return ledger

    async def _database(self, stack: AsyncExitStack) -> Database:
        database = Database(self._arena.database_url)
        await database.open()
        stack.push_async_callback(database.close)
        return database

    async def _round(self, stack: AsyncExitStack, seed: int) -> Traffic:
        traffic = Traffic(uuid4(), seed)
        ledger = await self._ledger(stack)
        await ledger.create(Round(traffic.round_id, "benchmark", "reward", (), len(traffic.bank)), traffic.bank)
        return traffic

    async def _submit(self, requests: Iterator[bytes], waits_s: list[float]) -> None:
        connection = await HttpConnection.open("127.0.0.1", self._arena.port)
        for request in requests:
            begun = perf_counter()
            reply = await connection.send(request)
            waits_s.append(perf_counter() - begun)
            if reply.status != 200:
                raise RuntimeError(f"the gateway said {reply.status}: {reply.body[:200]!r}")
        await connection.close()

    async def _on_board(self, round_id: UUID, answers: int) -> None:
        """Wait until the round's board, as the gateway shows it, counts every answer."""
        connection = await HttpConnection.open("127.0.0.1", self._arena.port)
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                reply = await connection.send(request_bytes("GET", f"/arena/rounds/{round_id}/board"))
                if reply.status == 200 and json.loads(reply.body)["merged"] == answers:
                    break
                await asyncio.sleep(0.1)
        await connection.close()


def _request(traffic: Traffic) -> bytes:
    sent = traffic.next().submission
    body = {"round_id": str(sent.round), "model": sent.contestant, "question": sent.question, "text": sent.texts[0]}
    return request_bytes("POST", "/arena/submit", body=json.dumps(body).encode())


def _cached(engine: Fast, flight: SingleFlight) -> Judge:
    """The engine behind the product's cache of scores."""

    async def judge(sample: Sample) -> float:
        key = score_key(sample, "reward", engine.revision)

        async def make(_: Sequence[bytes]) -> Mapping[bytes, bytes]:
            return {key: encode_score(Score(await engine.judge(sample)), engine.revision)}

        score = decode_score((await flight.find_or_make([key], make))[key])
        if score is None:
            raise RuntimeError("the cache holds something else than a score")
        return score.value

    return judge
