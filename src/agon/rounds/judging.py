"""What a round tells of its judge: whether it goes by the order, favours its own answers, gives verdicts at all. PURE.

Questions are the sample: what is said of several answers to one leans together, so errors are those of sums by
question.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from agon.core.errors import NotFound
from agon.core.rounds import AnswerStage, Round
from agon.rounds.student import t95
from agon.scoring.agreement import Share, share_of
from agon.scoring.judge import JUDGE_ABSTAINED, ORDERS_DISAGREE, PREFIX, UNPARSEABLE
from agon.scoring.parsing import Verdict


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer that a judge has looked at, as the ledger has it."""

    question: str
    contestant: str
    stage: AnswerStage
    """Scored or abstained."""
    score: float | None
    reason: str | None
    """Why there is no score."""
    verdicts: tuple[str | None, ...]
    """With the answer first, then with the anchor's first; empty where nobody was asked."""
    exact: int
    """Of these, those that were written to the letter."""
    repeated: int
    """Of these, those that had to be asked for twice."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference over so many questions, with its 95 % interval where there are two."""

    own: float
    others: float
    difference: float
    low: float | None
    high: float | None
    questions: int


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    judge: str
    anchor: str | None
    answers: int
    """That it was asked about."""
    scored: Share
    unparseable: Share
    orders_disagree: Share
    judge_abstained: Share
    first_shown: Share
    """Of the verdicts that prefer an answer, how many prefer the one shown first; a half is fair."""
    exact: Share
    """Of the verdicts, those written to the letter."""
    repeated: Share
    """Of the verdicts, those that had to be asked for twice."""
    self_preference: Difference | None
    """Scores of its own answers and of all others to the same questions; `None` where it takes no part."""
    tokens: int
    """That it read and wrote."""


def judge_of(of: Round) -> str:
    """The contestant that judges a round. Raises `NotFound` (`no_judge`)."""
    if not of.scorer.startswith(PREFIX):
        raise NotFound(f"This round is scored by {of.scorer}, not by a judge.", code="no_judge")
    return of.scorer.removeprefix(PREFIX)


def judge_figures(of: Round, answers: Sequence[JudgedAnswer]) -> JudgeFigures:
    """Raises `NotFound` (`no_judge`)."""
    judge = judge_of(of)
    asked = [answer for answer in answers if answer.verdicts]
    said = sum(len(answer.verdicts) for answer in asked)

    def because(reason: str) -> Share:
        return clustered((each.question, float(each.reason == reason), 1) for each in asked)

    return JudgeFigures(
        judge=judge,
        anchor=of.anchor,
        answers=len(asked),
        scored=clustered((each.question, float(each.stage is AnswerStage.SCORED), 1) for each in asked),
        unparseable=because(UNPARSEABLE),
        orders_disagree=because(ORDERS_DISAGREE),
        judge_abstained=because(JUDGE_ABSTAINED),
        first_shown=clustered(_first_shown(each) for each in asked),
        exact=share_of(sum(each.exact for each in asked), said),
        repeated=share_of(sum(each.repeated for each in asked), said),
        self_preference=self_preference(judge, answers),
        tokens=sum(each.tokens for each in asked),
    )


def clustered(counts: Iterable[tuple[str, float, int]]) -> Share:
    """A share of counts by question, with an interval whose error is that of sums by question.

    Where all questions say the same, it is Wilson's over the questions.
    """
    sums: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for question, count, of in counts:
        sums[question] = sums[question][0] + count, sums[question][1] + of
    inside = [(count, of) for count, of in sums.values() if of]
    count, of = sum(each for each, _ in inside), sum(each for _, each in inside)
    if not of:
        return share_of(0.0, 0)
    share, groups = count / of, len(inside)
    squares = sum((part - share * size) ** 2 for part, size in inside)
    if groups < 2 or squares < 1e-12:
        plain = share_of(share * groups, groups)
        return Share(count, of, share, plain.low, plain.high)
    half = t95(groups - 1) * math.sqrt(squares * groups / (groups - 1)) / of
    return Share(count, of, share, max(0.0, share - half), min(1.0, share + half))


def self_preference(judge: str, answers: Iterable[JudgedAnswer]) -> Difference | None:
    """The judge's own scores less the mean of the others' on the same question, over questions."""
    own: dict[str, float] = {}
    others: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        if answer.score is None:
            continue
        if answer.contestant == judge:
            own[answer.question] = answer.score
        else:
            others[answer.question].append(answer.score)
    both = [(own[question], fmean(others[question])) for question in sorted(own) if question in others]
    if not both:
        return None
    gaps = [mine - theirs for mine, theirs in both]
    mean, number = fmean(gaps), len(gaps)
    half = None
    if number > 1:
        half = t95(number - 1) * math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / (number - 1) / number)
    return Difference(
        own=fmean(mine for mine, _ in both),
        others=fmean(theirs for _, theirs in both),
        difference=mean,
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        questions=number,
    )


def _first_shown(answer: JudgedAnswer) -> tuple[str, float, int]:
    leads = [Verdict(verdict).lead for verdict in answer.verdicts if verdict not in (None, Verdict.UNDECIDED.value)]
    return answer.question, float(sum(lead > 0 for lead in leads)), sum(lead != 0 for lead in leads)
