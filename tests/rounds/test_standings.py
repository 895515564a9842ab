"""The board of a round: worked by hand, against second solvers, and whatever order its scores come in."""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rounds.scores import a_round, board, by_name, drawn, on

from agon.core.round_ports import Progress, QuestionScores
from agon.core.rounds import AnswerStage
from agon.ranking.bradley_terry import fit_bradley_terry
from agon.ranking.voters import clustered_errors
from agon.rounds.board_page import Figure, decode, encode
from agon.rounds.figures import ScoreTable, clustered_se, compare
from agon.rounds.standings import standings
from agon.rounds.student import t95

stats: Any = scipy.stats

HAND = [on("q1", a=3, b=1, c=1), on("q2", a=2, b=2, c=1), on("q3", a=4, b=5, c=1), on("q4", a=3, c=1)]


def near(value: float | None, low: float | None, high: float | None) -> Any:
    return pytest.approx((value, low, high), abs=2e-6)


def ends(figure: Figure) -> tuple[float | None, float | None, float | None]:
    return figure.value, figure.low, figure.high


def test_means_and_their_intervals_by_hand() -> None:
    rows = by_name(board(HAND))
    # Scores 3, 2, 4, 3: a variance of 2/3 over 4 questions, and 3.182446 errors on either side.
    assert ends(rows["a"].score) == near(3.0, 3 - 1.299228, 3 + 1.299228)
    assert rows["b"].score.value == pytest.approx(8 / 3, abs=1e-6)
    assert ends(rows["c"].score) == (1.0, None, None)
    assert [row.contestant for row in board(HAND).rows] == ["a", "b", "c"]


def test_win_rates_and_gaps_by_hand() -> None:
    page = board(HAND)
    assert page.rivals.contestants == ("a", "b", "c")
    assert (page.rivals.questions[0], page.rivals.wins[0], page.rivals.ties[0]) == ((0, 3, 4), (0, 1, 4), (0, 1, 0))
    cells = (page.rivals.win_rate, page.rivals.low, page.rivals.high)
    # A win, a tie and a loss: 2/5 each way with one of either added, so half of 1.959964 · sqrt(0.8 / 5) around a half.
    assert tuple(cell[0][1] for cell in cells) == near(0.5, 0.108007, 0.891993)
    # Four of four: 5/6 and 1/6, around 5/6 half of 1.959964 · sqrt((1 - 4/9) / 6), and no rate is above 1.
    assert tuple(cell[0][2] for cell in cells) == near(1.0, 0.535134, 1.0)
    gaps = (page.rivals.gap, page.rivals.gap_low, page.rivals.gap_high)
    # Differences 2, 0, -1: an error of 0.881917, and 4.302653 of them on either side.
    assert tuple(cell[0][1] for cell in gaps) == near(1 / 3, -3.461250, 4.127916)
    assert tuple(cell[1][0] for cell in gaps) == near(-1 / 3, -4.127916, 3.461250)


def test_an_average_lets_the_outcomes_of_a_question_move_together_by_hand() -> None:
    rows = by_name(board(HAND))
    assert ends(rows["a"].win_rate) == near(0.75, 0.362270, 0.971063)
    assert (rows["a"].wins, rows["a"].ties, rows["a"].losses) == (5, 1, 1)


def test_ratings_of_two_by_hand() -> None:
    questions = [on(f"q{n}", x=1.0 if n < 30 else 0.0, y=0.5) for n in range(40)]
    rows = by_name(board(questions))
    points = 400 / math.log(10)
    gap = points * math.log(3)
    # One outcome a question: the error of the log-odds is that of 30 of 40, times 40/39, and a rating is half the gap.
    half = t95(39) * 0.5 * points * math.sqrt(40 / 39 / 7.5)
    assert ends(rows["x"].rating) == near(1000 + gap / 2, 1000 + gap / 2 - half, 1000 + gap / 2 + half)
    assert (rows["x"].rating_rank, rows["y"].rating_rank) == (1, 2)


def test_rating_errors_are_those_of_the_ranking_core_with_questions_as_voters() -> None:
    table = ScoreTable.of([f"m{i}" for i in range(5)], drawn(np.random.default_rng(3), 5, 60, missing=0.2))
    rivals = compare(table)
    fit = fit_bradley_terry(rivals.counts(table.contestants))
    votes: list[tuple[int, int, int, int]] = []
    for q in range(table.units.shape[1]):
        for i in range(5):
            for j in range(i + 1, 5):
                if table.there[i, q] and table.there[j, q]:
                    gap = int(table.units[i, q] - table.units[j, q])
                    votes.append((i, j, 0 if gap > 0 else 1 if gap < 0 else 2, q))
    first, second, winners, voters = zip(*votes, strict=True)
    theirs = clustered_errors(fit.groups[0], first, second, winners, voters).se
    se, questions = clustered_se(table, rivals, fit.groups[0])
    np.testing.assert_allclose(se, theirs * math.sqrt(questions / (questions - 1)), rtol=1e-9)


def test_student_quantiles_are_those_of_others() -> None:
    for freedom in [*range(1, 60), 399, 400, 401, 2_000, 100_000]:
        assert t95(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-8)
    with pytest.raises(ValueError, match="two values"):
        t95(0)


def test_mean_intervals_are_those_of_others() -> None:
    questions = drawn(np.random.default_rng(5), 3, 50, missing=0.3)
    for row in board(questions).rows:
        scores = [each.scores[row.contestant] / 1e6 for each in questions if row.contestant in each.scores]
        low, high = stats.t.interval(0.95, len(scores) - 1, loc=np.mean(scores), scale=stats.sem(scores))
        assert ends(row.score) == near(float(np.mean(scores)), low, high)


def test_intervals_hold_what_they_promise() -> None:
    rng = np.random.default_rng(11)
    rate = gap = mean = 0
    rounds, questions = 400, 40
    for _ in range(rounds):
        hard, x, y = rng.normal(size=questions), rng.normal(0.5, 1, questions), rng.normal(0, 1, questions)
        page = board([on(f"q{n}", x=hard[n] + x[n], y=hard[n] + y[n]) for n in range(questions)], ["x", "y"])
        rows, at = by_name(page), page.rivals.contestants.index("x")
        low, high = page.rivals.gap_low[at][1 - at], page.rivals.gap_high[at][1 - at]
        assert low is not None
        assert high is not None
        gap += low < 0.5 < high
        mean += _holds(rows["x"].score, 0.5)
        rate += _holds(rows["x"].win_rate, stats.norm.cdf(0.5 / math.sqrt(2)))
    for held in (rate, gap, mean):
        assert 0.92 < held / rounds < 0.98


def _holds(figure: Figure, truth: float) -> bool:
    assert figure.low is not None
    assert figure.high is not None
    return figure.low < truth < figure.high


def test_pairs_on_the_same_questions_separate_what_means_cannot() -> None:
    rng = np.random.default_rng(2)
    hard = rng.normal(0, 3, 60)
    rows = by_name(board([on(f"q{n}", x=h + 0.4 + 0.1 * rng.normal(), y=h) for n, h in enumerate(hard)]))
    assert (rows["x"].rank, rows["y"].rank) == (1, 1)
    assert (rows["x"].paired_rank, rows["y"].paired_rank) == (1, 2)


def test_what_the_scores_do_not_tell_is_not_invented() -> None:
    rows = by_name(board([on("q1", x=2, y=1)], ["x", "y", "z"]))
    assert ends(rows["x"].score) == (2.0, None, None)
    assert (rows["x"].rank, rows["x"].rating) == (None, Figure())
    assert {note.code for note in rows["x"].notes} == {"unbounded_above"}
    assert {note.code for note in rows["y"].notes} == {"unbounded_below"}
    assert (rows["z"].score, rows["z"].win_rate, rows["z"].paired_rank) == (Figure(), Figure(), None)
    assert [note.code for note in rows["z"].notes] == ["no_scores"]


def test_a_clean_sweep_is_above_all_ratings_and_still_ranked_by_score() -> None:
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(40, 2))
    page = board([on(f"q{n}", top=9 + 0.1 * x, x=x, y=y) for n, (x, y) in enumerate(noise.tolist())])
    rows = by_name(page)
    assert rows["top"].rating == Figure()
    assert [note.code for note in rows["top"].notes] == ["unbounded_above"]
    assert (rows["top"].rank, rows["top"].paired_rank) == (1, 1)
    assert (rows["x"].paired_rank, rows["x"].rating_rank) == (2, 1)
    top = page.rivals.contestants.index("top")
    assert all(low is None or low > 0.85 for low in page.rivals.low[top])


def test_contestants_that_share_no_question_are_not_compared() -> None:
    rng = np.random.default_rng(6)
    first = [on(f"f{n}", a=rng.normal(), b=rng.normal()) for n in range(12)]
    second = [on(f"s{n}", c=rng.normal(), d=rng.normal()) for n in range(12)]
    page = board([*first, *second])
    assert {note.code for note in page.notes} == {"few_questions", "questions_differ", "no_rating"}
    assert all("not_comparable" in {note.code for note in row.notes} for row in page.rows)
    a, c = (page.rivals.contestants.index(name) for name in "ac")
    assert (page.rivals.questions[a][c], page.rivals.win_rate[a][c], page.rivals.gap[a][c]) == (0, None, None)


def test_nothing_but_equal_scores_leaves_no_doubt_if_there_are_enough() -> None:
    few = by_name(board([on(f"q{n}", x=1, y=0) for n in range(5)]))
    many = by_name(board([on(f"q{n}", x=1, y=0) for n in range(6)]))
    assert (few["x"].rank, few["y"].paired_rank) == (None, 1)
    assert (many["x"].rank, many["y"].rank, many["y"].paired_rank) == (1, 2, 2)
    assert "equal_scores" in {note.code for note in many["x"].notes}


def test_nothing_but_ties_is_no_certainty() -> None:
    page = board([on(f"q{n}", x=n, y=n) for n in range(40)])
    low, high = page.rivals.low[0][1], page.rivals.high[0][1]
    assert low is not None
    assert high is not None
    assert low < 0.5 < high
    rating = page.rows[0].rating
    assert rating.low is not None
    assert rating.low < 1000 - 50


def test_a_category_needs_enough_questions() -> None:
    rng = np.random.default_rng(1)
    many = [on(f"w{n}", "writing", x=rng.normal(), y=rng.normal()) for n in range(12)]
    few = [on(f"m{n}", "maths", x=rng.normal(), y=rng.normal()) for n in range(9)]
    page = board([*few, *many, on("bare", x=1, y=0)])
    assert [(each.category, each.questions, each.sparse) for each in page.categories] == [
        ("writing", 12, False),
        ("maths", 9, True),
    ]
    assert page.categories[0].rows == board(many).rows
    assert page.categories[1].rows == ()


def test_answers_are_counted_by_what_became_of_them() -> None:
    progress = [Progress("x", {AnswerStage.SCORED: 3, AnswerStage.FAILED: 1, AnswerStage.ABSTAINED: 2})]
    page = standings(a_round(["x"], 10), [on(f"q{n}", x=n) for n in range(3)], progress, made_at=None)
    counts = page.answers["x"]
    assert (counts.missing, counts.scored, counts.failed, counts.abstained, counts.parked) == (4, 3, 1, 2, 0)
    assert (page.merged, page.scored_questions, page.questions) == (3, 3, 10)


def test_fewer_answers_are_noted() -> None:
    page = board([on("q1", x=1, y=2), on("q2", x=2, y=2), on("q3", x=1)])
    assert "fewer_answers" in {note.code for note in by_name(page)["y"].notes}
    assert "fewer_answers" not in {note.code for note in by_name(page)["x"].notes}
    assert [note.code for note in page.notes] == ["few_questions", "questions_differ"]


def test_few_questions_are_noted_once_or_of_those_that_they_concern() -> None:
    rng = np.random.default_rng(12)
    short = board([on(f"q{n}", x=rng.normal(), y=rng.normal()) for n in range(29)])
    assert [note.code for note in short.notes] == ["few_questions"]
    assert not any(row.notes for row in short.rows)
    late = board([on("q", x=1.0), *(on(f"q{n}", x=rng.normal(), y=rng.normal()) for n in range(29))])
    assert [note.code for note in late.notes] == ["questions_differ"]
    assert {note.code for note in by_name(late)["y"].notes} == {"fewer_answers", "few_questions"}
    assert by_name(late)["x"].notes == ()


scored = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.integers(-3, 3), min_size=1), min_size=1, max_size=25
).map(lambda rows: [on(f"q{n}", "c" if n % 2 else "d", **row) for n, row in enumerate(rows)])


@settings(max_examples=60, deadline=None)
@given(scored, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_no_matter(questions: list[QuestionScores], random: Any) -> None:
    turned = [replace(each, scores=dict(random.sample([*each.scores.items()], len(each.scores)))) for each in questions]
    random.shuffle(turned)
    names = sorted({name for each in questions for name in each.scores})
    assert board(questions, names) == board(turned, random.sample(names, len(names)))


@settings(max_examples=60, deadline=None)
@given(scored)
def test_other_names_are_no_matter(questions: list[QuestionScores]) -> None:
    other = dict(zip("abcde", "vdzbq", strict=True))
    renamed = [replace(each, scores={other[name]: score for name, score in each.scores.items()}) for each in questions]
    found, expected = by_name(board(renamed)), by_name(board(questions))
    for name, row in expected.items():
        there = found[other[name]]
        assert (there.rank, there.paired_rank, there.wins, there.ties, there.losses) == (
            row.rank,
            row.paired_rank,
            row.wins,
            row.ties,
            row.losses,
        )
        assert ends(there.score) == near(*ends(row.score))
        assert ends(there.win_rate) == near(*ends(row.win_rate))


@settings(max_examples=60, deadline=None)
@given(scored)
def test_what_holds_of_every_board(questions: list[QuestionScores]) -> None:
    page = board(questions)
    assert decode(encode(page)) == page
    rivals = page.rivals
    for i in range(len(rivals.contestants)):
        for j in range(len(rivals.contestants)):
            assert rivals.wins[i][j] + rivals.ties[i][j] + rivals.wins[j][i] == rivals.questions[i][j]
            rate, low, high = rivals.win_rate[i][j], rivals.low[i][j], rivals.high[i][j]
            if rate is not None and low is not None and high is not None:
                assert 0 <= low <= rate <= high <= 1
                assert rate + (rivals.win_rate[j][i] or 0.0) == pytest.approx(1, abs=2e-6)
    for row in page.rows:
        if row.win_rate.value is not None and row.win_rate.low is not None and row.win_rate.high is not None:
            assert 0 <= row.win_rate.low <= row.win_rate.value <= row.win_rate.high <= 1


def test_harder_questions_move_no_win_rate_and_no_gap() -> None:
    questions = drawn(np.random.default_rng(8), 4, 30)
    harder = [
        replace(each, scores={name: score - 1_000_000 * n for name, score in each.scores.items()})
        for n, each in enumerate(questions)
    ]
    plain, moved = board(questions).rivals, board(harder).rivals
    assert (moved.win_rate, moved.low, moved.gap) == (plain.win_rate, plain.low, plain.gap)


def test_the_matrix_of_very_many_holds_the_best() -> None:
    page = board(drawn(np.random.default_rng(9), 120, 6))
    assert len(page.rows) == 120
    assert page.rivals.contestants == tuple(row.contestant for row in page.rows[:100])
    assert {len(row) for row in page.rivals.win_rate} == {100}


@pytest.mark.slow
def test_a_large_round_is_quick() -> None:
    questions = drawn(np.random.default_rng(9), 42, 1_000)
    begun = time.process_time()
    page = board(questions)
    encode(page)
    assert time.process_time() - begun < 1.5
    assert page.merged == 42_000
