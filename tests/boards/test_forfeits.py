"""Forfeits on a board: as wins of the other side or not at all, in every view, and never as votes."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.boards.conftest import Desk
from tests.boards.test_keeper import vote
from tests.boards.votes import NAMES, START, TODAY, belonging, draw, recount, setting
from tests.contract.ledger import done, forfeited, new, ref

from agon.boards.columns import VoteColumns, VoteRows
from agon.boards.live import LiveBoard
from agon.boards.pages import make_board, make_history, make_matrix
from agon.boards.projections import Projections
from agon.core.board import Board, ForfeitRule, View, Window
from agon.core.board_ports import RankedVote
from agon.core.conversation import Side
from agon.core.traits import Category
from agon.core.votes import Winner
from agon.ranking.outcomes import WINNER_CODES
from agon.ranking.style import fit_style

ALL = [
    replace(vote, forfeit=place % 7 == 0 and vote.winner in {Winner.A, Winner.B})
    for place, vote in enumerate(draw(900))
]
VOTES = [vote for vote in ALL if not vote.forfeit]
VIEWS = [View(window, category) for window in Window for category in (None, Category.LATIN, Category.CODE)]
assert len(ALL) - len(VOTES) > 50
LOSS, VOID = ForfeitRule.LOSS, ForfeitRule.VOID


def rows_of(votes: list[RankedVote], rule: ForfeitRule = LOSS) -> VoteRows:
    columns = VoteColumns(rule)
    columns.know(NAMES)
    columns.add(votes)
    return columns.rows()


def board_of(view: View, votes: list[RankedVote], rule: ForfeitRule = LOSS) -> Board:
    return make_board(view, rows_of(votes, rule), Projections(), setting())


def lost(votes: list[RankedVote]) -> Counter[str]:
    return Counter(
        vote.contestant_b if vote.winner is Winner.A else vote.contestant_a for vote in votes if vote.forfeit
    )


def plain(board: Board) -> list[object]:
    """What a board says of its models beside their forfeits."""
    return [replace(row, forfeits=0) for row in board.rows]


@pytest.mark.parametrize("rule", ForfeitRule)
@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_view_that_followed_equals_one_counted_anew(view: View, rule: ForfeitRule) -> None:
    columns, followed = VoteColumns(rule), Projections()
    columns.know(NAMES)
    for start, stop in pairwise([0, 1, 2, 40, 41, 500, 899, 900]):
        columns.add(ALL[start:stop])
        today = int(ALL[stop - 1].created_at.timestamp() // 86_400)
        board = make_board(view, columns.rows(), followed, setting(today))
        anew = make_board(view, columns.rows(), Projections(), setting(today))
        of_view = belonging(ALL[:stop], view, today)
        by_hand = recount(vote for vote in of_view if rule is LOSS or not vote.forfeit)
        assert board.votes == sum(not vote.forfeit for vote in of_view)
        assert board.forfeits == sum(vote.forfeit for vote in of_view)
        assert board.counted == stop
        for row, other in zip(board.rows, anew.rows, strict=True):
            counts = by_hand.get(row.model, Counter[str]())
            for word in ("battles", "wins", "losses", "ties", "both_bad"):
                assert getattr(row, word) == counts[word]
            assert row.forfeits == lost(of_view)[row.model]
            assert row.rating == pytest.approx(other.rating, abs=1e-6)


@pytest.mark.parametrize("view", [*VIEWS, View(style=True)], ids=str)
def test_forfeits_that_do_not_count_change_nothing_else(view: View) -> None:
    board, without = board_of(view, ALL, VOID), board_of(view, VOTES)
    assert plain(board) == plain(without)
    assert (board.votes, board.categories, board.style) == (without.votes, without.categories, without.style)
    assert board.forfeits > without.forfeits == 0


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_forfeits_that_count_rate_as_votes_would(view: View) -> None:
    board, as_votes = board_of(view, ALL), board_of(view, [replace(vote, forfeit=False) for vote in ALL])
    assert plain(board) == plain(as_votes)
    assert board.votes + board.forfeits == as_votes.votes
    assert [each.votes for each in sorted(board.categories, key=lambda each: each.category)] == [
        len(belonging(VOTES, View(view.window, category), TODAY)) for category in sorted(Category)
    ], "categories tell votes"


def test_nobody_judged_the_style_of_a_forfeited_battle() -> None:
    board = board_of(View(style=True), ALL)
    differences = np.array([_differences(vote) for vote in ALL], dtype=np.float32)
    differences[[vote.forfeit for vote in ALL]] = 0
    first = [NAMES.index(vote.contestant_a) for vote in ALL]
    second = [NAMES.index(vote.contestant_b) for vote in ALL]
    fit = fit_style(NAMES, first, second, [WINNER_CODES[vote.winner] for vote in ALL], differences)
    assert {row.model: row.rating for row in board.rows} == pytest.approx(
        dict(zip(NAMES, fit.ratings.tolist(), strict=True))
    )


def _differences(vote: RankedVote) -> list[float]:
    assert vote.traits is not None
    one, other = vote.traits.a, vote.traits.b
    sides = [(one.tokens, other.tokens), (one.headers, other.headers), (one.lists, other.lists), (one.bold, other.bold)]
    return [(a - b) / (a + b) if a + b else 0.0 for a, b in sides]


def test_style_is_left_out_where_it_becomes_known_later_too() -> None:
    columns = VoteColumns()
    columns.know(NAMES)
    columns.add([replace(vote, traits=None) for vote in ALL])
    while missing := columns.undescribed(100):
        columns.describe({vote.id: vote.traits for vote in ALL if vote.id in missing and vote.traits is not None})
    at_once = rows_of(ALL)
    assert np.array_equal(columns.rows().style, at_once.style)
    assert columns.rows().totals == at_once.totals


@pytest.mark.parametrize("rule", ForfeitRule)
def test_matrices_and_histories_count_them_and_tell_votes_alone(rule: ForfeitRule) -> None:
    for window in Window:
        view, rows = View(window), rows_of(ALL, rule)
        of_view = belonging(ALL, view, TODAY)
        matrix = make_matrix(view, rows, Projections(), setting())
        counted = [vote for vote in of_view if rule is LOSS or not vote.forfeit]
        assert matrix.votes == sum(not vote.forfeit for vote in of_view)
        assert sum(map(sum, matrix.battles)) == 2 * len(counted)
        history = make_history(view, rows, Projections(), setting())
        board = make_board(view, rows, Projections(), setting(TODAY - 1))
        for place, votes in enumerate(history.votes):
            day = TODAY - len(history.days) + place
            upto = [vote for vote in VOTES if int(vote.created_at.timestamp() // 86_400) <= day]
            assert votes == len(belonging(upto, view, day)), (window, place)
        assert {each.model: each.ratings[-1] for each in history.series} == pytest.approx(
            {row.model: row.rating for row in board.rows}, abs=1e-3
        )


def test_forfeits_alone_make_a_board_without_votes() -> None:
    forfeits = [vote for vote in ALL if vote.forfeit]
    board = board_of(View(), forfeits)
    assert (board.votes, board.forfeits) == (0, len(forfeits))
    assert any(row.rating is not None for row in board.rows)
    silent = board_of(View(), forfeits, VOID)
    assert [(row.rating, row.battles) for row in silent.rows] == [(None, 0)] * len(NAMES)
    assert {row.model: row.forfeits for row in silent.rows} == lost(forfeits)


async def forfeit(desk: Desk, side: Side) -> None:
    started, _ = await desk.ledger.conversations.start(new())
    other = Side.B if side is Side.A else Side.A
    await desk.ledger.answers.settle(forfeited(ref(started, side)))
    await desk.ledger.answers.settle(done(ref(started, other)))


async def test_the_live_board_counts_forfeits_with_the_votes(desk: Desk) -> None:
    await vote(desk)
    await forfeit(desk, Side.A)
    await desk.work()
    board = await desk.live.refresh()
    assert (board.votes, board.forfeits, board.counted) == (1, 1, 2)
    rows = {row.model: row for row in board.rows}
    assert (rows["north"].wins, rows["north"].losses, rows["north"].forfeits) == (1, 1, 1)
    assert (rows["south"].wins, rows["south"].losses, rows["south"].forfeits) == (1, 1, 0)
    assert await desk.boards.board(View()) == board
    assert all(each.traits is not None for each in (await desk.votes.votes_after(None)).votes), "texts are read"


async def test_a_worker_that_is_told_not_to_count_them_does_not(desk: Desk) -> None:
    await vote(desk)
    plain_elos = {row.model: row.elo for row in (await desk.live.refresh()).rows}
    await forfeit(desk, Side.A)
    silent = LiveBoard(
        votes=desk.votes,
        contestants=desk.ledger.contestants,
        boards=desk.boards,
        min_battles=30,
        now=desk.clock,
        forfeit=VOID,
    )
    for _ in range(2):
        board = await silent.refresh()
        assert {row.model: (row.battles, row.elo) for row in board.rows} == {
            model: (1, elo) for model, elo in plain_elos.items()
        }
        await forfeit(desk, Side.A)
    assert {row.model: row.forfeits for row in (await silent.refresh()).rows} == {"north": 3, "south": 0}


async def test_a_worker_reads_the_ledger_in_pages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        await vote(desk)
        if number % 2:
            await forfeit(desk, Side.B)
    whole = await desk.live.refresh()
    monkeypatch.setattr("agon.stores.postgres.votes._PAGE", 2)
    live, _ = desk.another()
    paged = await live.refresh()
    assert (paged.votes, paged.forfeits) == (7, 3)
    assert paged.rows == whole.rows
    await vote(desk)
    assert (await live.refresh()).rows == (await desk.live.refresh()).rows


def test_days_of_forfeits_leave_windows() -> None:
    late = replace(ALL[0], created_at=START, forfeit=True, winner=Winner.A)
    board = board_of(View(Window.WEEK), [late])
    assert (board.votes, board.forfeits) == (0, 0)
    assert all(row.forfeits == 0 for row in board.rows)
