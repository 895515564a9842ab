"""The contract of `BoardStore`."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agon.core.board import Board, BoardNote, BoardRow
from agon.core.errors import Unavailable
from agon.stores.redis.boards import RedisBoards
from agon.stores.redis.client import Client, Keys

ROW = BoardRow(
    model="north 光",
    rating=1034.25,
    low=None,
    high=1058.4,
    rank=1,
    battles=9,
    wins=5,
    losses=2,
    ties=1,
    both_bad=1,
    win_rate=0.61,
    elo=1041.0,
    ttft_median_ms=310.5,
    notes=(BoardNote("unbounded_below", "It has lost every battle."),),
)
BOARD = Board("main", 9, "2026-01-31T12:00:00.000Z", 30, (ROW, replace(ROW, model="south", rating=None, notes=())))


async def following(boards: AsyncIterator[Board]) -> Board:
    async with asyncio.timeout(10):
        return await anext(boards)


async def until_votes(boards: AsyncIterator[Board], votes: int) -> list[int]:
    """The counts that were seen on the way to this one."""
    seen: list[int] = []
    while not seen or seen[-1] != votes:
        seen.append((await following(boards)).votes)
    return seen


async def test_a_board_is_read_as_it_was_published(boards: RedisBoards) -> None:
    assert await boards.board("main") is None
    assert await boards.publish(BOARD)
    assert await boards.board("main") == BOARD
    assert await boards.board("other") is None


async def test_a_board_never_counts_fewer_votes_than_before(boards: RedisBoards) -> None:
    results = await asyncio.gather(*(boards.publish(replace(BOARD, votes=votes)) for votes in (3, 10, 7, 1, 10, 9)))
    assert results[1]
    found = await boards.board("main")
    assert found is not None
    assert found.votes == 10
    assert not await boards.publish(replace(BOARD, votes=9))
    newer = replace(BOARD, votes=10, updated_at="2026-01-31T12:00:05.000Z")
    assert await boards.publish(newer), "the same votes may be shown anew"
    assert await boards.board("main") == newer


async def test_after_a_loss_any_board_is_better_than_none(boards: RedisBoards, redis: Client, key_prefix: str) -> None:
    await boards.publish(BOARD)
    await redis.delete(Keys(key_prefix).board("main"))
    assert await boards.publish(replace(BOARD, votes=1))


async def test_watchers_get_the_board_at_once_and_at_each_change(boards: RedisBoards) -> None:
    await boards.publish(BOARD)
    first, second = boards.boards("main"), boards.boards("main")
    assert await following(first) == BOARD
    assert await following(second) == BOARD
    for votes in (10, 11, 12):
        await boards.publish(replace(BOARD, votes=votes))
    for watcher in (first, second, boards.boards("main")):
        seen = await until_votes(watcher, 12)
        assert seen == sorted(seen)


async def test_a_watcher_may_come_before_the_board(boards: RedisBoards) -> None:
    watcher = asyncio.create_task(following(boards.boards("main")))
    await asyncio.sleep(0.05)
    assert not watcher.done()
    while not watcher.done():
        await boards.publish(BOARD)
        await asyncio.sleep(0.02)
    assert watcher.result() == BOARD


async def test_without_their_server_boards_are_unavailable() -> None:
    boards = RedisBoards("unix:///nowhere/at/all.sock")
    with pytest.raises(Unavailable):
        await boards.publish(BOARD)
    with pytest.raises(Unavailable):
        await boards.board("main")
    await boards.close()
