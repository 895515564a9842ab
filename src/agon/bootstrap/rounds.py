"""The parts of those who run rounds, send answers to them, and look at them."""

from collections.abc import AsyncGenerator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from agon.arena.roster import Contestants
from agon.bootstrap.addresses import store_urls
from agon.bootstrap.round_boards import round_boards
from agon.bootstrap.scorers import ScorerNames
from agon.config import Settings
from agon.core.round_ports import RoundLedger
from agon.rounds.bank_copies import BankCopies
from agon.rounds.boards import RoundBoardReader
from agon.rounds.rounds import Rounds
from agon.rounds.submitting import Submitting
from agon.rounds.watching import RoundWatching
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_standings import PostgresStandings
from agon.stores.postgres.rounds import PostgresRounds
from agon.stores.redis.nudges import AnswerNews


@dataclass(frozen=True, slots=True)
class RoundParts:
    ledger: RoundLedger
    asking: Rounds
    submitting: Submitting
    boards: RoundBoardReader
    watching: RoundWatching


@asynccontextmanager
async def round_parts(
    settings: Settings, database: Database, *, contestants: Contestants
) -> AsyncGenerator[RoundParts]:
    """Open while the block runs."""
    _, redis_url = store_urls(settings)

    async def models() -> Collection[str]:
        return {entry.contestant.name for entry in (await contestants.roster()).entries}

    async with AsyncExitStack() as stack:
        ledger = PostgresRounds(database)
        news = AnswerNews(redis_url, prefix=settings.stores.redis_prefix)
        stack.push_async_callback(news.close)
        stack.push_async_callback(ledger.close)
        kept = await stack.enter_async_context(round_boards(settings))
        boards = RoundBoardReader(rounds=ledger, source=PostgresStandings(database), boards=kept)
        yield RoundParts(
            ledger=ledger,
            asking=Rounds(
                ledger, models=models, compares=ScorerNames(settings.scoring).compares, answers_due=news.came
            ),
            submitting=Submitting(ledger, BankCopies(ledger), answers_came=news.came),
            boards=boards,
            watching=RoundWatching(ledger, boards),
        )
