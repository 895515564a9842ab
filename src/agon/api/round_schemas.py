"""Rounds as they go over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from agon.api.errors import ErrorDetail
from agon.api.round_standings_schemas import AnswerCountsOut
from agon.api.schemas import Body
from agon.core.round_ports import Progress
from agon.core.rounds import AnswerStage, Question, Round, RoundAnswer, RoundContestant
from agon.rounds.banks import question_of
from agon.rounds.rounds import NewRound


class QuestionIn(BaseModel):
    """A question as banks write it. Other fields are passed over, so that lines of a bank can be sent as they are."""

    model_config = ConfigDict(extra="ignore")

    id: StrictStr | int | None = None
    """Names it in this round; its number, from 1, if it is left out."""
    prompt: StrictStr | None = None
    turns: list[StrictStr] | None = None
    """In place of the prompt, or with it as the first of them."""
    category: StrictStr | None = None
    language: StrictStr | None = None


class RoundContestantIn(Body):
    """A contestant of a round."""

    name: StrictStr
    made_here: bool = True
    """Whether the arena's contestant of that name is asked; otherwise its answers are submitted."""


class NewRoundBody(Body):
    """A question bank, who answers it, and what scores the answers."""

    id: UUID | None = None
    """Asking again with the same id is the same round."""
    name: StrictStr
    scorer: StrictStr = "reward"
    """`reward`, `judge:CONTESTANT`, `grade:CONTESTANT`, or a plug-in's name."""
    contestants: list[StrictStr | RoundContestantIn] = Field(default_factory=list[StrictStr | RoundContestantIn])
    """Names of the arena's contestants. Others join with the first answer that is submitted for them."""
    questions: list[QuestionIn]
    strict: bool = True
    """Whether only these questions may be answered."""
    seed: int = 0
    max_tokens: int = 160
    anchor: StrictStr | None = None
    """Whose answers a judge compares the others with; the first contestant if it is left out."""

    def asked(self) -> NewRound:
        """Raises `InvalidInput` naming the field."""
        bank = [
            question_of(question.model_dump(), f"questions.{row}", row + 1)
            for row, question in enumerate(self.questions)
        ]
        return NewRound(
            id=self.id,
            name=self.name,
            scorer=self.scorer,
            contestants=[_contestant(one) for one in self.contestants],
            bank=bank,
            strict=self.strict,
            seed=self.seed,
            max_tokens=self.max_tokens,
            anchor=self.anchor,
        )


def _contestant(one: str | RoundContestantIn) -> RoundContestant:
    return RoundContestant(one, made_here=True) if isinstance(one, str) else RoundContestant(one.name, one.made_here)


class RoundContestantOut(BaseModel):
    name: str
    made_here: bool


class RoundOut(BaseModel):
    """A round."""

    id: UUID
    name: str
    scorer: str
    contestants: list[RoundContestantOut]
    questions: int
    strict: bool
    seed: int
    max_tokens: int
    anchor: str | None
    created_at: datetime | None

    @classmethod
    def of(cls, found: Round) -> "RoundOut":
        return cls.model_validate(found, from_attributes=True)


class RoundsOut(BaseModel):
    """A page of rounds, newest first. `next` is what to ask for `before` to get the next page."""

    rounds: list[RoundOut]
    next: UUID | None


class ContestantProgressOut(AnswerCountsOut):
    """Where a contestant's answers are."""

    contestant: str


class RoundDetailOut(RoundOut):
    """A round and how far it is."""

    progress: list[ContestantProgressOut]
    """In the order of the contestants."""
    trouble: int
    """Answers that failed or are parked."""
    done: bool
    """Whether nothing is left to be made or scored."""

    @classmethod
    def with_progress(cls, found: Round, progress: Sequence[Progress]) -> "RoundDetailOut":
        rows = [_progress(found, one) for one in progress]
        return cls(
            **RoundOut.of(found).model_dump(),
            progress=rows,
            trouble=sum(row.failed + row.parked for row in rows),
            done=not any(row.pending or row.answered for row in rows),
        )


def _progress(of: Round, one: Progress) -> ContestantProgressOut:
    stages = {stage.value: one.stages.get(stage, 0) for stage in AnswerStage}
    missing = max(0, of.questions - sum(stages.values()))
    return ContestantProgressOut(contestant=one.contestant, missing=missing, **stages)


class QuestionOut(BaseModel):
    id: str
    turns: list[str]
    category: str
    language: str

    @classmethod
    def of(cls, question: Question) -> "QuestionOut":
        return cls(
            id=question.key,
            turns=list(question.turns),
            category=question.category,
            language=question.language,
        )


class QuestionsOut(BaseModel):
    """A page of a round's questions, in the order of its bank. `next` is what to `skip` to get the next page."""

    questions: list[QuestionOut]
    next: int | None


class RoundAnswerOut(BaseModel):
    """One contestant's answer to one question."""

    id: UUID
    question: str
    contestant: str
    stage: AnswerStage
    texts: list[str]
    """By turn; empty until it is made."""
    score: float | None
    error: str | None
    """Why it failed, was parked or has no score."""
    detail: dict[str, Any] | None
    """What the scorer said beside the score."""

    @classmethod
    def of(cls, answer: RoundAnswer) -> "RoundAnswerOut":
        return cls.model_validate(answer, from_attributes=True)


class RoundAnswersOut(BaseModel):
    """All answers to one question, in the order of the contestants."""

    question: str
    answers: list[RoundAnswerOut]


class TroubleOut(BaseModel):
    """Answers that failed or are parked, the oldest first."""

    answers: list[RoundAnswerOut]


class RerunOut(BaseModel):
    """How many answers are made or scored once more."""

    answers: int


class SubmissionIn(Body):
    """An answer that was made elsewhere."""

    round_id: UUID
    model: str = Field(min_length=1, max_length=100)
    question: str | None = None
    """The question's id. Either this or its prompt."""
    prompt: str | None = None
    turns: list[str] | None = None
    """The prompt of a question with several turns."""
    text: str | None = None
    texts: list[str] | None = None
    """The answer by turn, in place of `text`."""


class SubmissionsIn(Body):
    """Answers that were made elsewhere."""

    answers: Annotated[list[SubmissionIn], Field(min_length=1, max_length=1000)]


class SubmittedOut(BaseModel):
    """The ledger has the answer."""

    answer_id: UUID
    repeated: bool
    """Whether it had the same answer already."""


class RefusedOut(BaseModel):
    """Why an answer of a batch was not taken; the others are."""

    error: ErrorDetail


class SubmittedBatchOut(BaseModel):
    """What became of each answer, in order."""

    answers: list[SubmittedOut | RefusedOut]
