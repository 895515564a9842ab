"""The parts of commands that run rounds beside an arena: its ledger, and what dispatch knows of its models."""

import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from agon.arena.roster import Contestants
from agon.bootstrap.addresses import store_urls
from agon.bootstrap.scorers import ScorerNames
from agon.config import Settings
from agon.core.contestants import ContestantState
from agon.core.roster import Roster
from agon.core.round_ports import RoundLedger, StandingsSource
from agon.rounds.rounds import Rounds
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_standings import PostgresStandings
from agon.stores.postgres.rounds import PostgresRounds
from agon.stores.redis.dispatch import RedisDispatch


@dataclass(frozen=True, slots=True)
class RoundDesk:
    ledger: RoundLedger
    rounds: Rounds
    source: StandingsSource
    contestants: Contestants

    async def roster(self) -> Roster:
        """Raises `Unavailable`."""
        return await self.contestants.roster()

    async def models(self) -> list[str]:
        """Those that can be asked, by name."""
        entries = (await self.roster()).entries
        return [one.contestant.name for one in entries if one.contestant.state is ContestantState.ACTIVE]


@asynccontextmanager
async def round_desk(settings: Settings) -> AsyncGenerator[RoundDesk]:
    """Open while the block runs. Raises `Unavailable`."""
    database_url, redis_url = store_urls(settings)
    async with AsyncExitStack() as stack:
        database = Database(database_url, max_connections=2)
        await database.open()
        stack.push_async_callback(database.close)
        dispatch = RedisDispatch(redis_url, prefix=settings.stores.redis_prefix, executor="desk")
        stack.push_async_callback(dispatch.close)
        contestants = Contestants(PostgresContestants(database), dispatch, time.monotonic)
        ledger = PostgresRounds(database)
        stack.push_async_callback(ledger.close)

        async def models() -> list[str]:
            return [one.contestant.name for one in (await contestants.roster()).entries]

        rounds = Rounds(ledger, models=models, compares=ScorerNames(settings.scoring).compares)
        yield RoundDesk(ledger, rounds, PostgresStandings(database), contestants)
