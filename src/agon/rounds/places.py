"""How many of a contestant's places rounds may take, so that people find some, too. PURE."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agon.core.contestants import ContestantState, EngineState
from agon.core.roster import Roster, RosterEntry

_THERE = {EngineState.READY, EngineState.EJECTED}
_GONE_AT_ONCE = 64
"""Answers of a contestant that is gone, which cost nothing but the writing of that."""


@dataclass(frozen=True, slots=True)
class Room:
    """A contestant's places, all replicas together."""

    capacity: int
    taken: int
    """By whomever."""
    share: int
    """What rounds may take of them."""

    @property
    def free(self) -> int:
        return max(0, self.capacity - self.taken)


def room_of(entry: RosterEntry, share: float) -> Room:
    """The places of those replicas that can be asked; a contestant that is paused has none.

    Rounds may take a share of them, rounded down, and at least one.
    """
    usable = [replica for replica in entry.replicas if replica.state in _THERE or replica.state is EngineState.COLD]
    if entry.contestant.state is not ContestantState.ACTIVE:
        usable = []
    capacity = sum(replica.capacity for replica in usable)
    taken = sum(replica.turns for replica in usable)
    return Room(capacity, taken, max(1, math.floor(share * capacity)) if capacity else 0)


def places(wanted: Iterable[str], roster: Roster, share: float) -> Mapping[str, int]:
    """How many answers of each wanted contestant may be in hand.

    Models that would have to be loaded first wait until those that are there have nothing left to do: going to and fro
    between them would load each again and again. Answers of contestants that are gone may be taken on, to be ended.
    """
    entries = {name: roster.get(name) for name in wanted}
    there = {name for name, entry in entries.items() if entry is not None and _is_there(entry)}
    found: dict[str, int] = {}
    for name, entry in entries.items():
        if entry is None:
            found[name] = _GONE_AT_ONCE
        elif (name in there or not there) and (room := room_of(entry, share)).share:
            found[name] = room.share
    return found


def _is_there(entry: RosterEntry) -> bool:
    active = entry.contestant.state is ContestantState.ACTIVE
    return active and any(replica.state in _THERE for replica in entry.replicas)
