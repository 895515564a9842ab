"""The parts of a worker."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from agon.boards.keeper import PageKeeper
from agon.boards.live import LiveBoard
from agon.bootstrap.addresses import store_urls
from agon.config import Settings
from agon.core.board_ports import BoardStore
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes
from agon.stores.redis.boards import RedisBoards


@dataclass(frozen=True, slots=True)
class BoardParts:
    """What a worker needs to keep boards."""

    live: LiveBoard
    pages: PageKeeper
    boards: BoardStore


@asynccontextmanager
async def board_parts(settings: Settings) -> AsyncGenerator[BoardParts]:
    """The parts of a worker, open while the block runs."""
    database_url, redis_url = store_urls(settings)
    async with AsyncExitStack() as stack:
        database = Database(database_url, max_connections=4)
        await database.open()
        stack.push_async_callback(database.close)
        boards = RedisBoards(redis_url, prefix=settings.stores.redis_prefix)
        stack.push_async_callback(boards.close)
        votes = PostgresVotes(database)
        live = LiveBoard(
            votes=votes,
            contestants=PostgresContestants(database),
            boards=boards,
            min_battles=settings.board.min_battles,
            forfeit=settings.board.forfeit,
            now=_now,
        )
        yield BoardParts(live, PageKeeper(live=live, votes=votes, boards=boards, now=_now), boards)


def _now() -> datetime:
    return datetime.now(UTC)
