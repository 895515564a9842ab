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


def in_words(progress: Progress) -> str:
    """A step of a fetch, for a person."""
    if progress.stage is Stage.DOWNLOADING and progress.total_bytes:
        share = min(100, 100 * progress.done_bytes // progress.total_bytes)
        return f"downloading {share} % of {progress.total_bytes / 1e6:.0f} MB"
    return "weights are here" if progress.stage is Stage.READY else progress.stage.value
