"""Scorers, and what is known of how good they are, as they go over HTTP."""

from pydantic import BaseModel

from agon.rounds.agreement import AgreementPage
from agon.rounds.scorer_reader import JudgeReport


class ShareOut(BaseModel):
    """A share with its 95 % interval; `null` of none."""

    count: float
    of: int
    share: float | None
    low: float | None
    high: float | None


class BinOut(BaseModel):
    """Pairs of answers whose scores lay about equally far apart."""

    least: float
    """The smallest gap."""
    most: float
    right: ShareOut


class AgreementOut(BaseModel):
    """How often a scorer prefers the answer that the arena's voters preferred, over the newest battles of one turn."""

    revision: str
    """Of the scorer that was measured."""
    made_at: str
    pairs: int
    """All that were looked at, ties among them."""
    decided: int
    """Those that people decided and the scorer scored."""
    unscored: int
    """Those that the scorer gave no score."""
    right: ShareOut
    """Of the decided ones; where the scorer prefers neither answer, it is half right."""
    kappa: float | None
    """Cohen's: agreement beyond that of chance."""
    kappa_low: float | None
    kappa_high: float | None
    bins: list[BinOut]
    """The decided ones, from the smallest gap to the largest; large gaps should be right more often."""

    @classmethod
    def of(cls, page: AgreementPage) -> "AgreementOut":
        found = {"revision": page.revision, "made_at": page.made_at}
        names = ("pairs", "decided", "unscored", "right", "kappa", "kappa_low", "kappa_high", "bins")
        values = {name: getattr(page.agreement, name) for name in names}
        return cls.model_validate({**found, **values}, from_attributes=True)


class ScorerOut(BaseModel):
    name: str
    """As rounds name it."""
    about: str
    package: str
    """That brings it, with its version."""
    agreement: AgreementOut | None
    """`null` until it was measured."""


class ScorersOut(BaseModel):
    """What can score the answers of a round; besides, `judge:` or `grade:` with a contestant's name."""

    scorers: list[ScorerOut]


class DifferenceOut(BaseModel):
    """A mean difference of scores on the same questions, with its 95 % interval."""

    own: float
    others: float
    difference: float
    low: float | None
    high: float | None
    questions: int


class JudgeOut(BaseModel):
    """What a round tells of its judge."""

    judge: str
    anchor: str | None
    """Whose answers it compares the others with."""
    answers: int
    """That it was asked about."""
    scored: ShareOut
    unparseable: ShareOut
    """Answers for which its words held no verdict, asked twice."""
    orders_disagree: ShareOut
    """Answers for which its verdict changed with the order."""
    judge_abstained: ShareOut
    """Answers for which it could not tell."""
    first_shown: ShareOut
    """Of the verdicts that prefer an answer, those that prefer the one shown first: a half is fair."""
    exact: ShareOut
    """Of the verdicts, those written to the letter."""
    repeated: ShareOut
    """Of the verdicts, those that had to be asked for twice."""
    self_preference: DifferenceOut | None
    """Its own answers' scores and the others'; `null` where it takes no part. It may also just write better."""
    tokens: int
    """That it read and wrote."""
    agreement: AgreementOut | None
    """With the arena's voters; `null` until it was measured."""

    @classmethod
    def of(cls, report: JudgeReport) -> "JudgeOut":
        values = {name: getattr(report.figures, name) for name in cls.model_fields if name != "agreement"}
        agreement = None if report.agreement is None else AgreementOut.of(report.agreement)
        return cls.model_validate({**values, "agreement": agreement}, from_attributes=True)
