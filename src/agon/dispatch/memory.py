"""Which models are in memory, and which one makes room for which. Decides; loads and frees nothing itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resident:
    """A model that holds memory, or has it reserved while it is loaded."""

    key: str
    needed_bytes: int
    users: int = 0
    """Turns that it writes now. It is never put out while there are any."""
    used: int = 0
    """When it was last used, by a count that only grows."""
    loading: bool = False

    @property
    def idle(self) -> bool:
        return not self.users and not self.loading


@dataclass(frozen=True, slots=True)
class Stay:
    """It is there, or on its way."""


@dataclass(frozen=True, slots=True)
class Load:
    """Put these out, in this order, then load it. Its memory is spoken for from now on."""

    evict: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """There is room only once these are idle: they get no new turns until then."""

    until_idle: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Never:
    """It is larger than all there is."""

    missing_bytes: int


Decision = Stay | Load | Wait | Never


def make_room(key: str, needed_bytes: int, *, budget_bytes: int, residents: Sequence[Resident]) -> Decision:
    """Decide what has to happen before a model can be used.

    Those that were not used for longest go first, idle ones before busy ones, and no more of them than it takes.
    """
    if any(resident.key == key for resident in residents):
        return Stay()
    if needed_bytes > budget_bytes:
        return Never(needed_bytes - budget_bytes)
    missing = needed_bytes + sum(resident.needed_bytes for resident in residents) - budget_bytes
    leaving = _enough(sorted(residents, key=lambda one: (not one.idle, one.used)), missing)
    if all(resident.idle for resident in leaving):
        return Load(tuple(resident.key for resident in leaving))
    return Wait(tuple(resident.key for resident in leaving))


def fits_beside(needed_bytes: int, *, budget_bytes: int, residents: Iterable[Resident]) -> bool:
    """Whether a model can be loaded without putting any out: how a runner fills its memory at the start."""
    return needed_bytes + sum(resident.needed_bytes for resident in residents) <= budget_bytes


def _enough(residents: Sequence[Resident], missing_bytes: int) -> list[Resident]:
    """The first of them that free so much, without any whose leaving turns out to be needless."""
    leaving: list[Resident] = []
    for resident in residents:
        if missing_bytes <= 0:
            break
        leaving.append(resident)
        missing_bytes -= resident.needed_bytes
    for resident in list(leaving):
        if missing_bytes + resident.needed_bytes <= 0:
            leaving.remove(resident)
            missing_bytes += resident.needed_bytes
    return leaving
