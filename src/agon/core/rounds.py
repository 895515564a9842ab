"""Rounds: many contestants answer the same questions, a scorer scores the answers, a board ranks them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

from agon.core.scoring import MAX_SCORE, SCORE_UNIT

TURN_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class Question:
    key: str
    """Names it within its round, as the bank does."""
    turns: tuple[str, ...]
    """What the contestant is asked, one after the other; at least one."""
    category: str = ""
    language: str = ""

    @property
    def prompt(self) -> str:
        """All turns as one text, as scorers see them."""
        return TURN_BREAK.join(self.turns)


class AnswerStage(StrEnum):
    """Where an answer of a round is."""

    PENDING = "pending"
    """To be made by dispatch."""
    ANSWERED = "answered"
    """Made or submitted; to be scored."""
    SCORED = "scored"
    ABSTAINED = "abstained"
    """The scorer has looked and gives no score."""
    FAILED = "failed"
    """The model could not answer, after its retries."""
    PARKED = "parked"
    """It made the scorer fail, after its retries; an operator may have it scored again."""


FINAL = frozenset({AnswerStage.SCORED, AnswerStage.ABSTAINED, AnswerStage.FAILED, AnswerStage.PARKED})


@dataclass(frozen=True, slots=True)
class RoundContestant:
    name: str
    made_here: bool
    """Whether its answers are made by dispatch; otherwise they are submitted."""


@dataclass(frozen=True, slots=True)
class Round:
    id: UUID
    name: str
    scorer: str
    contestants: tuple[RoundContestant, ...]
    """In the order in which they came."""
    questions: int
    strict: bool = True
    """Whether only questions of the bank may be answered."""
    seed: int = 0
    max_tokens: int = 160
    anchor: str | None = None
    """Whose answers a comparing scorer compares with."""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RoundAnswer:
    id: UUID
    round: UUID
    question: str
    contestant: str
    stage: AnswerStage
    texts: tuple[str, ...] = ()
    """By turn."""
    score: float | None = None
    error: str | None = None
    """For the operator: why it failed, was parked or has no score."""
    detail: Mapping[str, Any] | None = None
    """What the scorer said beside the score: a judge's verdicts, for one."""

    @property
    def text(self) -> str:
        """All turns' answers as one text, as scorers see them."""
        return TURN_BREAK.join(self.texts)


_ANSWERS = UUID("6f6e1c62-8f3f-4b57-9f0e-1d0b9f1f4a55")
"""Where the ids of answers are."""


def answer_id(round_id: UUID, contestant: str, question: str) -> UUID:
    """The id of a contestant's answer to a question: the same whoever sends it, however often."""
    return uuid5(_ANSWERS, json.dumps([str(round_id), contestant, question]))


def prompt_digest(turns: tuple[str, ...]) -> bytes:
    """16 bytes that tell prompts apart."""
    return hashlib.blake2b(json.dumps(list(turns)).encode(), digest_size=16).digest()


def to_units(score: float) -> int:
    """A score in whole millionths. Raises `ValueError` unless it is finite and within bounds."""
    if not abs(score) <= MAX_SCORE:
        raise ValueError(f"a score must be a finite number of at most {MAX_SCORE:g}, not {score!r}")
    return round(score * SCORE_UNIT)


def from_units(units: int) -> float:
    return units / SCORE_UNIT
