"""Boards by every method, and the one call of a notebook."""

import doctest

import numpy as np
import pytest
from tests.ranking.support import counts_of, draw_votes

import agon.ranking
from agon.core.errors import InvalidInput
from agon.ranking import (
    Anchor,
    BoardOptions,
    CleaningRules,
    Coded,
    CodedBattles,
    Method,
    RawBattles,
    RawStyle,
    Ties,
    board_of,
    category_boards,
    clean,
    rank,
    rank_raw,
    win_matrix,
)
from agon.ranking.bradley_terry import fit_bradley_terry
from agon.ranking.leaderboard import Leaderboard, leaderboard
from agon.ranking.style import fit_style
from agon.ranking.ties import TieModel, fit_ties
from agon.ranking.voters import clustered_errors

NUMBER = 1200
WORDS = ["model_a", "model_b", "tie", "tie (bothbad)"]


@pytest.fixture(scope="module")
def battles() -> CodedBattles:
    votes = draw_votes(2, np.linspace(-0.6, 0.6, 5), NUMBER)
    rng = np.random.default_rng(2)
    counts = rng.poisson(5.0, (NUMBER, 4))
    raw = RawBattles(
        Coded(votes.first, votes.models),
        Coded(votes.second, votes.models),
        Coded(votes.winners, WORDS),
        voter=[f"v{number}" for number in rng.integers(0, 80, NUMBER)],
        timestamp=np.arange(NUMBER, dtype=np.float64),
        style=RawStyle(("tokens", "bold"), counts[:, :2], counts[:, 2:]),
        category=["code", ["math", "code"], None, ["math"]] * (NUMBER // 4),
    )
    found = clean(raw).battles
    assert found is not None
    return found


def column(board: Leaderboard, name: str) -> dict[str, float]:
    return {row.model: getattr(row, name) for row in board.rows}


def test_plain_options_are_the_plain_board(battles: CodedBattles) -> None:
    assert board_of(battles.counts()).board.rows == leaderboard(battles.counts()).rows


def test_errors_by_voter(battles: CodedBattles) -> None:
    counts = battles.counts()
    board = board_of(counts, BoardOptions(by_voter=True), battles=battles).board
    (group,) = fit_bradley_terry(counts).groups
    assert battles.voters is not None
    expected = clustered_errors(group, battles.first, battles.second, battles.winners, battles.voters.codes)
    assert column(board, "se") == pytest.approx(dict(zip(battles.models, expected.se, strict=True)))
    for row in board.rows:
        assert row.rating is not None
        assert row.se is not None
        assert row.high == pytest.approx(row.rating + 1.959963984540054 * row.se)
    held = board_of(counts, BoardOptions(by_voter=True, anchor=Anchor("m1", 900.0)), battles=battles).board
    assert column(held, "se")["m1"] == 0.0
    assert column(held, "se")["m0"] == pytest.approx(expected.of_gap(0, 1))


@pytest.mark.parametrize("by_voter", [False, True])
def test_bootstrap_errors(battles: CodedBattles, by_voter: bool) -> None:
    options = BoardOptions(bootstrap=300, by_voter=by_voter)
    found = board_of(battles.counts(), options, battles=battles, rng=np.random.default_rng(1))
    assert found.bootstrap is not None
    assert column(found.board, "rating") == pytest.approx(column(leaderboard(battles.counts()), "rating"))
    assert [column(found.board, "low")[model] for model in battles.models] == pytest.approx(found.bootstrap.low)
    with pytest.raises(InvalidInput) as caught:
        board_of(battles.counts(), options, battles=battles)
    assert caught.value.code == "generator_needed"


def test_style_control(battles: CodedBattles) -> None:
    found = board_of(battles.counts(), BoardOptions(style=True, anchor=Anchor("m0", 800.0)), battles=battles)
    assert battles.style is not None
    names = battles.style_names
    fit = fit_style(battles.models, battles.first, battles.second, battles.winners, battles.style, names=names)
    ratings = column(found.board, "rating")
    assert [ratings[model] for model in fit.models] == pytest.approx(fit.ratings - fit.ratings[0] + 800.0)
    assert column(found.board, "se")["m0"] == pytest.approx(0.0, abs=1e-6)
    assert found.style is not None
    assert found.style.names == ("tokens", "bold")


@pytest.mark.parametrize("method", [Method.DAVIDSON, Method.RAO_KUPPER])
def test_tie_models(battles: CodedBattles, method: Method) -> None:
    found = board_of(battles.counts(), BoardOptions(method=method))
    fit = fit_ties(battles.counts(), TieModel(method.value))
    assert [column(found.board, "rating")[model] for model in fit.models] == pytest.approx(fit.ratings)
    assert [column(found.board, "se")[model] for model in fit.models] == pytest.approx(fit.se)
    held = board_of(battles.counts(), BoardOptions(method=method, anchor=Anchor("m3", 1100.0))).board
    assert column(held, "rating")["m3"] == 1100.0
    assert held.rows[0].rank == 1


def test_dropped_ties_still_show() -> None:
    counts = counts_of([("x", "y", 6, 5, 2), ("y", "z", 4, 1, 4)])
    rows = {row.model: row for row in board_of(counts, BoardOptions(ties=Ties.DROP)).board.rows}
    assert rows["x"].ties == 5
    tied = board_of(counts_of([("x", "y", 3, 0, 2), ("y", "z", 0, 4, 0)]), BoardOptions(ties=Ties.DROP, min_battles=1))
    assert {row.model: [str(note.code) for note in row.notes] for row in tied.board.rows}["z"] == ["not_comparable"]
    assert rows["x"].rating is not None
    assert rows["y"].rating is not None
    assert rows["x"].rating - rows["y"].rating == pytest.approx(400.0 * np.log10(3.0))


@pytest.mark.parametrize("by_voter", [False, True])
@pytest.mark.parametrize("bootstrap", [0, 50])
def test_the_errors_of_dropped_ties_are_those_of_votes_without_ties(
    battles: CodedBattles, by_voter: bool, bootstrap: int
) -> None:
    won = battles.where(np.isin(battles.winners, (0, 1)))
    dropped, bare = (
        board_of(
            votes.counts(),
            BoardOptions(ties=ties, by_voter=by_voter, bootstrap=bootstrap),
            battles=votes,
            rng=np.random.default_rng(4),
        ).board
        for votes, ties in ((battles, Ties.DROP), (won, Ties.HALF))
    )
    for name in ("rating", "se", "low", "high"):
        assert column(dropped, name) == pytest.approx(column(bare, name))


@pytest.mark.parametrize(
    "options",
    [
        {"method": Method.ELO, "style": True},
        {"method": Method.DAVIDSON, "bootstrap": 10},
        {"method": Method.RAO_KUPPER, "by_voter": True},
        {"method": Method.ELO, "ties": Ties.DROP},
        {"style": True, "bootstrap": 10},
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        BoardOptions(**options)  # pyright: ignore[reportArgumentType]
    assert caught.value.code == "bad_method"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (BoardOptions(style=True), "missing_style"),
        (BoardOptions(by_voter=True), "missing_voter"),
    ],
)
def test_what_the_votes_do_not_tell_is_said(options: BoardOptions, code: str) -> None:
    cleaned = clean(RawBattles(["x", "y"], ["y", "x"], ["a", "a"]))
    with pytest.raises(InvalidInput) as caught:
        board_of(cleaned.counts, options, battles=cleaned.battles)
    assert caught.value.code == code
    with pytest.raises(InvalidInput) as caught:
        board_of(cleaned.counts, options)
    assert caught.value.code == "rows_needed"


def test_a_board_of_nothing_is_empty_by_any_method() -> None:
    nothing = clean(RawBattles([], [], []))
    for options in (
        BoardOptions(),
        BoardOptions(method=Method.ELO),
        BoardOptions(method=Method.DAVIDSON),
        BoardOptions(bootstrap=5),
    ):
        found = board_of(nothing.counts, options, battles=nothing.battles, rng=np.random.default_rng(0))
        assert found.board.rows == ()


def test_categories_have_boards_and_sparse_ones_say_so(battles: CodedBattles) -> None:
    boards = category_boards(battles, min_votes=400)
    assert [board.name for board in boards] == ["code", "math"]
    assert [board.votes for board in boards] == [NUMBER // 2, NUMBER // 2]
    assert all(board.sparse is None for board in boards)
    inside = np.isin(battles.rows % 4, (0, 1))
    expected = leaderboard(battles.where(inside).tidied().counts())
    assert boards[0].board.rows == expected.rows
    sparse = category_boards(battles.where(slice(0, 40)), min_votes=400)
    assert all(board.sparse is not None and "fewer than 400" in board.sparse for board in sparse)
    plain = clean(RawBattles(["x"] * 3, ["y"] * 3, ["a"] * 3, category=["code"] * 3)).battles
    assert plain is not None
    assert category_boards(plain, min_votes=1)[0].sparse == "Its votes do not compare the models with each other."
    bare = clean(RawBattles(["x"], ["y"], ["a"])).battles
    assert bare is not None
    assert category_boards(bare) == ()


def test_matrices_tell_what_was_seen_and_what_is_expected() -> None:
    counts = counts_of([("a", "b", 6, 2, 2), ("b", "c", 5, 0, 5), ("x", "y", 1, 0, 1)])
    fit = fit_bradley_terry(counts)
    found = win_matrix(counts, fit)
    place = {model: code for code, model in enumerate(found.models)}
    assert found.observed[place["a"], place["b"]] == pytest.approx(0.7)
    assert np.isnan(found.observed[place["a"], place["c"]])
    assert found.predicted[place["a"], place["c"]] == pytest.approx(0.7)
    assert np.isnan(found.predicted[place["a"], place["x"]])
    assert np.isnan(np.diag(found.predicted)).all()
    assert found.average[place["a"]] == pytest.approx(0.7)
    assert found.average[place["b"]] == pytest.approx((0.3 + 0.5) / 2.0)
    assert found.observed_average[place["a"]] == pytest.approx(0.7)
    assert found.battles[place["a"], place["b"]] == 10
    unrated = counts_of([("a", "b", 1, 0, 0)])
    assert np.isnan(win_matrix(unrated, fit_bradley_terry(unrated)).average).all()


def test_a_notebook_needs_few_lines() -> None:
    result = rank(["x", "y", "x", ""], ["y", "x", "y", "x"], np.array(["a", "a", "tie", "b"]))
    text = str(result)
    assert text.splitlines()[0].split()[:3] == ["rank", "model", "rating"]
    assert "3 votes counted, 1 rejected: 1 missing_model" in text
    assert result.matrix().battles[0, 1] == 3
    late = rank(["x", "y"], ["y", "x"], ["a", "a"], timestamp=[1.0, 2.0], rules=CleaningRules(since=2.0))
    assert late.report.rejected == {"too_early": 1}
    assert rank_raw(RawBattles([], [], [])).board.rows == ()


def test_the_example_of_the_package_runs() -> None:
    assert doctest.testmod(agon.ranking).failed == 0
    assert doctest.testmod(agon.ranking).attempted == 5


def test_every_public_name_is_there() -> None:
    assert all(hasattr(agon.ranking, name) for name in agon.ranking.__all__)
