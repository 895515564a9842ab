"""Open WebUI's export of feedback: a rating of one answer, beside answers of other models to the same prompt."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from agon.battlelogs.events import Battle, Skipped
from agon.battlelogs.jsontext import Record
from agon.battlelogs.readings import Fault
from agon.core.votes import Winner

_WINNERS: Mapping[object, Winner] = {1: Winner.A, -1: Winner.B, "1": Winner.A, "-1": Winner.B}


def is_feedback(record: Mapping[str, object]) -> bool:
    return "data" in record and "type" in record and not {"meta", "snapshot"}.isdisjoint(record)


def read(record: Record) -> list[Battle] | Skipped | Fault:
    values = record.values
    kind = values.get("type")
    if kind is not None and kind != "rating":
        return Skipped(str(kind))
    data = values.get("data")
    if not isinstance(data, dict):
        return Fault(record.row, "missing_data")
    data = cast("dict[str, object]", data)
    siblings = data.get("sibling_model_ids")
    if not isinstance(siblings, list) or not siblings:
        return Skipped("no_sibling")
    rating = data.get("rating")
    if rating is None:
        return Fault(record.row, "missing_rating")
    winner = _WINNERS.get(rating) if isinstance(rating, int | float | str) else None
    if winner is None or isinstance(rating, bool):
        return Fault(record.row, "bad_rating", repr(rating)[:60])
    return list(_battles(record, data, cast("list[object]", siblings), winner))


def _battles(
    record: Record, data: Mapping[str, object], siblings: Sequence[object], winner: Winner
) -> Iterator[Battle]:
    values = record.values
    meta = values.get("meta")
    feedback = values.get("id")
    tags = data.get("tags")
    for sibling in siblings:
        yield Battle(
            row=record.row,
            model_a=data.get("model_id"),
            model_b=sibling,
            winner=winner.value,
            vote_id=(feedback, str(sibling)) if feedback else None,
            timestamp=values.get("created_at", values.get("updated_at")),
            # The battles of one feedback are no votes of several people, so they share its voter or its own id.
            voter=values.get("user_id") or feedback,
            anonymous=isinstance(meta, dict) and cast("dict[str, object]", meta).get("arena") is True,
            category=tuple(map(str, cast("list[object]", tags))) if isinstance(tags, list) else None,
        )
