"""What readers hand on: columns of battles, rows that are at fault, and lines that are no votes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agon.battlelogs.faults import SENTENCES
from agon.ranking.cleaning import RawBattles

Progress = Callable[[int], None]
"""Told how many more bytes of the source have been read."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A row in which a reader found no battle; `row` counts as the log's `numbering` says."""

    row: int
    reason: str
    detail: str = ""

    @property
    def sentence(self) -> str:
        sentence = SENTENCES[self.reason]
        return f"{sentence} ({self.detail})" if self.detail else sentence


@dataclass(frozen=True, slots=True)
class Wants:
    """Columns to read beside the pair, the winner, the time and the vote's id, which are always read."""

    voter: bool = False
    category: bool = False
    language: bool = False
    anonymous: bool = False
    style: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A part of a log. `skipped` counts what is no vote by what it is instead."""

    battles: RawBattles | None = None
    faults: tuple[Fault, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
