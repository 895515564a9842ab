"""Every view follows the votes exactly as if it were counted anew, and says what it cannot know."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from tests.boards.votes import NAMES, START, TODAY, belonging, draw, recount, setting

from agon.boards.columns import VoteColumns
from agon.boards.pages import MAX_POINTS, make_board, make_history, make_matrix
from agon.boards.projections import Projections
from agon.core.board import Board, View, Window
from agon.core.board_ports import RankedVote
from agon.core.traits import Category, Style, Traits
from agon.core.votes import Winner
from agon.ranking.outcomes import WINNER_CODES, PairCounts
from agon.ranking.style import fit_style

VOTES = draw(900)
VIEWS = [View(window, category) for window in Window for category in (None, Category.LATIN, Category.CODE)]


def columns_of(votes: Sequence[RankedVote]) -> VoteColumns:
    columns = VoteColumns()
    columns.know(NAMES)
    columns.add(votes)
    return columns


def board_of(view: View, votes: Sequence[RankedVote] = VOTES, today: int = TODAY) -> Board:
    return make_board(view, columns_of(votes).rows(), Projections(), setting(today))


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_view_that_followed_the_votes_equals_one_counted_anew(view: View) -> None:
    columns, followed = VoteColumns(), Projections()
    columns.know(NAMES)
    cuts = [0, 1, 2, 40, 41, 500, 899, 900]
    for start, stop in pairwise(cuts):
        columns.add(VOTES[start:stop])
        today = int(VOTES[stop - 1].created_at.timestamp() // 86_400)
        board = make_board(view, columns.rows(), followed, setting(today))
        anew = make_board(view, columns.rows(), Projections(), setting(today))
        by_hand = recount(belonging(VOTES[:stop], view, today))
        assert board.votes == sum(counts["battles"] for counts in by_hand.values()) // 2
        for row, other in zip(board.rows, anew.rows, strict=True):
            counts = by_hand.get(row.model, Counter[str]())
            for word in ("battles", "wins", "losses", "ties", "both_bad"):
                assert getattr(row, word) == counts[word]
            assert row.rating == pytest.approx(other.rating, abs=1e-6)
            assert row.low == pytest.approx(other.low, abs=1e-4)
            assert replace(row, rating=0, low=0, high=0) == replace(other, rating=0, low=0, high=0)


@pytest.mark.parametrize("window", [Window.WEEK, Window.MONTH])
def test_days_leave_a_window_without_a_vote(window: Window) -> None:
    rows, followed, view = columns_of(VOTES).rows(), Projections(), View(window)
    days = window.days
    assert days is not None
    for today in (TODAY - 1, TODAY, TODAY + 3, TODAY + days - 1, TODAY + days, TODAY + 400):
        board = make_board(view, rows, followed, setting(today))
        assert board.votes == len(belonging(VOTES, view, today))
    assert board.votes == 0
    assert {row.model for row in board.rows} == set(NAMES), "contestants stay, without battles"


def test_a_late_vote_of_an_earlier_day_is_counted_in_its_window() -> None:
    late = [
        replace(vote, created_at=START + timedelta(days=days)) for vote, days in zip(VOTES, (44, 41, 3), strict=False)
    ]
    columns, followed, view = VoteColumns(), Projections(), View(Window.WEEK)
    for place, expected in enumerate((1, 2, 2)):
        columns.add(late[place : place + 1])
        assert make_board(view, columns.rows(), followed, setting()).votes == expected


def test_categories_wait_for_the_texts_and_all_votes_do_not() -> None:
    unread = [replace(vote, traits=None) if place >= 30 else vote for place, vote in enumerate(VOTES[:50])]
    columns, followed = columns_of(unread), Projections()
    view = View(category=Category.LATIN)
    assert make_board(View(), columns.rows(), followed, setting()).votes == 50
    board = make_board(view, columns.rows(), followed, setting())
    assert board.votes == len(belonging(VOTES[:30], view, TODAY))
    assert ("texts_unread", "The texts of 20 votes are still to be read.") in [(n.code, n.text) for n in board.notes]
    while missing := columns.undescribed(7):
        columns.describe({vote.id: vote.traits for vote in VOTES if vote.id in missing and vote.traits is not None})
    board = make_board(view, columns.rows(), followed, setting())
    assert board.votes == len(belonging(VOTES[:50], view, TODAY))
    assert "texts_unread" not in [note.code for note in board.notes]


def test_rows_that_were_handed_out_stay_as_they_are() -> None:
    columns = columns_of(VOTES[:3])
    before = columns.rows()
    columns.add(draw(5_000, seed=2))
    assert len(before) == 3
    assert [before.models[code] for code in before.first.tolist()] == [vote.contestant_a for vote in VOTES[:3]]


def test_the_votes_of_each_category_are_told_for_the_window() -> None:
    for window in Window:
        told = {each.category: each.votes for each in board_of(View(window)).categories}
        assert told == {category: len(belonging(VOTES, View(window, category), TODAY)) for category in Category}
        assert list(told.values()) == sorted(told.values(), reverse=True)


def test_a_category_with_few_votes_says_so() -> None:
    few, many = board_of(View(category=Category.CODE)), board_of(View(category=Category.LATIN))
    assert few.votes < 300 < many.votes
    assert [note.code for note in few.notes] == ["sparse_category"]
    assert many.notes == ()


def test_votes_that_compare_nothing_are_said_to() -> None:
    board = board_of(View(), [replace(VOTES[0], winner=Winner.A)])
    assert [note.code for note in board.notes] == ["no_ranking"]
    assert all(row.rank is None and row.notes for row in board.rows)


def test_style_is_taken_out_by_the_ranking_core() -> None:
    view = View(Window.MONTH, Category.LATIN, style=True)
    board = board_of(view)
    votes = belonging(VOTES, view, TODAY)
    fit = fit_style(
        NAMES,
        [NAMES.index(vote.contestant_a) for vote in votes],
        [NAMES.index(vote.contestant_b) for vote in votes],
        [WINNER_CODES[vote.winner] for vote in votes],
        np.array([differences(vote) for vote in votes], dtype=np.float32),
    )
    expected = dict(zip(NAMES, fit.ratings.tolist(), strict=True))
    assert {row.model: row.rating for row in board.rows} == pytest.approx(expected)
    assert [weight.feature for weight in board.style] == ["tokens", "headers", "lists", "bold"]
    assert [weight.points for weight in board.style] == pytest.approx((fit.coefficients * 400 / np.log(10)).tolist())
    assert board.style[0].points - 2 * board.style[0].se > 0, "long answers were made to win"
    assert board.votes == len(votes)
    plain = {row.model: row.rating for row in board_of(replace(view, style=False)).rows}
    assert {row.model: row.rating for row in board.rows} != plain


def differences(vote: RankedVote) -> list[float]:
    assert vote.traits is not None
    pairs = [
        (getattr(vote.traits.a, name), getattr(vote.traits.b, name)) for name in ("tokens", "headers", "lists", "bold")
    ]
    return [(a - b) / (a + b) if a + b else 0.0 for a, b in pairs]


def test_where_style_cannot_be_told_apart_the_plain_board_says_why() -> None:
    flat = Style(10, 0, 0, 0)
    votes = [replace(vote, traits=Traits(frozenset(), flat, flat)) for vote in VOTES]
    board, plain = board_of(View(style=True), votes), board_of(View(), votes)
    assert board.rows == plain.rows
    assert board.style == ()
    assert [note.code for note in board.notes] == ["collinear_style"]


def test_features_that_say_nothing_new_change_nothing() -> None:
    """Nobody writes headers, and bold words stand in list items alone."""

    def plainer(style: Style) -> Style:
        return replace(style, headers=0, bold=2 * style.lists)

    votes = [
        replace(vote, traits=replace(vote.traits, a=plainer(vote.traits.a), b=plainer(vote.traits.b)))
        for vote in VOTES
        if vote.traits is not None
    ]
    board = board_of(View(style=True), votes)
    assert [weight.feature for weight in board.style] == ["tokens", "lists"]
    assert board.notes == ()
    assert board.rows != board_of(View(), votes).rows


def test_the_matrix_tells_what_was_seen_and_what_the_ratings_say() -> None:
    view = View(Window.MONTH)
    matrix = make_matrix(view, columns_of(VOTES).rows(), Projections(), setting())
    board = board_of(view)
    assert matrix.models == tuple(row.model for row in board.rows)
    rating = {row.model: row.rating for row in board.rows}
    for i, one in enumerate(matrix.models):
        for j, other in enumerate(matrix.models):
            met = [v for v in belonging(VOTES, view, TODAY) if {v.contestant_a, v.contestant_b} == {one, other}]
            points = sum(recount([vote])[one]["wins"] + 0.5 * (vote.winner in ("tie", "both_bad")) for vote in met)
            mine, yours = rating[one], rating[other]
            assert matrix.battles[i][j] == len(met)
            if i == j:
                assert matrix.observed[i][j] is matrix.predicted[i][j] is None
            else:
                assert mine is not None
                assert yours is not None
                assert matrix.observed[i][j] == pytest.approx(points / len(met), abs=1e-4)
                assert matrix.predicted[i][j] == pytest.approx(1 / (1 + 10 ** ((yours - mine) / 400)), abs=1e-4)


def test_the_matrix_leaves_out_whoever_has_not_battled() -> None:
    matrix = make_matrix(View(), columns_of(VOTES[:1]).rows(), Projections(), setting())
    assert set(matrix.models) == {VOTES[0].contestant_a, VOTES[0].contestant_b}


@pytest.mark.parametrize("window", Window)
def test_each_point_of_a_history_is_the_board_of_its_day(window: Window) -> None:
    history = make_history(View(window), columns_of(VOTES).rows(), Projections(), setting())
    assert len(history.days) == 45
    assert history.days[0] == "2026-01-01"
    for place in (0, 1, 20, 44):
        day = TODAY - 45 + place
        upto = [vote for vote in VOTES if int(vote.created_at.timestamp() // 86_400) <= day]
        board = board_of(View(window), upto, day)
        assert history.votes[place] == board.votes
        ratings = {series.model: series.ratings[place] for series in history.series}
        assert ratings == pytest.approx({row.model: row.rating for row in board.rows}, abs=1e-3)


def test_a_long_history_skips_days_and_ends_with_the_last_vote() -> None:
    history = make_history(View(), columns_of(draw(400, days=700)).rows(), Projections(), setting())
    assert MAX_POINTS // 2 < len(history.days) <= MAX_POINTS + 1
    assert history.days[-1] == (START + timedelta(days=700 * 399 / 400)).date().isoformat()
    assert history.votes[-1] == 400


def test_without_votes_every_page_is_empty() -> None:
    rows = columns_of([]).rows()
    for view in (View(), View(Window.WEEK), View(style=True), View(Window.MONTH, Category.CODE, style=True)):
        board = make_board(view, rows, Projections(), setting())
        assert (board.votes, board.style) == (0, ())
        assert [row.rating for row in board.rows] == [None] * len(NAMES)
    assert make_matrix(View(), rows, Projections(), setting()).models == ()
    assert make_history(View(), rows, Projections(), setting()).days == ()


def test_counts_of_unused_views_are_forgotten() -> None:
    rows, projections, view = columns_of(VOTES).rows(), Projections(), View(Window.WEEK)
    make_board(view, rows, projections, setting())
    assert projections.last_fit(view) is not None
    projections.only({replace(view, style=True)})
    assert projections.last_fit(view) is not None, "style is no matter of counts"
    projections.only({View()})
    assert projections.last_fit(view) is None
    counts = projections.counts(rows, view, TODAY)
    assert isinstance(counts, PairCounts)
    assert counts.votes() == len(belonging(VOTES, view, TODAY))
