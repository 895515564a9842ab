"""The contract of `BoardStore`."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agon.core.board import (
    Board,
    BoardNote,
    BoardRow,
    CategoryVotes,
    History,
    Matrix,
    Page,
    PageKind,
    Series,
    StyleWeight,
    View,
    Window,
)
from agon.core.errors import InvalidInput, Unavailable
from agon.core.traits import Category
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
    forfeits=2,
)
WHEN = "2026-01-31T12:00:00.000Z"
BOARD = Board("main", 9, WHEN, 30, (ROW, replace(ROW, model="south", rating=None, notes=())), counted=9, forfeits=3)
MAIN = View()
VIEW = View(Window.WEEK, Category.CODE, style=True)
PAGE = Page(PageKind.BOARD, VIEW)
VIEWED = replace(
    BOARD,
    view=VIEW,
    categories=(CategoryVotes(Category.CODE, 9), CategoryVotes(Category.CHINESE, 0)),
    style=(StyleWeight("tokens", 61.5, 9.25),),
    notes=(BoardNote("sparse_category", "It has 9 votes."),),
)
MATRIX = Matrix(
    "main", MAIN, 9, 9, WHEN, ("n", "s"), ((0, 9), (9, 0)), ((None, 0.5), (0.5, None)), ((None, 1.0), (0.0, None)),
    (0.5, 0.5), (1.0, None),
)  # fmt: skip
HISTORY = History("main", View(Window.MONTH), 9, WHEN, ("2026-01-31",), (9,), (Series("n", (None,), (1.5,), (2.5,)),))


def seen(votes: int) -> Board:
    """The board after so many votes."""
    return replace(BOARD, votes=votes, counted=votes)


async def following(boards: AsyncIterator[Board]) -> Board:
    async with asyncio.timeout(10):
        return await anext(boards)


async def until_votes(boards: AsyncIterator[Board], votes: int) -> list[int]:
    """The counts that were seen on the way to this one."""
    counts: list[int] = []
    while not counts or counts[-1] != votes:
        counts.append((await following(boards)).votes)
    return counts


async def test_a_board_is_read_as_it_was_published(boards: RedisBoards) -> None:
    assert await boards.board(MAIN) is None
    assert await boards.publish(BOARD)
    assert await boards.board(MAIN) == BOARD
    assert await boards.board(VIEW) is None


async def test_a_board_never_counts_fewer_votes_than_before(boards: RedisBoards) -> None:
    results = await asyncio.gather(*(boards.publish(seen(votes)) for votes in (3, 10, 7, 1, 10, 9)))
    assert results[1]
    found = await boards.board(MAIN)
    assert found is not None
    assert found.votes == 10
    assert not await boards.publish(seen(9))
    newer = replace(seen(10), updated_at="2026-01-31T12:00:05.000Z")
    assert await boards.publish(newer), "the same votes may be shown anew"
    assert await boards.board(MAIN) == newer


async def test_after_a_loss_any_board_is_better_than_none(boards: RedisBoards, redis: Client, key_prefix: str) -> None:
    await boards.publish(BOARD)
    await redis.delete(Keys(key_prefix).board("main"))
    assert await boards.publish(seen(1))


async def test_watchers_get_the_board_at_once_and_at_each_change(boards: RedisBoards) -> None:
    await boards.publish(BOARD)
    first, second = boards.boards(MAIN), boards.boards(MAIN)
    assert await following(first) == BOARD
    assert await following(second) == BOARD
    for votes in (10, 11, 12):
        await boards.publish(seen(votes))
    for watcher in (first, second, boards.boards(MAIN)):
        counts = await until_votes(watcher, 12)
        assert counts == sorted(counts)


async def test_a_watcher_may_come_before_the_board(boards: RedisBoards) -> None:
    watcher = asyncio.create_task(following(boards.boards(MAIN)))
    await asyncio.sleep(0.05)
    assert not watcher.done()
    while not watcher.done():
        await boards.publish(BOARD)
        await asyncio.sleep(0.02)
    assert watcher.result() == BOARD


async def test_a_window_may_lose_votes_as_days_pass(boards: RedisBoards) -> None:
    assert await boards.publish(VIEWED)
    assert await boards.publish(replace(VIEWED, votes=3))
    assert not await boards.publish(replace(VIEWED, votes=4, counted=8)), "it had not seen the last vote"


async def test_every_page_is_read_as_it_was_published(boards: RedisBoards) -> None:
    for published in (BOARD, VIEWED, MATRIX, HISTORY):
        assert await boards.publish(published)
    assert await boards.board(VIEW) == VIEWED
    assert await boards.matrix(MAIN) == MATRIX
    assert await boards.history(View(Window.MONTH)) == HISTORY
    assert await boards.matrix(VIEW) is None
    assert await boards.history(MAIN) is None


async def test_what_is_wanted_is_told_once_it_is_there_and_kept(
    boards: RedisBoards, redis: Client, key_prefix: str
) -> None:
    assert await boards.wanted() == {}
    await boards.want(PAGE)
    await boards.want(Page(PageKind.MATRIX, MAIN))
    assert await boards.wanted() == {PAGE: False, Page(PageKind.MATRIX, MAIN): False}
    await boards.publish(VIEWED)
    key = Keys(key_prefix).board(PAGE.key)
    await redis.expire(key, 1)
    assert (await boards.wanted())[PAGE]
    assert await redis.ttl(key) > 10, "a wanted page lasts on"
    await boards.publish(BOARD)
    assert await redis.ttl(Keys(key_prefix).board("main")) == -1, "the live board stays"


async def test_what_nobody_asks_for_any_longer_is_not_wanted(
    boards: RedisBoards, redis: Client, key_prefix: str
) -> None:
    await boards.want(PAGE)
    await redis.zadd(Keys(key_prefix).wanted, {PAGE.key: 1.0})
    assert await boards.wanted() == {}


async def test_a_missing_page_that_is_wanted_is_heard_of_at_once(boards: RedisBoards) -> None:
    wants = boards.wants()
    async with asyncio.timeout(5):
        await anext(wants)
        await boards.want(PAGE)
        await anext(wants)


async def test_watchers_of_one_view_do_not_get_another(boards: RedisBoards) -> None:
    watcher = boards.boards(VIEW)
    await boards.publish(BOARD)
    await boards.publish(VIEWED)
    assert await following(watcher) == VIEWED
    await boards.publish(seen(10))
    later = replace(VIEWED, votes=10, counted=10)
    await boards.publish(later)
    assert await following(watcher) == later


@pytest.mark.parametrize("kind", PageKind)
@pytest.mark.parametrize("view", [MAIN, VIEW, View(Window.MONTH), View(category=Category.CHINESE), View(style=True)])
def test_pages_have_names_of_their_own(kind: PageKind, view: View) -> None:
    page = Page(kind, view)
    assert Page.of_key(page.key) == page


@pytest.mark.parametrize(
    "key", ["", "board", "board:all:all", "board:9d:all:plain", "map:all:all:plain", "board:all:x:plain"]
)
def test_no_other_name_is_a_page(key: str) -> None:
    with pytest.raises(InvalidInput):
        Page.of_key(key)


async def test_without_their_server_boards_are_unavailable() -> None:
    boards = RedisBoards("unix:///nowhere/at/all.sock")
    with pytest.raises(Unavailable):
        await boards.publish(BOARD)
    with pytest.raises(Unavailable):
        await boards.board(MAIN)
    await boards.close()
