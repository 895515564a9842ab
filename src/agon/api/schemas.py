"""What goes over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agon.config import ContestantName
from agon.core.contestants import ContestantKind, ContestantState, EngineState
from agon.core.conversation import Answer, AnswerState, Conversation, Kind, Side, Turn
from agon.core.ports import CastVote, ConversationSummary
from agon.core.roster import RosterEntry
from agon.core.votes import Winner

SideName = Literal["a", "b"]


class NoteOut(BaseModel):
    """`code` is stable, `text` is for people."""

    code: str
    text: str


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PromptBody(Body):
    """A prompt."""

    prompt: str = Field(examples=["Explain rainbows to a child."])


class NamedModels(Body):
    """The two models of a side-by-side comparison."""

    a: ContestantName
    b: ContestantName


class SideBySideBody(PromptBody):
    """A prompt for two named models."""

    models: NamedModels


class ChatBody(PromptBody):
    """A prompt for one model.

    `session_id` goes on with a chat of yours: the id that an answer gave, or a name of your own, which starts a chat
    when it is new.
    """

    model: ContestantName | None = Field(default=None, examples=["smollm2-135m-instruct"])
    session_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    max_tokens: int | None = None


class ResumeBody(Body):
    """Goes on with watching a chat, over a WebSocket: everything after an event, on any gateway."""

    session_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    resume_from: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class VoteBody(Body):
    """Who was better."""

    winner: Winner = Field(examples=["a"])


class RegenerateBody(Body):
    """Which side to generate again."""

    side: Side


class AnswerOut(BaseModel):
    """One side's answer to one turn."""

    state: Literal["pending", "done", "stopped", "failed", "forfeited"]
    text: str | None
    """`null` while pending: the events carry it."""
    finish_reason: str | None

    @classmethod
    def of(cls, answer: Answer) -> "AnswerOut":
        return cls(state=answer.state.value, text=answer.text, finish_reason=answer.finish_reason)


class TurnOut(BaseModel):
    """One prompt and its answers."""

    turn: int
    prompt: str
    created_at: datetime
    answers: dict[SideName, AnswerOut]

    @classmethod
    def of(cls, turn: Turn) -> "TurnOut":
        answers: dict[SideName, AnswerOut] = {side.value: AnswerOut.of(answer) for side, answer in turn.answers.items()}
        return cls(turn=turn.number, prompt=turn.prompt, created_at=turn.created_at, answers=answers)


class ConversationOut(BaseModel):
    """A battle, a side-by-side comparison or a chat."""

    id: UUID
    kind: Literal["battle", "side_by_side", "chat"]
    state: Literal["streaming", "ready", "forfeited", "voted", "void"]
    void_reason: str | None
    forfeited_by: SideName | None
    """The side that has lost the battle by not answering in time; the other may still be writing."""
    created_at: datetime
    models: dict[SideName, str] | None
    """`null` while a battle is anonymous."""
    winner: Winner | None
    receipt: UUID | None
    turns: list[TurnOut]

    @classmethod
    def of(cls, conversation: Conversation) -> "ConversationOut":
        vote = conversation.vote
        return cls(
            id=conversation.id,
            kind=conversation.kind.value,
            state=conversation.state.value,
            void_reason=conversation.void_reason,
            forfeited_by=None if conversation.forfeited_by is None else conversation.forfeited_by.value,
            created_at=conversation.created_at,
            models=models_of(conversation.contestants) if conversation.named else None,
            winner=None if vote is None else vote.winner,
            receipt=None if vote is None else vote.receipt,
            turns=[TurnOut.of(turn) for turn in conversation.turns],
        )


class SummaryOut(BaseModel):
    """A line of one's history."""

    id: UUID
    kind: Kind
    state: Literal["open", "forfeited", "voted", "void"]
    title: str
    created_at: datetime
    winner: Winner | None
    models: dict[SideName, str] | None

    @classmethod
    def of(cls, summary: ConversationSummary) -> "SummaryOut":
        return cls(
            id=summary.id,
            kind=summary.kind,
            state=_state_of(summary),
            title=summary.title,
            created_at=summary.created_at,
            winner=summary.winner,
            models=None if summary.contestants is None else models_of(summary.contestants),
        )


class HistoryOut(BaseModel):
    """One's own conversations, newest first."""

    conversations: list[SummaryOut]
    next: UUID | None
    """Goes into `before` for the next page; `null` at the end."""


class VoteOut(BaseModel):
    """A vote that the ledger holds."""

    receipt: UUID
    winner: Winner
    models: dict[SideName, str]
    created_at: datetime

    @classmethod
    def of(cls, cast: CastVote) -> "VoteOut":
        return cls(
            receipt=cast.vote.receipt,
            winner=cast.vote.winner,
            models=models_of(cast.contestants),
            created_at=cast.vote.created_at,
        )


class UsageOut(BaseModel):
    """Tokens as the engine counted them; `null` where it did not."""

    prompt_tokens: int | None
    completion_tokens: int | None

    @classmethod
    def of(cls, answer: Answer) -> "UsageOut":
        return cls(prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens)


class ChatOut(BaseModel):
    """A whole answer."""

    session_id: str
    turn: int
    text: str
    finish_reason: str
    usage: UsageOut

    @classmethod
    def of(cls, conversation: Conversation, turn: Turn, name: str | None) -> "ChatOut":
        answer = turn.answers[Side.A]
        return cls(
            session_id=name or str(conversation.id),
            turn=turn.number,
            text=answer.text or "",
            finish_reason=answer.finish_reason or "stopped",
            usage=UsageOut.of(answer),
        )


class ChatResultOut(BaseModel):
    """What has become of an answer."""

    state: Literal["pending", "done", "failed"]
    session_id: UUID
    turn: int
    text: str
    """While pending, as much as there is."""
    finish_reason: str | None
    usage: UsageOut

    @classmethod
    def of(cls, conversation: Conversation, turn: Turn, text: str) -> "ChatResultOut":
        answer = turn.answers[Side.A]
        return cls(
            state=_RESULTS[answer.state],
            session_id=conversation.id,
            turn=turn.number,
            text=text,
            finish_reason=answer.finish_reason,
            usage=UsageOut.of(answer),
        )


_RESULTS: Mapping[AnswerState, Literal["pending", "done", "failed"]] = {
    AnswerState.PENDING: "pending",
    AnswerState.DONE: "done",
    AnswerState.STOPPED: "done",
    AnswerState.FAILED: "failed",
    AnswerState.FORFEITED: "failed",
}


class ModelOut(BaseModel):
    """A contestant that can be named."""

    name: str
    state: Literal["ready", "loading", "failed", "paused"]
    kind: ContestantKind

    @classmethod
    def of(cls, entry: RosterEntry) -> "ModelOut":
        return cls(name=entry.contestant.name, state=shown_state(entry), kind=entry.contestant.kind)


class ModelsOut(BaseModel):
    models: list[ModelOut]


class LimitsOut(BaseModel):
    prompt_chars: int
    turns: int
    answer_tokens: int


class StatusOut(BaseModel):
    """What a page needs to know before anything else."""

    name: str
    ready: bool
    """Whether a battle can start."""
    contestants: dict[Literal["ready", "loading", "failed", "paused"], int]
    notices: list[NoteOut]
    limits: LimitsOut


def _state_of(summary: ConversationSummary) -> Literal["open", "forfeited", "voted", "void"]:
    if summary.winner:
        return "voted"
    if summary.void:
        return "void"
    return "forfeited" if summary.forfeited else "open"


def models_of(contestants: Mapping[Side, str]) -> dict[SideName, str]:
    return {side.value: name for side, name in contestants.items()}


def shown_state(entry: RosterEntry) -> Literal["ready", "loading", "failed", "paused"]:
    if entry.contestant.state is ContestantState.PAUSED:
        return "paused"
    match entry.engine.state:
        case EngineState.READY | EngineState.COLD | EngineState.EJECTED:
            return "ready"
        case EngineState.LOADING | EngineState.UNKNOWN:
            return "loading"
        case EngineState.FAILED | EngineState.DRAINING:
            return "failed"
