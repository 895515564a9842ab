"""What a long fetch tells while it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    WAITING = "waiting"
    """Another process is fetching the same file."""
    DOWNLOADING = "downloading"
    CONVERTING = "converting"
    CHECKING = "checking"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Progress:
    name: str
    stage: Stage
    done_bytes: int = 0
    total_bytes: int | None = None


Report = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """For callers who do not watch."""
