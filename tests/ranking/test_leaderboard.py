import numpy as np
import pytest
from tests.ranking.support import counts_of, draw_votes

from agon.core.errors import InvalidInput
from agon.core.votes import Winner
from agon.ranking.bradley_terry import Anchor, fit_bradley_terry
from agon.ranking.elo import EloState, VoteKey
from agon.ranking.leaderboard import Leaderboard, NoteCode, leaderboard
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import overlap_ranks

EVEN = (2, 0, 2)


def codes(board: Leaderboard) -> dict[str, list[str]]:
    return {row.model: [str(note.code) for note in row.notes] for row in board.rows}


def test_an_empty_board() -> None:
    assert leaderboard(PairCounts.empty()).rows == ()
    board = leaderboard(PairCounts.empty(("y", "x")))
    assert codes(board) == {"x": ["no_battles"], "y": ["no_battles"]}
    assert all(row.rating is row.rank is row.win_rate is row.low is None for row in board.rows)


def test_a_single_win_rates_nobody() -> None:
    board = leaderboard(counts_of([("x", "y", 1, 0, 0)]), min_battles=1)
    assert codes(board) == {"x": ["unbounded_above"], "y": ["unbounded_below"]}
    assert all(row.rating is row.rank is None for row in board.rows)


def test_the_middle_of_a_chain_is_not_comparable() -> None:
    board = leaderboard(counts_of([("x", "y", 3, 0, 0), ("y", "z", 3, 0, 0)]), min_battles=1)
    assert codes(board) == {"x": ["unbounded_above"], "y": ["not_comparable"], "z": ["unbounded_below"]}


def test_unbounded_groups_leave_the_core_rated() -> None:
    core = [("b", "c", *EVEN), ("c", "d", *EVEN)]
    top = [("t", "u", *EVEN), ("t", "b", 4, 0, 0)]
    board = leaderboard(counts_of([*core, *top, ("d", "low", 3, 0, 0)]), min_battles=1)
    alone = leaderboard(counts_of(core), min_battles=1)
    rated = {row.model: row.rating for row in board.rows if row.rating is not None}
    assert rated == pytest.approx({row.model: row.rating for row in alone.rows})
    found = codes(board)
    assert found["t"] == found["u"] == ["unbounded_above"]
    assert found["low"] == ["unbounded_below"]
    rows = {row.model: row for row in board.rows}
    # Four wins of four against a model at 1000: chance 0.025 ** (1/4) of each.
    chance = 0.025**0.25
    assert rows["t"].low == pytest.approx(1000.0 + 400.0 * np.log10(chance / (1.0 - chance)))
    assert rows["low"].high is not None
    assert rows["low"].low is rows["t"].high is None
    # Never met anybody of the core itself, so nothing limits it from below.
    assert rows["u"].low is None


def test_models_that_hang_apart_are_neither_above_nor_below() -> None:
    rows = [("a", "b", *EVEN), ("up", "a", 2, 0, 0), ("up", "side", 2, 0, 0)]
    assert codes(leaderboard(counts_of(rows), min_battles=1)) == {
        "a": [],
        "b": [],
        "up": ["unbounded_above"],
        "side": ["not_comparable"],
    }


def test_the_smaller_island_has_ratings_but_no_ranks() -> None:
    rows = [("a", "b", *EVEN), ("b", "c", *EVEN), ("x", "y", 9, 0, 1)]
    board = leaderboard(counts_of(rows), min_battles=1)
    assert [row.model for row in board.rows] == ["b", "a", "c", "x", "y"]
    assert [row.rank for row in board.rows] == [1, 1, 1, None, None]
    assert board.rows[3].rating == pytest.approx(1000.0 + 200.0 * np.log10(9.0))
    assert codes(board)["x"] == codes(board)["y"] == ["not_comparable"]
    assert codes(board)["a"] == []


def test_of_two_equal_islands_neither_is_ranked() -> None:
    board = leaderboard(counts_of([("a", "b", *EVEN), ("x", "y", *EVEN)]), min_battles=1)
    assert all(row.rank is None and row.rating == pytest.approx(1000.0) for row in board.rows)
    assert all(notes == ["not_comparable"] for notes in codes(board).values())


def test_of_two_rated_groups_on_an_island_the_busier_is_the_core() -> None:
    board = leaderboard(counts_of([("a", "b", *EVEN), ("x", "y", 9, 0, 9), ("a", "x", 1, 0, 0)]), min_battles=1)
    assert codes(board) == {"x": [], "y": [], "a": ["unbounded_above"], "b": ["unbounded_above"]}


def test_islands_do_not_mix_in_the_order_of_rows() -> None:
    ring = [("a", "b", *EVEN), ("b", "c", *EVEN)]
    board = leaderboard(counts_of([*ring, ("p", "q", 9, 0, 1), ("x", "y", 6, 0, 4)]))
    assert [row.model for row in board.rows] == ["b", "a", "c", "p", "q", "x", "y"]


def test_few_battles_are_marked_with_the_bound() -> None:
    board = leaderboard(counts_of([("x", "y", 20, 0, 10), ("y", "z", 3, 0, 3)]), min_battles=31)
    assert codes(board) == {"x": ["few_battles"], "y": [], "z": ["few_battles"]}
    (note,) = board.rows[0].notes
    assert note.code is NoteCode.FEW_BATTLES
    assert "31" in note.sentence


def test_a_row_tells_its_counts() -> None:
    counts = PairCounts.from_codes(("x", "y"), [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 3], [5, 2, 2, 1])
    elo = EloState().apply(VoteKey(1.0, "v"), "x", "y", Winner.A)
    x = leaderboard(counts, elo=elo).rows[0]
    assert (x.model, x.battles, x.wins, x.losses, x.ties, x.both_bad) == ("x", 10, 5, 2, 2, 1)
    assert x.win_rate == pytest.approx(0.65)
    assert x.elo == pytest.approx(1002.0)
    assert x.rating is not None
    assert x.se is not None
    assert x.low == pytest.approx(x.rating - 1.959963984540054 * x.se)


def test_rows_stand_by_rating_then_battles_then_name() -> None:
    votes = draw_votes(4, np.linspace(-1.0, 1.0, 9), 3000)
    board = leaderboard(votes.counts())
    ratings = [row.rating for row in board.rows if row.rating is not None]
    assert ratings == sorted(ratings, reverse=True)
    assert board.rows[0].model == "m8"
    assert board.votes == 3000
    level = leaderboard(counts_of([("z", "y", *EVEN), ("y", "x", *EVEN), ("x", "z", *EVEN)]))
    assert [row.model for row in level.rows] == ["x", "y", "z"]


def test_a_model_with_draws_alone_is_not_certain() -> None:
    board = leaderboard(counts_of([("x", "y", 0, 5, 0), ("y", "z", 0, 3, 0)]))
    assert all(row.se is not None and row.se > 50.0 for row in board.rows)


def test_an_anchor_moves_all_ratings_and_no_gap() -> None:
    counts = draw_votes(5, np.linspace(-1.0, 1.0, 5), 800).counts()
    free, held = fit_bradley_terry(counts), fit_bradley_terry(counts, anchor=Anchor("m2", 1200.0))
    assert held.ratings[2] == 1200.0
    assert held.se[2] == 0.0
    assert held.ratings - 1200.0 == pytest.approx(free.ratings - free.ratings[2])
    gap = free.gap("m4", "m2")
    assert gap is not None
    assert held.se[4] == pytest.approx(gap.se_robust)


@pytest.mark.parametrize("anchor", [Anchor("nobody"), Anchor("x", float("nan"))])
def test_a_bad_anchor_is_refused(anchor: Anchor) -> None:
    with pytest.raises(InvalidInput):
        leaderboard(counts_of([("x", "y", *EVEN)]), anchor=anchor)


def test_overlap_ranks_are_shared_and_skip() -> None:
    low, high = np.array([10.0, 8.0, 1.0, 9.0]), np.array([12.0, 11.0, 2.0, 9.5])
    assert overlap_ranks(low, high).tolist() == [1, 1, 4, 2]
    # Ends that touch still overlap.
    assert overlap_ranks(np.array([5.0, 7.0]), np.array([7.0, 9.0])).tolist() == [1, 1]
