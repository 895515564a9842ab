"""What a watcher of a conversation is sent, and how it goes on exactly where it was.

A `Follower` holds what one watcher has been sent, as a `Position` that also travels as the event id. It is fed with
whatever is known, in any order and any number of times: packets from the bus, snapshots from the ledger. It answers
with the events that are still owed. So a reconnect, a lost bus and a second watcher are all the same case.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agon.core.conversation import Answer, AnswerState, Conversation, Side, Turn
from agon.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Packet:
    turn: int
    side: Side
    attempt: int
    offset: int
    """Where in the answer the text belongs, in code points."""
    text: str
    opening: bool = False
    """The first of its attempt: what stands before it is as in the attempt before."""
    tokens: int = 0
    """Of the whole answer, up to the text's end."""
    logprobs: tuple[Mapping[str, Any], ...] | None = None
    """Of the text's tokens, where they were asked for and the engine has them."""

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer as its engine counted them; `None` where it keeps silent."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a turn that the ledger does not know has no answer. For whoever asked for it, never for a voter."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The side is over, in one of the states but `pending`. `length` is the whole answer's, in code points."""

    turn: int
    side: Side
    attempt: int
    state: AnswerState
    length: int
    finish_reason: str | None = None
    usage: Usage | None = None
    """With `fault`, only for turns that the ledger does not know."""
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """The side has not begun, and why. Says nothing of which model it is."""

    turn: int
    side: Side
    words: str


@dataclass(frozen=True, slots=True)
class Void:
    reason: str


Event = Packet | Settled | Waiting | Void


@dataclass(frozen=True, slots=True)
class Said:
    """What of an answer was sent so far, and by which attempt; attempt 0 has said nothing."""

    text: str = ""
    attempt: int = 0
    tokens: int = 0

    def then(self, packet: Packet) -> "Said":
        """What was said with a packet that belongs into it or behind it."""
        return Said(self.text[: packet.offset] + packet.text, packet.attempt, packet.tokens)


def said_in(events: Iterable[Event], turn: int, side: Side) -> Said:
    """What a stream holds of an answer that is being written: what a further attempt can go on from.

    Nothing if the side is over, so that an answer that is asked for again begins anew; nothing if a part was lost.
    """
    said = Said()
    for event in events:
        if isinstance(event, Void | Waiting) or (event.turn, event.side) != (turn, side):
            continue
        if event.attempt < said.attempt:
            continue
        if isinstance(event, Packet) and event.offset <= len(said.text):
            said = said.then(event)
        else:
            said = Said(attempt=event.attempt)
    return said


@dataclass(frozen=True, slots=True)
class SidePosition:
    attempt: int = 0
    offset: int = 0
    settled: bool = False


_START = SidePosition()
_POSITION = re.compile(r"(\d{1,6})((?:-[ab]\d{1,6}\.\d{1,9}(?:\.s)?){0,2})(-v)?")
_SIDE = re.compile(r"-([ab])(\d+)\.(\d+)(\.s)?")


@dataclass(frozen=True, slots=True)
class Position:
    """How far a watcher has come: everything of earlier turns, and of `turn` up to each side's offset."""

    turn: int = 1
    sides: Mapping[Side, SidePosition] = field(default_factory=dict[Side, SidePosition])
    void: bool = False

    def side(self, side: Side) -> SidePosition:
        return self.sides.get(side, _START)

    def with_side(self, side: Side, position: SidePosition) -> "Position":
        return replace(self, sides={**self.sides, side: position})

    def encode(self) -> str:
        """As an event id, like `2-a1.120-b1.80.s`: turn, then attempt, offset and whether settled for each side."""
        sides = "".join(
            f"-{side.value}{at.attempt}.{at.offset}{'.s' if at.settled else ''}"
            for side, at in sorted(self.sides.items())
        )
        return f"{self.turn}{sides}{'-v' if self.void else ''}"

    @classmethod
    def decode(cls, text: str) -> "Position":
        match = _POSITION.fullmatch(text)
        if match is None:
            raise InvalidInput("The event id is not one of ours.", code="bad_event_id", field="Last-Event-ID")
        sides = {
            Side(side): SidePosition(int(attempt), int(offset), bool(settled))
            for side, attempt, offset, settled in _SIDE.findall(match[2])
        }
        return cls(int(match[1]), sides, match[3] is not None)


@dataclass(frozen=True, slots=True)
class Sent:
    """One event for the watcher, with the position after it."""

    event: Event
    position: Position


class Follower:
    """Turns what is known about a conversation into what one watcher is still owed.

    `missing` is true when the bus has lost text that only the ledger can give back.
    """

    def __init__(self, position: Position | None = None) -> None:
        self.position = position or Position()
        self.missing = False

    def see(self, event: Event) -> list[Sent]:
        """Take in one event from the bus."""
        return [self._sent(step) for step in self._steps(event)]

    def see_ledger(self, conversation: Conversation) -> list[Sent]:
        """Take in a snapshot of the ledger; it fills whatever the bus has lost."""
        sent: list[Sent] = []
        if self.position.turn > conversation.last_turn.number:
            self.position = Position()
        for turn in conversation.turns:
            if turn.number > self.position.turn:
                self.position = replace(self.position, turn=turn.number, sides={})
            if turn.number == self.position.turn:
                self._return_to(turn)
            for answer in turn.answers.values():
                for event in _events_of(turn, answer):
                    sent += self.see(event)
        if conversation.void_reason is not None:
            sent += self.see(Void(conversation.void_reason))
        self.missing = False
        return sent

    def finished(self, conversation: Conversation) -> bool:
        """Whether the watcher has everything there will be until the person acts again."""
        turn = conversation.last_turn
        return self.position.turn == turn.number and all(self._has(answer) for answer in turn.answers.values())

    def _has(self, answer: Answer) -> bool:
        at = self.position.side(answer.side)
        return at.settled and at.attempt >= answer.attempt

    def _return_to(self, turn: Turn) -> None:
        """Come back from positions that the ledger does not know, so that what it has is sent once more."""
        for side, at in self.position.sides.items():
            answer = turn.answers.get(side)
            if answer is not None and _beyond(at, answer):
                self.position = self.position.with_side(side, SidePosition(answer.attempt - 1, at.offset))

    def _steps(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Void):
            if not self.position.void:
                yield event
            return
        if event.turn < self.position.turn:
            return
        if event.turn > self.position.turn:
            # The end of the turn before is owed first, and only the ledger is sure to have it.
            self.missing = True
            return
        at = self.position.side(event.side)
        if isinstance(event, Waiting):
            if at == _START:
                yield event
            return
        if event.attempt < at.attempt or (event.attempt == at.attempt and at.settled):
            return
        if isinstance(event, Settled):
            yield from self._settled(event, at)
        elif (packet := self._packet(event, at)) is not None:
            yield packet

    def _packet(self, packet: Packet, at: SidePosition) -> Packet | None:
        follows = packet.attempt <= at.attempt or (packet.opening and packet.attempt == at.attempt + 1)
        if packet.offset > at.offset or not (follows or packet.offset == 0):
            self.missing = True
            return None
        if packet.attempt > at.attempt:
            return packet
        if packet.end <= at.offset:
            return None
        if packet.offset == at.offset:
            return packet
        return replace(packet, offset=at.offset, text=packet.text[at.offset - packet.offset :], logprobs=None)

    def _settled(self, settled: Settled, at: SidePosition) -> Iterator[Event]:
        if settled.length > 0 and (settled.attempt != at.attempt or settled.length != at.offset):
            self.missing = True
            return
        if settled.length == 0 and at.offset > 0:
            # What was shown is no part of the answer.
            yield Packet(settled.turn, settled.side, settled.attempt, 0, "")
        yield settled

    def _sent(self, event: Event) -> Sent:
        if isinstance(event, Void):
            self.position = replace(self.position, void=True)
        elif isinstance(event, Packet):
            self.position = self.position.with_side(event.side, SidePosition(event.attempt, event.end))
        elif isinstance(event, Settled):
            self.position = self.position.with_side(event.side, SidePosition(event.attempt, event.length, settled=True))
        return Sent(event, self.position)


def _beyond(at: SidePosition, answer: Answer) -> bool:
    known = answer.text is None or at.offset <= len(answer.text)
    return at.attempt > answer.attempt or (at.attempt == answer.attempt and not known)


def _events_of(turn: Turn, answer: Answer) -> Iterator[Event]:
    if answer.state is AnswerState.PENDING:
        return
    text = answer.text or ""
    if text:
        yield Packet(turn.number, answer.side, answer.attempt, 0, text)
    yield Settled(turn.number, answer.side, answer.attempt, answer.state, len(text), answer.finish_reason)
