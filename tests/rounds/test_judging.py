"""What a round tells of its judge, by hand."""

from uuid import uuid4

import pytest

from agon.core.errors import NotFound
from agon.core.rounds import AnswerStage, Round, RoundContestant
from agon.rounds.judging import JudgedAnswer, clustered, judge_figures
from agon.scoring.agreement import share_of

NAMES = ("anchor", "judge", "other")


def of(scorer: str = "judge:judge") -> Round:
    contestants = tuple(RoundContestant(name, made_here=True) for name in NAMES)
    return Round(uuid4(), "r", scorer, contestants, 4, anchor="anchor")


def scored(question: str, contestant: str, score: float, *verdicts: str, exact: int = 2) -> JudgedAnswer:
    return JudgedAnswer(question, contestant, AnswerStage.SCORED, score, None, verdicts, exact, 0, 100)


def silent(question: str, contestant: str, reason: str, *verdicts: str | None, repeated: int = 0) -> JudgedAnswer:
    return JudgedAnswer(question, contestant, AnswerStage.ABSTAINED, None, reason, verdicts, 0, repeated, 50)


ANSWERS = [
    *(scored(question, "anchor", 0.5) for question in ("1", "2", "3", "4")),
    scored("1", "judge", 1.0, "A>>B", "B>>A"),
    scored("2", "judge", 0.75, "A>B", "B>>A"),
    scored("3", "judge", 0.75, "A>B", "B>A", exact=1),
    silent("4", "judge", "judge_abstained", "?"),
    scored("1", "other", 0.5, "A=B", "A=B"),
    silent("2", "other", "orders_disagree", "A>B", "A>B"),
    scored("3", "other", 0.25, "B>A", "A>B"),
    silent("4", "other", "unparseable", None, repeated=1),
]


def test_shares_are_of_what_the_judge_was_asked() -> None:
    found = judge_figures(of(), ANSWERS)
    assert (found.judge, found.anchor, found.answers, found.tokens) == ("judge", "anchor", 8, 5 * 100 + 3 * 50)
    shares = (found.scored, found.unparseable, found.orders_disagree, found.judge_abstained)
    assert [(each.count, each.of) for each in shares] == [(5, 8), (1, 8), (1, 8), (1, 8)]
    assert (found.exact.count, found.exact.of) == (9, 14)
    assert (found.repeated.count, found.repeated.of) == (1, 14)


def test_position_counts_verdicts_that_prefer_an_answer() -> None:
    found = judge_figures(of(), ANSWERS).first_shown
    # Each agreeing pair prefers the first shown once; the disagreeing one does so twice.
    assert (found.count, found.of) == (1 + 1 + 1 + 2 + 1, 10)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.6 < found.high


def test_its_own_answers_are_compared_question_by_question() -> None:
    found = judge_figures(of(), ANSWERS).self_preference
    assert found is not None
    # Others on question 1: 0.5 and 0.5; on 2: 0.5; on 3: 0.5 and 0.25. Gaps 0.5, 0.25, 0.375.
    assert found.questions == 3
    assert found.difference == pytest.approx(0.375)
    assert (found.own, found.others) == (pytest.approx(2.5 / 3), pytest.approx(1.375 / 3))
    # Standard error 0.125 / √3, and t of two degrees 4.303.
    assert found.low == pytest.approx(0.375 - 4.30265 * 0.125 / 3**0.5, abs=1e-4)
    assert judge_figures(of("judge:somebody"), ANSWERS).self_preference is None


def test_what_leans_together_is_not_counted_twice() -> None:
    alone = clustered([(str(n), float(n % 2), 1) for n in range(40)])
    together = clustered([(str(n), float(n % 2), 1) for n in range(40) for _ in range(5)])
    assert (alone.share, together.share) == (0.5, 0.5)
    assert (together.count, together.of) == (100, 200)
    assert together.low == pytest.approx(alone.low)
    # Not the interval of 200 that are independent.
    assert together.low is not None
    assert together.low < (share_of(100, 200).low or 0) - 0.05


def test_questions_that_all_say_the_same_leave_room_for_others() -> None:
    found = clustered([(str(n), 2.0, 2) for n in range(10)])
    assert (found.share, found.high) == (1.0, pytest.approx(1.0))
    assert found.low == share_of(10, 10).low
    assert clustered([]) == share_of(0, 0)


def test_a_round_without_a_judge_says_so() -> None:
    with pytest.raises(NotFound) as refused:
        judge_figures(of("format"), ANSWERS)
    assert refused.value.code == "no_judge"


def test_a_round_of_which_nothing_is_judged_has_no_numbers() -> None:
    found = judge_figures(of(), [])
    assert (found.answers, found.scored.share, found.first_shown.low, found.self_preference) == (0, None, None, None)
