"""Many logs into one set of counted battles."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agon.battlelogs.reader import open_log
from agon.battlelogs.readings import Progress, Wants
from agon.ranking.cleaning import Cleaner


@dataclass(slots=True)
class ReadLog:
    """A log that was read to its end; `skipped` counts what in it was no vote. An empty one has the form `empty`."""

    source: str
    form: str
    numbering: str
    skipped: dict[str, int] = field(default_factory=dict[str, int])


def collect(names: Sequence[str], cleaner: Cleaner, wants: Wants, progress: Progress) -> list[ReadLog]:
    """Feeds all logs to the cleaner, one after the other. Raises `Unreadable` at the first that cannot be read."""
    return [_collect(name, cleaner, wants, progress) for name in names]


def _collect(name: str, cleaner: Cleaner, wants: Wants, progress: Progress) -> ReadLog:
    with open_log(name, wants, progress) as log:
        done = ReadLog(log.source, log.form, log.numbering)
        for reading in log.readings:
            for fault in reading.faults:
                cleaner.reject(fault.row, fault.reason, fault.sentence, log.source)
            if reading.battles is not None:
                cleaner.feed(replace(reading.battles, source=log.source))
            for kind, count in reading.skipped.items():
                done.skipped[kind] = done.skipped.get(kind, 0) + count
    return done
