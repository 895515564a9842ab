"""What a whole storm shows: how long strikes were felt, and that nothing grew."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.storm import Footprint, Repeat

WARM_REPEATS = 3
"""Pools of connections and of memory fill in the first waves of a process' life."""
FDS_PER_REPEAT = 2.0
MB_PER_REPEAT = 0.5
"""A leak of one descriptor or of the text of each answer would be much more."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What one life of a process gained in each repeat, by the line through its footprints."""

    name: str
    repeats: int
    fds: float
    threads: float
    tasks: float
    used_mb: float
    had_mb: float
    """Resident memory, with what the allocator keeps for later."""
    kinds: Mapping[str, int]
    """Of the tasks in the end, those that are more than at first."""

    def __str__(self) -> str:
        more = f" (more: {dict(self.kinds)})" if self.kinds else ""
        return (
            f"{self.name}, over {self.repeats} repeats, each time: {self.fds:+.2f} fds, {self.threads:+.2f} threads, "
            f"{self.tasks:+.2f} tasks, {self.used_mb:+.2f} MB used, {self.had_mb:+.2f} MB resident{more}"
        )

    @property
    def is_flat(self) -> bool:
        return self.fds <= FDS_PER_REPEAT and max(self.threads, self.tasks) <= 0.5 and self.used_mb <= MB_PER_REPEAT


def growths(repeats: Sequence[Repeat], least: int = 8) -> list[Growth]:
    """Of every life that was long enough to tell."""
    lives: defaultdict[tuple[str, int], list[Footprint]] = defaultdict(list)
    for repeat in repeats:
        for life, footprint in repeat.footprints.items():
            lives[life].append(footprint)
    found = ((name, marks[WARM_REPEATS:]) for (name, _), marks in lives.items())
    return [_growth(name, marks) for name, marks in found if len(marks) >= least]


def _growth(name: str, marks: Sequence[Footprint]) -> Growth:
    def slope(values: Iterator[float]) -> float:
        return statistics.linear_regression(range(len(marks)), list(values)).slope

    return Growth(
        name,
        len(marks),
        slope(float(mark.fds) for mark in marks),
        slope(float(mark.threads) for mark in marks),
        slope(float(sum(mark.tasks.values())) for mark in marks),
        slope(mark.uses_mb for mark in marks),
        slope(mark.has_mb for mark in marks),
        Counter(marks[-1].tasks) - Counter(marks[0].tasks),
    )


def lines(repeats: Sequence[Repeat]) -> Iterator[str]:
    """The storm in a few lines."""
    ends, errors, troubles = Counter[str](), Counter[str](), Counter[str]()
    pauses: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for repeat in repeats:
        ends += repeat.ends
        errors += repeat.errors
        troubles += repeat.troubles
        for contestant, felt in repeat.pauses_s.items():
            pauses[repeat.what, contestant] += felt
    yield f"{len(repeats)} repeats, {sum(len(repeat.strikes) for repeat in repeats)} strikes, {dict(ends)}"
    yield f"errors: {dict(errors)}"
    yield f"on the way: {dict(troubles)}"
    for (what, contestant), felt in sorted(pauses.items()):
        yield (
            f"{what}: {contestant} went on after {statistics.median(felt):.2f} s in the median, "
            f"{max(felt):.2f} s at most ({len(felt)} sides)"
        )
    yield from map(str, growths(repeats))


def check_flat(repeats: Sequence[Repeat]) -> None:
    growing = [str(growth) for growth in growths(repeats) if not growth.is_flat]
    assert not growing, "; ".join(growing)
