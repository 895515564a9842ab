"""Pages are made when somebody wants them, follow the votes, and cost nothing when nobody looks."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from uuid import uuid4

import pytest
from tests.boards.conftest import Desk
from tests.contract.ledger import ballot, done, new, ref

from agon.core.board import Page, PageKind, View, Window
from agon.core.conversation import Side
from agon.core.errors import Unavailable
from agon.core.traits import Category, Style, tokens
from agon.core.votes import Winner
from agon.stores.redis.client import Keys, connect

WEEK = View(Window.WEEK)
CODE = View(category=Category.CODE)
STYLED = View(style=True)


async def vote(desk: Desk, prompt: str = "Why?", answers: tuple[str, str] = ("# Yes\n- **so**", "no")) -> None:
    """One whole battle and its vote."""
    started, _ = await desk.ledger.conversations.start(replace(new(), turn=replace(new().turn, prompt=prompt)))
    for side, text in zip(Side, answers, strict=True):
        await desk.ledger.answers.settle(done(ref(started, side), text))
    await desk.ledger.votes.cast(ballot(started, Winner.A))


async def test_a_page_is_made_for_whoever_asks_and_follows_the_votes(desk: Desk) -> None:
    await vote(desk)
    await desk.work()
    assert await desk.boards.board(WEEK) is None, "nobody wants it"
    asked = asyncio.create_task(desk.reader.board(WEEK))
    await asyncio.sleep(0.1)
    await desk.keeper.keep()
    found = await asked
    assert found is not None
    assert (found.votes, found.view) == (1, WEEK)
    await vote(desk)
    desk.clock.wait(seconds=1)
    await desk.work()
    again = await desk.reader.board(WEEK)
    assert again is not None
    assert again.votes == 2


async def test_matrices_and_histories_too(desk: Desk) -> None:
    await vote(desk)
    await desk.work()
    asked = asyncio.gather(desk.reader.matrix(View()), desk.reader.history(WEEK), desk.reader.board(STYLED))
    await asyncio.sleep(0.1)
    await desk.keeper.keep()
    matrix, history, styled = await asked
    assert matrix is not None
    assert matrix.battles == ((0, 1), (1, 0))
    assert history is not None
    assert (history.votes, len(history.series)) == ((1,), 2)
    assert styled is not None
    assert styled.votes == 1


async def test_before_the_first_board_there_is_nothing(desk: Desk) -> None:
    assert await desk.reader.board(View()) is None
    assert await desk.reader.board(WEEK) is None
    assert await desk.reader.matrix(View()) is None
    assert await desk.reader.history(CODE) is None


async def test_without_a_worker_a_page_is_not_invented(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agon.boards.reader._LOOKS", 2)
    await vote(desk)
    await desk.live.refresh()
    with pytest.raises(Unavailable) as refused:
        await desk.reader.board(WEEK)
    assert refused.value.code == "board_not_made"


async def test_texts_are_read_once_by_all_workers_together(desk: Desk) -> None:
    await vote(desk, "Write a Python loop.", ("# A\n- b\n**c**", "plain"))
    await vote(desk)
    await desk.work()
    read = (await desk.votes.votes_after(None)).votes
    first = read[0].traits
    assert first is not None
    assert Category.CODE in first.categories
    assert (first.a, first.b) == (Style(tokens("# A\n- b\n**c**"), 1, 1, 1), Style(tokens("plain"), 0, 0, 0))
    assert all(each.traits is not None for each in read)
    live, keeper = desk.another()
    await live.refresh()
    assert live.columns.undescribed(10) == []
    assert not await keeper.read_texts()


async def test_texts_that_older_rules_read_are_read_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await vote(desk)
    await desk.work()
    monkeypatch.setattr("agon.stores.postgres.votes.TRAITS_VERSION", 2)
    assert (await desk.votes.votes_after(None)).votes[0].traits is None
    live, keeper = desk.another()
    await live.refresh()
    await keeper.read_texts()
    assert (await desk.votes.votes_after(None)).votes[0].traits is not None


async def test_the_live_board_does_not_wait_for_texts_but_tells_them_soon(desk: Desk) -> None:
    await vote(desk, "Write a Python loop.")
    board = await desk.live.refresh()
    assert board.votes == 1
    assert sum(each.votes for each in board.categories) == 0
    await desk.keeper.read_texts()
    await desk.live.refresh_if_needed()
    found = await desk.boards.board(View())
    assert found is not None
    assert {each.category: each.votes for each in found.categories}[Category.CODE] == 1


async def test_a_page_that_redis_lost_is_made_again(desk: Desk, redis_url: str, key_prefix: str) -> None:
    await vote(desk)
    await desk.boards.want(Page(PageKind.BOARD, WEEK))
    await desk.work()
    made = await desk.boards.board(WEEK)
    assert made is not None
    redis = connect(redis_url)
    await redis.delete(Keys(key_prefix).board(made.page.key))
    await redis.aclose()
    await desk.keeper.keep()
    assert await desk.boards.board(WEEK) == made


async def test_a_page_rests_before_votes_move_it_again(desk: Desk) -> None:
    page = Page(PageKind.HISTORY, View())
    await vote(desk)
    await desk.boards.want(page)
    await desk.work()
    await vote(desk)
    await desk.work()
    found = await desk.boards.history(View())
    assert found is not None
    assert found.votes == (1,), "it was made a moment ago"
    desk.clock.wait(seconds=4)
    await desk.work()
    found = await desk.boards.history(View())
    assert found is not None
    assert found.votes == (2,)


async def test_a_new_day_moves_windows_without_a_vote(desk: Desk) -> None:
    await vote(desk)
    await desk.boards.want(Page(PageKind.BOARD, WEEK))
    await desk.work()
    desk.clock.wait(days=8)
    await desk.keeper.keep()
    found = await desk.boards.board(WEEK)
    assert found is not None
    assert found.votes == 0


async def test_followers_of_a_view_get_each_change(desk: Desk) -> None:
    await vote(desk)
    await desk.work()
    async with aclosing(desk.reader.boards(WEEK)) as following, asyncio.timeout(10):
        first = asyncio.create_task(anext(following))
        await asyncio.sleep(0.2)
        await desk.keeper.keep()
        assert (await first).votes == 1
        await vote(desk)
        desk.clock.wait(seconds=1)
        await desk.work()
        assert (await anext(following)).votes == 2


async def test_elo_is_played_again_when_an_earlier_vote_comes_late(desk: Desk) -> None:
    for _ in range(3):
        await vote(desk)
    await desk.live.refresh()
    battle = await desk.ledger.answered()
    await desk.database.rows(
        "insert_votes", [uuid4()], [battle.id], [battle.person], ["b"], [None], ["north"], ["south"]
    )
    async with desk.database.transaction() as connection:
        await connection.execute("update votes set created_at = created_at - interval '1 hour' where winner = 'b'")
    late = await desk.live.refresh()
    anew = await desk.another()[0].refresh()
    assert late.votes == 4
    assert [row.elo for row in late.rows] == [row.elo for row in anew.rows]
