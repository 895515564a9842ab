"""Votes: who may cast one, when, and what a repeated one means."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from agon.core.errors import Conflict, NotFound


class Winner(StrEnum):
    A = "a"
    B = "b"
    TIE = "tie"
    BOTH_BAD = "both_bad"


@dataclass(frozen=True, slots=True)
class Vote:
    receipt: UUID
    winner: Winner
    idempotency_key: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Ballot:
    """A vote as it is handed in. `receipt` is the receipt it gets if it is accepted."""

    conversation: UUID
    person: UUID
    winner: Winner
    receipt: UUID
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class BattleFacts:
    """What the ledger knows about a battle at the moment its ballot is judged, with the battle locked."""

    person: UUID
    is_battle: bool
    void: bool
    all_done: bool
    """Every answer of every turn is complete."""
    vote: Vote | None
    forfeited: bool = False
    """Whether a side has lost it by not answering in time."""


def judge(ballot: Ballot, facts: BattleFacts | None) -> Vote | None:
    """Decide a ballot: `None` accepts it, a `Vote` is the earlier vote that it repeats. Raises if it is refused."""
    if facts is None or facts.person != ballot.person:
        raise NotFound("There is no such battle of yours.", code="battle_not_found")
    if not facts.is_battle:
        raise Conflict("Only anonymous battles are voted on.", code="not_a_battle")
    if facts.vote is not None:
        return _repeated(ballot, facts.vote)
    if facts.void:
        raise Conflict("This battle is void; it cannot be voted on.", code="battle_void")
    if facts.forfeited:
        raise Conflict("This battle is lost by forfeit; it cannot be voted on.", code="battle_forfeited")
    if not facts.all_done:
        raise Conflict("Vote when both answers are complete.", code="answers_incomplete")
    return None


def _repeated(ballot: Ballot, vote: Vote) -> Vote:
    if ballot.receipt == vote.receipt:
        return vote
    if ballot.idempotency_key != vote.idempotency_key:
        raise Conflict("This battle has been voted on already.", code="already_voted")
    if ballot.winner is not vote.winner:
        if ballot.idempotency_key is None:
            raise Conflict("This battle has been voted on already.", code="already_voted")
        raise Conflict("This Idempotency-Key was used with another winner.", code="idempotency_mismatch")
    return vote
