"""FastChat's conversation logs: a line for everything that happened, among it the votes."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from agon.battlelogs.events import Battle, Skipped
from agon.battlelogs.jsontext import Record
from agon.battlelogs.readings import Fault
from agon.core.votes import Winner

VOTES: Mapping[str, Winner] = {
    "leftvote": Winner.A,
    "rightvote": Winner.B,
    "tievote": Winner.TIE,
    "bothbad_vote": Winner.BOTH_BAD,
}
OTHERS = frozenset(("chat", "upvote", "downvote", "flag", "share"))
_SHOWN = re.compile(r"\s*(?:<[^>]*>|#+)?\s*Model [AB]:\s*(.*?)\s*(?:</[^>]*>)?\s*", re.DOTALL)
"""How a name is shown above a conversation once it may be known."""


def is_log(record: Mapping[str, object]) -> bool:
    """Whether a record is of such a log."""
    return ("type" in record and not {"states", "state", "models", "model"}.isdisjoint(record)) or {
        "models",
        "states",
    } <= record.keys()


def read(record: Record) -> list[Battle] | Skipped | Fault:
    values = record.values
    kind = values.get("type")
    if kind is None:
        return Fault(record.row, "missing_type")
    winner = VOTES.get(kind) if isinstance(kind, str) else None
    if winner is None:
        known = isinstance(kind, str) and kind in OTHERS
        return Skipped(str(kind)) if known else Fault(record.row, "unknown_type", repr(kind)[:60])
    return _vote(record, winner)


def _vote(record: Record, winner: Winner) -> list[Battle] | Fault:
    shown = _two(record.values.get("models"), str)
    states = _two(record.values.get("states"), dict)
    if shown is None:
        return Fault(record.row, "missing_models")
    if states is None:
        return Fault(record.row, "missing_states")
    if record.values.get("tstamp") is None:
        return Fault(record.row, "missing_tstamp")
    names = [cast("dict[str, object]", state).get("model_name") for state in states]
    if not all(isinstance(name, str) and name.strip() for name in names):
        return Fault(record.row, "missing_model_name")
    labels = [_label(cast("str", text)) for text in shown]
    if (reason := _disagreement(labels, cast("list[str]", names))) is not None:
        return Fault(record.row, reason)
    battle = Battle(
        row=record.row,
        model_a=names[0],
        model_b=names[1],
        winner=winner.value,
        vote_id=_vote_id(cast("Sequence[dict[str, object]]", states)),
        timestamp=record.values["tstamp"],
        voter=record.values.get("ip"),
        anonymous=not any(labels),
        language=record.values.get("language"),
    )
    return [battle]


def _two(value: object, kind: type) -> Sequence[object] | None:
    if not isinstance(value, list) or len(cast("list[object]", value)) != 2:
        return None
    items = cast("list[object]", value)
    return items if all(isinstance(item, kind) for item in items) else None


def _label(text: str) -> str:
    shown = _SHOWN.fullmatch(text)
    return shown[1] if shown else text.strip()


def _disagreement(labels: Sequence[str], names: Sequence[str]) -> str | None:
    if any(labels) and not all(labels):
        return "one_name_missing"
    if any(labels) and any(label != name.strip() for label, name in zip(labels, names, strict=True)):
        return "name_mismatch"
    return None


def _vote_id(states: Sequence[dict[str, object]]) -> object:
    """A vote is one for its two conversations at their present length, however often the button was pressed."""
    ids = [state.get("conv_id") for state in states]
    if not all(isinstance(name, str) and name for name in ids):
        return None
    messages = states[0].get("messages")
    return (*ids, len(cast("list[object]", messages)) if isinstance(messages, list) else 0)
