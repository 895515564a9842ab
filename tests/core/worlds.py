"""Made-up histories of a turn: attempts, the packets that they put on the bus, and what the ledger holds in the end.

The packets are made as a runner makes them: a retry within a run goes over what was sent before with a `Splice`, an
answer that another runner takes over begins anew.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st
from tests.core.builders import battle, turn, voided

from agon.core.conversation import Answer, AnswerState, Conversation, Side
from agon.core.events import Event, Packet, Settled, Void
from agon.core.splice import Splice

# Two letters, so that attempts often agree for a while; one of them outside the basic plane.
chunks = st.lists(st.text(alphabet="a🌊", min_size=1, max_size=4), max_size=4)


@dataclass(slots=True)
class Story:
    """One side's answer to one turn."""

    events: list[Event] = field(default_factory=list[Event])
    texts: dict[int, str] = field(default_factory=dict[int, str])
    """By attempt: what a watcher of that attempt sees in the end."""
    answer: Answer = field(default_factory=lambda: Answer(Side.A, AnswerState.PENDING))


@dataclass(frozen=True, slots=True)
class World:
    """A turn, and a further one if there is any, with everything that was said about them."""

    stories: tuple[Story, ...]
    events: tuple[Event, ...]
    """In the order of the bus."""
    conversation: Conversation

    def text(self, number: int, side: Side, attempt: int) -> str:
        """What belongs to an attempt; the story of attempt 0 is that nothing was said."""
        for story in self.stories:
            if story.answer.side is side and any(_turn_of(event) == number for event in story.events):
                return story.texts.get(attempt, "")
        raise AssertionError("no such side")


def _turn_of(event: Event) -> int:
    return 0 if isinstance(event, Void) else event.turn


@st.composite
def stories(draw: st.DrawFn, number: int, side: Side, states: list[AnswerState]) -> Story:
    story, shown = Story(), ""
    attempts = draw(st.integers(1, 3))
    state = draw(st.sampled_from(states))
    for attempt in range(1, attempts + 1):
        taken_over = attempt > 1 and draw(st.booleans())
        splice = Splice("" if taken_over else shown)
        shown = "" if taken_over else shown
        stretches = [splice.feed(chunk) for chunk in draw(chunks)]
        if attempt == attempts and state is AnswerState.DONE:
            stretches.append(splice.close())
        opening = True
        for stretch in stretches:
            if stretch is not None:
                shown = shown[: stretch.offset] + stretch.text
                story.events.append(Packet(number, side, attempt, stretch.offset, stretch.text, opening=opening))
                opening = False
        if attempt == attempts and state is AnswerState.DONE:
            shown = splice.text
        story.texts[attempt] = shown
    reason = "stop" if state is AnswerState.DONE else None
    story.events.append(Settled(number, side, attempts, state, len(shown), reason))
    story.answer = Answer(side, state, attempts, shown, reason)
    return story


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """One turn that ends somehow, or two of which the first is done."""
    turns = draw(st.integers(1, 2))
    told: list[Story] = []
    events: list[Event] = []
    for number in range(1, turns + 1):
        states = [AnswerState.DONE] if number < turns else [AnswerState.DONE, AnswerState.STOPPED, AnswerState.FAILED]
        sides = [draw(stories(number, side, states)) for side in Side]
        told += sides
        events += _interleaved(draw, sides)
    conversation = battle(*(turn(n + 1, told[2 * n].answer, told[2 * n + 1].answer) for n in range(turns)))
    if any(story.answer.state is AnswerState.FAILED for story in told):
        conversation = voided(conversation)
        failed = next(
            index
            for index, event in enumerate(events)
            if isinstance(event, Settled) and event.state is AnswerState.FAILED
        )
        events.insert(failed, Void(str(conversation.void_reason)))
    return World(tuple(told), tuple(events), conversation)


def _interleaved(draw: st.DrawFn, sides: list[Story]) -> list[Event]:
    """Each side in its own order, mixed in any way."""
    queues = [list(story.events) for story in sides]
    mixed: list[Event] = []
    while any(queues):
        queue = queues[0] if queues[0] and (not queues[1] or draw(st.booleans())) else queues[1]
        mixed.append(queue.pop(0))
    return mixed
