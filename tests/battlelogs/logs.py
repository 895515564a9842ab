"""Battle logs for the tests, and what a reading of them comes to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agon.battlelogs.collect import ReadLog, collect
from agon.battlelogs.readings import Wants
from agon.ranking.cleaning import Cleaned, Cleaner, CleaningRules

DATA = Path(__file__).parent / "data"
WINNERS = ("model_a", "model_b", "tie", "both_bad")
Expected = dict[str, Any]


def expectations(folder: str = "") -> dict[str, Expected]:
    """What the file of expectations says of each sample, by its path under the data."""
    files = json.loads((DATA / folder / "expected.json").read_text("utf-8"))["files"]
    return {f"{folder}{name}": expected for name, expected in files.items()}


@dataclass(frozen=True, slots=True)
class Import:
    """One log, read and cleaned."""

    log: ReadLog
    cleaned: Cleaned

    @property
    def battles(self) -> list[list[str]]:
        found = self.cleaned.battles
        assert found is not None
        columns = zip(found.first.tolist(), found.second.tolist(), found.winners.tolist(), strict=True)
        return [[found.models[a], found.models[b], WINNERS[winner]] for a, b, winner in columns]

    @property
    def rejected(self) -> list[tuple[int, str]]:
        return sorted((found.row, str(found.reason)) for found in self.cleaned.report.listed)

    @property
    def kept(self) -> int:
        return self.cleaned.report.kept

    @property
    def notices(self) -> Mapping[str, int]:
        return self.cleaned.report.notices


def read(name: str | Path, rules: CleaningRules | None = None, *, style: bool = False) -> Import:
    asked = rules or CleaningRules()
    wants = Wants(
        voter=asked.by_voter,
        category=asked.category is not None,
        language=asked.language is not None,
        anonymous=asked.anonymous_only,
        style=style,
    )
    cleaner = Cleaner(asked, listed=10_000)
    (log,) = collect([str(name)], cleaner, wants, lambda _: None)
    return Import(log, cleaner.finish())
