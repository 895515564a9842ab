"""Conversations: what they are, which state they are in, and which moves are legal.

A battle, a side-by-side comparison and a chat are all conversations: turns of one prompt and one answer a side.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from agon.core.errors import Conflict, InvalidInput, LimitExceeded
from agon.core.text import storable
from agon.core.votes import Vote


class Kind(StrEnum):
    BATTLE = "battle"
    """Anonymous, paired by the arena, ranked."""
    SIDE_BY_SIDE = "side_by_side"
    """Two named contestants, chosen by the person, never ranked."""
    CHAT = "chat"
    """One named contestant on side a."""


class Side(StrEnum):
    A = "a"
    B = "b"


class AnswerState(StrEnum):
    PENDING = "pending"
    DONE = "done"
    STOPPED = "stopped"
    """The person stopped it; it is not a votable answer."""
    FAILED = "failed"
    FORFEITED = "forfeited"
    """A side of a battle that did not answer in time: it has lost."""


class ConversationState(StrEnum):
    STREAMING = "streaming"
    READY = "ready"
    FORFEITED = "forfeited"
    """One side of a battle did not answer in time; the other has won without a vote."""
    VOTED = "voted"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Answer:
    side: Side
    state: AnswerState
    attempt: int = 1
    """Rises whenever the answer is generated anew; text of an older attempt is stale."""
    text: str | None = None
    """`None` while pending."""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    """As the engine counted them, if it did."""
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    number: int
    """From 1."""
    prompt: str
    seed: int
    """The same for both sides, in [0, 2**31)."""
    max_tokens: int
    created_at: datetime
    answers: Mapping[Side, Answer]
    idempotency_key: str | None = None

    @property
    def settled(self) -> bool:
        return all(answer.state is not AnswerState.PENDING for answer in self.answers.values())


@dataclass(frozen=True, slots=True)
class Fate:
    """What the ends of its answers have made of a battle: at most one of the two is set, and void is for ever."""

    void_reason: str | None = None
    forfeited_by: Side | None = None

    def after(self, side: Side, state: AnswerState) -> "Fate":
        """What it is after that side has ended so; sides may end in any order."""
        if self.void_reason is not None:
            return self
        if state is AnswerState.FAILED:
            return Fate(f"Model {side.value.upper()} could not complete its answer, so this battle does not count.")
        if state is not AnswerState.FORFEITED:
            return self
        if self.forfeited_by not in {None, side}:
            return Fate("Neither model answered in time, so this battle does not count.")
        return Fate(forfeited_by=side)


@dataclass(frozen=True, slots=True)
class Conversation:
    id: UUID
    kind: Kind
    person: UUID
    contestants: Mapping[Side, str]
    created_at: datetime
    turns: tuple[Turn, ...]
    void_reason: str | None = None
    vote: Vote | None = None
    forfeited_by: Side | None = None
    """The side that has lost the battle by not answering in time."""

    @property
    def state(self) -> ConversationState:
        if self.vote is not None:
            return ConversationState.VOTED
        if self.void_reason is not None:
            return ConversationState.VOID
        if not self.last_turn.settled:
            return ConversationState.STREAMING
        return ConversationState.READY if self.forfeited_by is None else ConversationState.FORFEITED

    @property
    def last_turn(self) -> Turn:
        return self.turns[-1]

    @property
    def named(self) -> bool:
        """Whether the person may know the contestants' names."""
        return self.kind is not Kind.BATTLE or self.vote is not None


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what people send."""

    prompt_chars: int
    turns: int
    answer_tokens: int

    def check_prompt(self, prompt: str) -> None:
        if not prompt.strip():
            raise InvalidInput("The prompt is empty.", code="empty_prompt", field="prompt")
        if storable(prompt) != prompt:
            raise InvalidInput("The prompt holds NUL or half a character, which cannot be stored.", field="prompt")
        if len(prompt) > self.prompt_chars:
            raise LimitExceeded(
                f"The prompt has {len(prompt)} characters; the limit is {self.prompt_chars}.", field="prompt"
            )

    def tokens_for(self, requested: int | None) -> int:
        """The answer budget in tokens for a request that may name its own."""
        if requested is None:
            return self.answer_tokens
        if not 1 <= requested <= self.answer_tokens:
            raise LimitExceeded(
                f"max_tokens is {requested}; it must lie between 1 and {self.answer_tokens}.", field="max_tokens"
            )
        return requested


def check_new_turn(conversation: Conversation, limits: Limits) -> None:
    """Raise unless a further prompt may be sent."""
    if conversation.state is ConversationState.VOTED:
        raise Conflict("The vote has ended this battle; start a new one.", code="battle_voted")
    _check_undecided(conversation)
    if not conversation.last_turn.settled:
        raise Conflict("The last turn is still being answered.", code="turn_in_progress")
    if any(answer.state is not AnswerState.DONE for answer in conversation.last_turn.answers.values()):
        raise Conflict(
            "An answer of the last turn is not complete; regenerate it or start anew.", code="answers_incomplete"
        )
    if len(conversation.turns) >= limits.turns:
        raise LimitExceeded(f"A conversation has at most {limits.turns} turns.", code="too_many_turns")


def check_regenerate(conversation: Conversation, turn: int, side: Side) -> None:
    """Raise unless this side of this turn may be generated again."""
    if conversation.state is ConversationState.VOTED:
        raise Conflict("The vote has ended this battle; nothing in it changes any more.", code="battle_voted")
    _check_undecided(conversation)
    if turn != conversation.last_turn.number:
        raise Conflict("Only an answer of the last turn can be generated again.", code="not_last_turn", field="turn")
    answer = conversation.last_turn.answers.get(side)
    if answer is None:
        raise InvalidInput(f"This conversation has no side {side.value}.", field="side")
    if answer.state not in (AnswerState.STOPPED, AnswerState.FAILED):
        raise Conflict("Only a stopped or failed answer can be generated again.", code="answer_not_failed")


def _check_undecided(conversation: Conversation) -> None:
    if conversation.void_reason is not None:
        raise Conflict("This battle is void; start a new one.", code="battle_void")
    if conversation.forfeited_by is not None:
        raise Conflict("This battle is lost by forfeit; start a new one.", code="battle_forfeited")
