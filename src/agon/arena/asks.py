"""What people ask, and when two asks are the same one."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from agon.core.conversation import Conversation, Kind, Side, Turn
from agon.core.errors import Conflict, NotFound
from agon.core.placement import AnswerRef, Job
from agon.dispatch.costs import prefix_of, turn_cost


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt as a person sends it."""

    person: UUID
    prompt: str
    idempotency_key: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The turn that an ask has led to; not `fresh` if the same ask was made before."""

    conversation: Conversation
    turn: Turn
    fresh: bool


@dataclass(frozen=True, slots=True)
class Lineup:
    """Who answers on which side, and the chance that just they were drawn; `None` where the person chose."""

    contestants: Mapping[Side, str]
    propensity: float | None = None


def check_owner(conversation: Conversation, person: UUID) -> None:
    if conversation.person != person:
        raise NotFound("There is no such conversation.", code="conversation_not_found")


def check_same_start(started: Conversation, kind: Kind, ask: Ask, named: Mapping[Side, str] | None) -> None:
    same = (started.kind, started.turns[0].prompt) == (kind, ask.prompt)
    if not same or (named is not None and started.contestants != named):
        raise Conflict("This Idempotency-Key was used with another request.", code="idempotency_mismatch")


def turn_of(conversation: Conversation, ask: Ask) -> Turn | None:
    """The turn of this conversation that the ask has made before. Raises if its key was used for another prompt."""
    if ask.idempotency_key is None:
        return None
    for turn in conversation.turns:
        if turn.idempotency_key == ask.idempotency_key:
            if turn.prompt != ask.prompt:
                raise Conflict("This Idempotency-Key was used with another prompt.", code="idempotency_mismatch")
            return turn
    return None


def refs(conversation: Conversation, turn: Turn) -> list[AnswerRef]:
    return [
        AnswerRef(conversation.id, turn.number, side, contestant)
        for side, contestant in conversation.contestants.items()
    ]


def first_job(ref: AnswerRef, prompt: str, max_tokens: int) -> Job:
    return Job(ref, turn_cost(prompt, max_tokens), prefix_of(ref))


def later_job(conversation: Conversation, number: int, side: Side, prompt: str, max_tokens: int) -> Job:
    """The job of one side's answer to a turn that comes after others."""
    history: list[str] = []
    for turn in conversation.turns[: number - 1]:
        history += (turn.prompt, turn.answers[side].text or "")
    ref = AnswerRef(conversation.id, number, side, conversation.contestants[side])
    return Job(ref, turn_cost(prompt, max_tokens, history=history), prefix_of(ref))
