"""Conversations as the ledger would hold them, put together from a few words."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from agon.core.conversation import Answer, AnswerState, Conversation, Kind, Side, Turn
from agon.core.votes import Vote, Winner

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
PERSON = UUID(int=1)
STRANGER = UUID(int=2)


def answer(side: Side, state: AnswerState = AnswerState.DONE, text: str = "yes", attempt: int = 1) -> Answer:
    if state is AnswerState.PENDING:
        return Answer(side, state, attempt)
    return Answer(side, state, attempt, text, "stop" if state is AnswerState.DONE else None)


def turn(number: int = 1, *answers: Answer) -> Turn:
    held = answers or (answer(Side.A), answer(Side.B))
    return Turn(number, "Why?", 7, 100, NOW, {one.side: one for one in held})


def battle(*turns: Turn) -> Conversation:
    contestants = {Side.A: "north", Side.B: "south"}
    return Conversation(UUID(int=9), Kind.BATTLE, PERSON, contestants, NOW, turns or (turn(),))


def voted(conversation: Conversation) -> Conversation:
    return replace(conversation, vote=vote())


def voided(conversation: Conversation) -> Conversation:
    return replace(conversation, void_reason="Model A could not complete its answer.")


def vote(winner: Winner = Winner.A, key: str | None = None, receipt: int = 5) -> Vote:
    return Vote(UUID(int=receipt), winner, key, NOW)
