"""Events by their public names: what a person is told of a side, and nothing of which model it is."""

import pytest

from agon.api.streams import named
from agon.core.conversation import AnswerState, Side
from agon.core.events import Event, Packet, Settled, Void, Waiting


@pytest.mark.parametrize(
    ("event", "name", "data"),
    [
        (Packet(1, Side.A, 2, 3, "text"), "packet", {"turn": 1, "side": "a", "text": "text", "offset": 3}),
        (
            Settled(1, Side.B, 1, AnswerState.DONE, 4, "stop"),
            "done",
            {"turn": 1, "side": "b", "finish_reason": "stop"},
        ),
        (
            Settled(1, Side.B, 1, AnswerState.STOPPED, 4, "stopped"),
            "done",
            {"turn": 1, "side": "b", "finish_reason": "stopped"},
        ),
        (
            Settled(2, Side.A, 1, AnswerState.FAILED, 0),
            "failed",
            {"turn": 2, "side": "a", "message": "This answer could not be completed."},
        ),
        (
            Settled(2, Side.B, 1, AnswerState.FORFEITED, 7),
            "forfeited",
            {"turn": 2, "side": "b", "message": "Model B ran out of time and loses this battle by forfeit."},
        ),
        (
            Waiting(1, Side.A, "The model is being loaded."),
            "waiting",
            {"turn": 1, "side": "a", "message": "The model is being loaded."},
        ),
        (Void("Neither was in time."), "void", {"reason": "Neither was in time."}),
    ],
)
def test_every_event_has_its_name_and_its_words(event: Event, name: str, data: dict[str, object]) -> None:
    assert named(event) == (name, data)
