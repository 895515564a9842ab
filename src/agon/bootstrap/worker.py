"""The parts of a worker."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

from agon.boards.live import LiveBoard
from agon.bootstrap.addresses import store_urls
from agon.config import Settings
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes
from agon.stores.redis.boards import RedisBoards


@asynccontextmanager
async def live_board(settings: Settings) -> AsyncGenerator[LiveBoard]:
    """What a worker needs to keep the live board."""
    database_url, redis_url = store_urls(settings)
    async with AsyncExitStack() as stack:
        database = Database(database_url, max_connections=4)
        await database.open()
        stack.push_async_callback(database.close)
        boards = RedisBoards(redis_url, prefix=settings.stores.redis_prefix)
        stack.push_async_callback(boards.close)
        yield LiveBoard(
            votes=PostgresVotes(database),
            contestants=PostgresContestants(database),
            boards=boards,
            min_battles=settings.board.min_battles,
            now=lambda: datetime.now(UTC),
        )
