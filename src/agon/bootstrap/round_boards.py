"""The boards of rounds, on the servers that the settings name."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agon.bootstrap.addresses import store_urls
from agon.config import Settings
from agon.stores.redis.rounds import RedisRoundBoards


@asynccontextmanager
async def round_boards(settings: Settings) -> AsyncGenerator[RedisRoundBoards]:
    """Open while the block runs."""
    _, redis_url = store_urls(settings)
    boards = RedisRoundBoards(settings.stores.board_urls or (redis_url,), prefix=settings.stores.redis_prefix)
    try:
        yield boards
    finally:
        await boards.close()
