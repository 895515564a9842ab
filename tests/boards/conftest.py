"""A ledger, a Redis and the keepers between them, all real; time is the test's."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from tests.contract.ledger import Ledger, contestant

from agon.boards.keeper import PageKeeper
from agon.boards.live import LiveBoard
from agon.boards.reader import BoardReader
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes
from agon.stores.redis.boards import RedisBoards


@dataclass
class Clock:
    """Ours stands still until it is told to go on; the ledger's does not."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **length: float) -> None:
        self.now += timedelta(**length)


@dataclass(frozen=True)
class Desk:
    ledger: Ledger
    boards: RedisBoards
    live: LiveBoard
    keeper: PageKeeper
    reader: BoardReader
    clock: Clock
    votes: PostgresVotes
    database: Database

    def another(self) -> tuple[LiveBoard, PageKeeper]:
        """A worker that has just started."""
        live = LiveBoard(
            votes=self.votes, contestants=self.ledger.contestants, boards=self.boards, min_battles=30, now=self.clock
        )
        return live, PageKeeper(live=live, votes=self.votes, boards=self.boards, now=self.clock)

    async def work(self) -> None:
        """What a worker does when votes come."""
        await self.live.refresh()
        while await self.keeper.read_texts():
            pass
        await self.keeper.keep()


@pytest.fixture
async def desk(database_url: str, redis_url: str, key_prefix: str) -> AsyncIterator[Desk]:
    database = Database(database_url)
    await database.open()
    answers, votes = PostgresAnswers(database), PostgresVotes(database)
    ledger = Ledger(PostgresConversations(database), answers, votes, votes, PostgresContestants(database))
    for name in ("north", "south"):
        await ledger.contestants.put_contestant(contestant(name), replace=True)
    boards, clock = RedisBoards(redis_url, prefix=key_prefix), Clock()
    live = LiveBoard(votes=votes, contestants=ledger.contestants, boards=boards, min_battles=30, now=clock)
    keeper = PageKeeper(live=live, votes=votes, boards=boards, now=clock)
    yield Desk(ledger, boards, live, keeper, BoardReader(boards), clock, votes, database)
    await boards.close()
    await answers.close()
    await votes.close()
    await database.close()
