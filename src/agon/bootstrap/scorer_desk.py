"""The parts of those who ask what scorers there are and how good they are, and of those who find it out."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from agon.bootstrap.addresses import store_urls
from agon.bootstrap.background import in_background
from agon.bootstrap.scorers import KnownScorer, ScorerNames
from agon.config import Settings
from agon.core.errors import Unavailable
from agon.core.scoring import Scorers
from agon.rounds.agreement import AgreementParts, Agreements
from agon.rounds.scorer_reader import ScorerReader
from agon.rounds.verdicts import Judging, ScoreFlight
from agon.scoring.grader import PREFIX as GRADE_PREFIX
from agon.scoring.judge import PREFIX as JUDGE_PREFIX
from agon.stores.postgres.database import Database
from agon.stores.postgres.rounds import PostgresRounds
from agon.stores.postgres.scorers import PostgresScorers
from agon.stores.redis.scorers import RedisAgreements

log = logging.getLogger(__name__)

_ABOUT = {
    JUDGE_PREFIX: "A contestant as judge: it compares each answer with the anchor's, in both orders.",
    GRADE_PREFIX: "A contestant as examiner: it grades each answer by itself, from 1 to 10.",
}


@dataclass(frozen=True, slots=True)
class ScorerDesk:
    names: ScorerNames
    reader: ScorerReader

    def known(self, measured: Collection[str]) -> Sequence[KnownScorer]:
        """Every scorer there is, and those among the measured that ask a contestant."""
        asking = [
            KnownScorer(name, about, "agon")
            for prefix, about in _ABOUT.items()
            for name in sorted(measured)
            if name.startswith(prefix)
        ]
        return [*self.names.known(), *asking]


@asynccontextmanager
async def scorer_desk(settings: Settings, database: Database) -> AsyncGenerator[ScorerDesk]:
    """Open while the block runs."""
    _, redis_url = store_urls(settings)
    pages = RedisAgreements(redis_url, prefix=settings.stores.redis_prefix)
    rounds = PostgresRounds(database)
    try:
        reader = ScorerReader(rounds=rounds, answers=PostgresScorers(database), pages=pages)
        yield ScorerDesk(ScorerNames(settings.scoring), reader)
    finally:
        await rounds.close()
        await pages.close()


@asynccontextmanager
async def measuring_agreement(
    settings: Settings, database: Database, *, scorers: Scorers, flight: ScoreFlight | None
) -> AsyncGenerator[None]:
    """Measure scorers on the arena's votes now and then while the block runs; one worker of all does it at a time."""
    every_s, battles = settings.scoring.agreement_every_s, settings.scoring.agreement_battles
    if not battles:
        yield
        return
    _, redis_url = store_urls(settings)
    async with AsyncExitStack() as stack:
        pages = RedisAgreements(redis_url, prefix=settings.stores.redis_prefix)
        stack.push_async_callback(pages.close)
        rounds = PostgresRounds(database)
        stack.push_async_callback(rounds.close)
        parts = AgreementParts(
            pairs=PostgresScorers(database),
            scorers=scorers,
            judging=Judging(flight, clock=time.monotonic, timed=_unheard),
            pages=pages,
            rounds=rounds,
            always=ScorerNames(settings.scoring).plugins(),
            now=lambda: datetime.now(UTC),
        )
        agreements = Agreements(parts, battles=battles)
        await stack.enter_async_context(in_background(lambda: _look(agreements, pages, every_s)))
        yield


async def _look(agreements: Agreements, pages: RedisAgreements, every_s: float) -> None:
    while True:
        try:
            if await pages.mine(every_s):
                await agreements.look()
        except Unavailable as error:
            log.warning("agreement with people waits: %s", error.message)
        await asyncio.sleep(every_s)


def _unheard(scorer: str, samples: int, seconds: float) -> None:
    """What is scored here is no work of rounds, and is not counted as such."""
    del scorer, samples, seconds
