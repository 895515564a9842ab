"""The ledger's adapters, and a few words to fill it. Tests share one database, so each has people of its own."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from agon.core.board_ports import VoteSource
from agon.core.contestants import Contestant, ContestantKind
from agon.core.conversation import AnswerState, Conversation, Kind, Limits, Side, check_new_turn
from agon.core.placement import AnswerRef
from agon.core.ports import (
    AddTurn,
    AnswerLedger,
    CastVote,
    Change,
    ContestantLedger,
    ConversationLedger,
    NewConversation,
    NewTurn,
    Outcome,
    VoteLedger,
)
from agon.core.votes import Ballot, Winner

STRANGER = UUID(int=2)
SIDES = {Side.A: "north", Side.B: "south"}
LIMITS = Limits(prompt_chars=8_000, turns=20, answer_tokens=256)


def contestant(name: str) -> Contestant:
    return Contestant(name, ContestantKind.OPENAI, f"{name}-model", ("http://127.0.0.1:1",))


def new(
    kind: Kind = Kind.BATTLE, *, person: UUID | None = None, key: str | None = None, prompt: str = "Why?"
) -> NewConversation:
    person = person or uuid4()
    sides = {Side.A: "north"} if kind is Kind.CHAT else SIDES
    return NewConversation(uuid4(), kind, person, sides, NewTurn(prompt, 7, 100, key), 0.25)


async def add_turn(conversation: Conversation) -> Change:
    check_new_turn(conversation, LIMITS)
    return AddTurn(NewTurn("And then?", 8, 100))


def ref(conversation: Conversation, side: Side, turn: int = 1) -> AnswerRef:
    return AnswerRef(conversation.id, turn, side, conversation.contestants[side])


def done(where: AnswerRef, text: str = "Because.", *, attempt: int = 1, ttft_ms: float = 10.0) -> Outcome:
    return Outcome(where, attempt, AnswerState.DONE, text, "stop", ttft_ms=ttft_ms, duration_ms=20.0)


def failed(where: AnswerRef, *, attempt: int = 1) -> Outcome:
    return Outcome(where, attempt, AnswerState.FAILED, "", error="engine_error: it broke")


def forfeited(where: AnswerRef, text: str = "", *, attempt: int = 1) -> Outcome:
    return Outcome(where, attempt, AnswerState.FORFEITED, text, error="deadline")


def ballot(
    conversation: Conversation, winner: Winner = Winner.A, *, key: str | None = None, person: UUID | None = None
) -> Ballot:
    return Ballot(conversation.id, person or conversation.person, winner, uuid4(), key)


@dataclass(frozen=True, slots=True)
class Ledger:
    conversations: ConversationLedger
    answers: AnswerLedger
    votes: VoteLedger
    source: VoteSource
    contestants: ContestantLedger

    async def begin(
        self, kind: Kind = Kind.BATTLE, *, person: UUID | None = None, prompt: str = "Why?"
    ) -> Conversation:
        started, fresh = await self.conversations.start(new(kind, person=person, prompt=prompt))
        assert fresh
        return started

    async def answered(self, kind: Kind = Kind.BATTLE, *, text: str = "Because.") -> Conversation:
        """A conversation whose first turn is complete."""
        started = await self.begin(kind)
        for side in started.contestants:
            assert (await self.answers.settle(done(ref(started, side), f"{text} {side.value}"))).written
        return await self.conversations.find(started.id)

    async def voted(self, winner: Winner = Winner.A) -> CastVote:
        return await self.votes.cast(ballot(await self.answered(), winner))
