"""What a watcher is sent: whatever the bus does, it ends with the ledger's text."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.core.builders import answer, battle, turn, voided
from tests.core.worlds import World, worlds

from agon.core.conversation import AnswerState, Conversation, Side
from agon.core.errors import InvalidInput
from agon.core.events import (
    Follower,
    Packet,
    Position,
    Said,
    Sent,
    Settled,
    SidePosition,
    Void,
    Waiting,
    said_in,
)

side_positions = st.builds(SidePosition, st.integers(0, 999_999), st.integers(0, 999_999_999), st.booleans())
positions = st.builds(
    Position, st.integers(0, 999_999), st.dictionaries(st.sampled_from(Side), side_positions), st.booleans()
)


class Client:
    """Applies what it is sent as any client would: text by offset, ends once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.follower = Follower()
        self.texts: dict[tuple[int, Side], str] = {}
        self.ends: dict[tuple[int, Side], list[Settled]] = {}
        self.voids: list[Void] = []

    def take(self, sent: list[Sent]) -> None:
        for item in sent:
            event = item.event
            if isinstance(event, Void):
                self.voids.append(event)
                continue
            key = (event.turn, event.side)
            if isinstance(event, Settled):
                self.ends.setdefault(key, []).append(event)
                continue
            if isinstance(event, Waiting):
                assert key not in self.texts
                continue
            shown = self.texts.get(key, "")
            assert event.offset <= len(shown), "a hole in the text"
            self.texts[key] = shown[: event.offset] + event.text
            whole = self._world.text(event.turn, event.side, item.position.side(event.side).attempt)
            assert whole.startswith(self.texts[key]), "text of two attempts is mixed"

    def reconnect(self) -> None:
        self.follower = Follower(Position.decode(self.follower.position.encode()))

    def settle(self) -> None:
        """The ledger has the last word."""
        conversation = self._world.conversation
        self.take(self.follower.see_ledger(conversation))
        assert self.follower.finished(conversation)
        assert self.follower.see_ledger(conversation) == []

    def check(self) -> None:
        for held in self._world.conversation.turns:
            for side, final in held.answers.items():
                assert self.texts.get((held.number, side), "") == final.text
                ends = self.ends[held.number, side]
                assert [(end.attempt, end.state, end.length) for end in ends] == [
                    (final.attempt, final.state, len(final.text or ""))
                ]
        assert len(self.voids) == (self._world.conversation.void_reason is not None)


@given(worlds(), st.data())
def test_a_faithful_bus_needs_no_ledger(world: World, data: st.DataObject) -> None:
    one_turn = [event for event in world.events if isinstance(event, Void) or event.turn == 1]
    client = Client(world)
    for index, event in enumerate(one_turn):
        client.take(client.follower.see(event))
        if data.draw(st.booleans()):
            client.reconnect()
            for again in one_turn[: index + 1]:
                client.take(client.follower.see(again))
    for side in Side:
        final = world.conversation.turns[0].answers[side]
        behind = client.follower.missing
        assert behind or client.texts.get((1, side), "") == final.text
        assert behind or len(client.ends[1, side]) == 1


@given(worlds(), st.data())
def test_loss_repetition_disorder_and_reconnects_end_with_the_ledgers_text(world: World, data: st.DataObject) -> None:
    client = Client(world)
    heard = data.draw(st.lists(st.sampled_from(world.events), max_size=2 * len(world.events)))
    for event in heard:
        client.take(client.follower.see(event))
        if data.draw(st.booleans()):
            client.reconnect()
    client.settle()
    client.check()


@given(worlds(), st.data())
def test_a_snapshot_in_the_middle_and_the_bus_after_it_agree(world: World, data: st.DataObject) -> None:
    client = Client(world)
    heard = data.draw(st.integers(0, len(world.events)))
    for event in world.events[:heard]:
        client.take(client.follower.see(event))
    client.settle()
    for event in world.events:
        assert client.follower.see(event) == []
    client.check()


@given(worlds(), st.data())
def test_lost_text_is_noticed_at_the_latest_when_the_side_ends(world: World, data: st.DataObject) -> None:
    """Then the watcher asks the ledger; otherwise it would take an incomplete text for the whole."""
    first = [event for event in world.events if isinstance(event, Void) or event.turn == 1]
    lost = data.draw(st.sets(st.integers(0, len(first))))
    client = Client(world)
    for index, event in enumerate(first):
        if index not in lost or isinstance(event, Settled):
            client.take(client.follower.see(event))
    for side in Side:
        ended, final = client.ends.get((1, side)), world.conversation.turns[0].answers[side]
        assert client.follower.missing or (ended and client.texts.get((1, side), "") == final.text)


@given(positions)
def test_an_event_id_says_where_one_was(position: Position) -> None:
    decoded = Position.decode(position.encode())
    assert decoded == position
    assert decoded.encode() == position.encode()


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (Position(), "1"),
        (Position(2, {Side.B: SidePosition(1, 80, settled=True), Side.A: SidePosition(1, 120)}), "2-a1.120-b1.80.s"),
        (Position(1, {Side.A: SidePosition(2, 0)}, void=True), "1-a2.0-v"),
    ],
)
def test_event_ids_are_a_format_that_stays(position: Position, text: str) -> None:
    assert position.encode() == text
    assert Position.decode(text) == position


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "-1", "1-c1.2", "1-a1", "1-a1.", "1-a1.2.x", "1-a1.2-b1.2-a1.2", "1 ", "1-v-a1.2", "1-a-1.2"),
        *("9" * 50, "1\n", "1-a1.2\n", "Ⅷ", "1-a1.1234567890"),
    ],
)
def test_ids_that_are_not_ours_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Position.decode(text)
    assert refused.value.code == "bad_event_id"


@given(st.text(max_size=20))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    try:
        position = Position.decode(text)
    except InvalidInput:
        return
    assert Position.decode(position.encode()) == position


def pending(side: Side, attempt: int) -> Conversation:
    other = answer(Side.B if side is Side.A else Side.A)
    return battle(turn(1, answer(side, AnswerState.PENDING, attempt=attempt), other))


def test_one_who_saw_the_end_waits_again_when_the_side_is_generated_anew() -> None:
    stopped = battle(turn(1, answer(Side.A, AnswerState.STOPPED, "par"), answer(Side.B)))
    follower = Follower()
    follower.see_ledger(stopped)
    assert follower.finished(stopped)
    assert not follower.finished(pending(Side.A, attempt=2))
    packet = Packet(1, Side.A, 2, 0, "whole", opening=True)
    assert [sent.event for sent in follower.see(packet)] == [packet]


def test_a_stop_without_text_takes_back_what_was_shown() -> None:
    """Its runner died, and the gateway settled the answer in its place: the ledger has no text."""
    stopped = battle(turn(1, answer(Side.A, AnswerState.STOPPED, ""), answer(Side.B)))
    follower = Follower()
    follower.see(Packet(1, Side.A, 1, 0, "par", opening=True))
    shown = "par"
    for sent in follower.see_ledger(stopped):
        if isinstance(sent.event, Packet) and sent.event.side is Side.A:
            shown = shown[: sent.event.offset] + sent.event.text
    assert shown == ""


@pytest.mark.parametrize("text", ["1-a1.999-b1.2", "7", "1-a9.1.s", "1-a1.999.s-b3.7.s-v"])
def test_an_id_from_beyond_the_end_does_not_wait_for_ever(text: str) -> None:
    follower, conversation = Follower(Position.decode(text)), battle()
    follower.see_ledger(conversation)
    assert follower.finished(conversation)


def test_a_void_battle_is_said_once() -> None:
    failed = voided(battle(turn(1, answer(Side.A, AnswerState.FAILED, ""), answer(Side.B))))
    follower = Follower()
    told = [sent.event for sent in [*follower.see_ledger(failed), *follower.see(Void("again"))]]
    assert [type(event) for event in told if not isinstance(event, Packet)] == [Settled, Settled, Void]


def test_a_side_waits_until_it_begins_and_its_place_is_the_same() -> None:
    follower, waiting = Follower(), Waiting(1, Side.A, "The model is being loaded.")
    assert follower.see(waiting) == [Sent(waiting, Position())]
    follower.see(Packet(1, Side.A, 1, 0, "Hello", opening=True))
    assert follower.see(waiting) == []
    assert follower.see(Waiting(1, Side.B, "The model is being loaded.")) != []
    assert follower.see(Waiting(2, Side.B, "The model is being loaded.")) == []


def test_a_packet_that_is_cut_has_no_logprobs_for_what_is_left() -> None:
    packet = Packet(1, Side.A, 1, 0, "Hello", opening=True, logprobs=({"token": "Hello"},))
    follower = Follower()
    assert follower.see(packet)[0].event == packet
    longer = Packet(1, Side.A, 1, 3, "lo you", logprobs=({"token": "lo"}, {"token": " you"}))
    assert follower.see(longer)[0].event == Packet(1, Side.A, 1, 5, " you")


@given(worlds(), st.integers(0, 100))
def test_what_was_said_is_what_its_watchers_see(world: World, length: int) -> None:
    events = [event for event in world.events if isinstance(event, Void) or event.turn == 1][:length]
    client = Client(world)
    for event in events:
        client.take(client.follower.see(event))
    assume(not client.follower.missing)
    for side in world.conversation.contestants:
        at = client.follower.position.side(side)
        seen = "" if at.settled else client.texts.get((1, side), "")
        assert said_in(events, 1, side) == Said(seen, at.attempt)


def test_nothing_was_said_where_a_part_of_it_is_lost() -> None:
    events = [Packet(1, Side.A, 2, 3, "lo"), Packet(1, Side.A, 2, 5, " you")]
    assert said_in(events, 1, Side.A) == Said("", 2)
    assert said_in([*events, Packet(1, Side.A, 2, 0, "Hello")], 1, Side.A) == Said("Hello", 2)


def test_the_tokens_of_what_was_said_follow_its_text() -> None:
    events = [Packet(1, Side.A, 1, 0, "Hello", tokens=2), Packet(1, Side.A, 1, 5, " you", tokens=4)]
    assert said_in(events, 1, Side.A).tokens == 4
    assert said_in([*events, Packet(1, Side.A, 2, 5, "!", tokens=3)], 1, Side.A) == Said("Hello!", 2, 3)
