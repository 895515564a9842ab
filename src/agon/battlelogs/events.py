"""Battles found one by one, in logs that are no tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agon.battlelogs.jsontext import Record
from agon.battlelogs.pairs import Parts, reading_of
from agon.battlelogs.readings import Fault, Reading
from agon.battlelogs.rows import Frame
from agon.ranking.columns import encoded


@dataclass(frozen=True, slots=True)
class Battle:
    row: int
    model_a: object
    model_b: object
    winner: str
    vote_id: object
    timestamp: object
    voter: object
    anonymous: bool
    language: object = None
    category: object = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that is no vote, and what it is instead."""

    kind: str


Reader = Callable[[Record], list[Battle] | Skipped | Fault]


def read_events(records: Sequence[Record | Fault], reader: Reader) -> Reading:
    battles: list[Battle] = []
    faults: list[Fault] = []
    skipped: dict[str, int] = {}
    for record in records:
        found = record if isinstance(record, Fault) else reader(record)
        if isinstance(found, Fault):
            faults.append(found)
        elif isinstance(found, Skipped):
            skipped[found.kind] = skipped.get(found.kind, 0) + 1
        else:
            battles += found
    return _reading(battles, tuple(faults), skipped)


def _reading(battles: Sequence[Battle], faults: tuple[Fault, ...], skipped: Mapping[str, int]) -> Reading:
    rows = np.array([battle.row for battle in battles], dtype=np.int64)
    parts = Parts(
        model_a=encoded([battle.model_a for battle in battles]),
        model_b=encoded([battle.model_b for battle in battles]),
        winner=encoded([battle.winner for battle in battles]),
        vote_id=encoded([battle.vote_id for battle in battles]),
        timestamp=[battle.timestamp for battle in battles],
        voter=encoded([battle.voter for battle in battles]),
        anonymous=[battle.anonymous for battle in battles],
        language=[battle.language for battle in battles],
        category=[battle.category for battle in battles],
    )
    return reading_of(Frame({}, rows, faults), parts, skipped)
