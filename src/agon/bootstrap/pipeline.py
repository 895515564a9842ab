"""The parts of a worker that lead answers of rounds to boards."""

import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from celery import Celery

from agon.bootstrap.addresses import store_urls
from agon.bootstrap.background import in_background
from agon.bootstrap.caches import answer_cache, score_cache
from agon.bootstrap.generation import asking, generation
from agon.bootstrap.quantise import RewardParts, reward_parts
from agon.bootstrap.round_boards import round_boards
from agon.bootstrap.scorer_desk import measuring_agreement
from agon.bootstrap.scorers import ScorerBook
from agon.config import ScoringSettings, Settings
from agon.core.round_ports import ScoringLedger
from agon.core.scoring import Scorer, Scorers
from agon.rounds.boards import RoundBoard
from agon.rounds.pipeline import LEASE_S, Pipeline, PipelineParts
from agon.rounds.pump import Pump, PumpSettings
from agon.scoring.drift import DriftSettings, Precision
from agon.scoring.fidelity import Gates
from agon.scoring.measures import DriftMeasures
from agon.stores.jobs import RoundJobs
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_scoring import PostgresScoring
from agon.stores.postgres.round_standings import PostgresStandings
from agon.stores.postgres.rounds import PostgresRounds
from agon.stores.redis.nudges import AnswerNews
from agon.telemetry import CacheMetrics, WorkerMetrics


class Reward:
    """The reward model of this process, made when it is first wanted."""

    def __init__(self, settings: Settings, database: Database, measures: DriftMeasures) -> None:
        self._settings = settings
        self._database = database
        self._measures = measures
        self._parts: RewardParts | None = None

    async def make(self) -> Scorer:
        scoring = self._settings.scoring
        parts = await reward_parts(
            self._settings.data_dir,
            self._database,
            self._measures,
            folder=scoring.model and scoring.model.expanduser().absolute(),
            precision=Precision(scoring.precision),
            gpu=scoring.provider == "tensorrt",
            drift=drift_settings(scoring),
        )
        self._parts = parts
        return parts.scorer

    async def look(self) -> None:
        """Look at its drift if it is time to. Raises `Unavailable`."""
        if self._parts is not None:
            await self._parts.look()


@dataclass(frozen=True, slots=True)
class RoundsParts:
    """What a worker needs for rounds."""

    pipeline: Pipeline
    boards: RoundBoard
    ledger: ScoringLedger
    scorers: Scorers
    jobs: RoundJobs
    reward: Reward


@asynccontextmanager
async def rounds_parts(
    settings: Settings, app: Celery, *, metrics: WorkerMetrics, caches: CacheMetrics
) -> AsyncGenerator[RoundsParts]:
    """Open, with answers being made and batches being sent, while the block runs. Bound to the loop it is opened in."""
    database_url, redis_url = store_urls(settings)
    async with AsyncExitStack() as stack:
        database = Database(database_url, max_connections=10)
        await database.open()
        stack.push_async_callback(database.close)
        ledger, jobs = PostgresScoring(database), RoundJobs(app)
        limits = PumpSettings(settings.rounds.in_flight, settings.rounds.batch_answers, LEASE_S)
        pump = Pump(ledger=ledger, jobs=jobs, settings=limits, measures=metrics)
        asks = await stack.enter_async_context(asking(settings, database))
        reward = Reward(settings, database, metrics)
        scorers = ScorerBook(settings.scoring, asking=asks, reward=reward.make)
        stack.push_async_callback(scorers.close)
        boards = await stack.enter_async_context(_boards(settings, database))
        scores = await stack.enter_async_context(score_cache(settings, database, caches))
        pipeline = Pipeline(
            PipelineParts(ledger, scorers, boards, metrics, time.monotonic, flight=scores.flight, closed=pump.stir)
        )
        answers = await stack.enter_async_context(answer_cache(settings, database, caches))
        news = AnswerNews(redis_url, prefix=settings.stores.redis_prefix)
        stack.push_async_callback(news.close)
        await stack.enter_async_context(in_background(pump.run, lambda: _follow(news, pump)))
        await stack.enter_async_context(generation(settings, database, asking=asks, answers=answers, came=pump.stir))
        await stack.enter_async_context(measuring_agreement(settings, database, scorers=scorers, flight=scores.flight))
        yield RoundsParts(pipeline, boards, ledger, scorers, jobs, reward)


def drift_settings(scoring: ScoringSettings) -> DriftSettings:
    gates = Gates(kl_mean=scoring.drift_kl_mean, kl_p99=scoring.drift_kl_p99, top1=scoring.drift_top1)
    return DriftSettings(every=timedelta(hours=scoring.drift_every_h), share=scoring.drift_share, gates=gates)


@asynccontextmanager
async def _boards(settings: Settings, database: Database) -> AsyncGenerator[RoundBoard]:
    rounds = PostgresRounds(database)
    async with round_boards(settings) as kept:
        boards = RoundBoard(rounds=rounds, source=PostgresStandings(database), boards=kept, now=_now)
        try:
            yield boards
        finally:
            await boards.close()
            await rounds.close()


async def _follow(news: AnswerNews, pump: Pump) -> None:
    async for _ in news.heard():
        pump.stir()


def _now() -> datetime:
    return datetime.now(UTC)
