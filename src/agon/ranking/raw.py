"""What a reader hands in, and what is asked of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agon.core.errors import InvalidInput
from agon.core.votes import Winner
from agon.ranking.arrays import IntArray
from agon.ranking.columns import Column
from agon.ranking.moments import DAY_S
from agon.ranking.spellings import WINNER_SPELLINGS
from agon.ranking.style import RawStyle


@dataclass(frozen=True, slots=True, eq=False)
class RawBattles:
    """A chunk of V rows as a reader found them, column by column; only the first three must be there.

    Columns may be lists, numpy arrays or dictionary-encoded (`Coded`). A `category` value is a name or several.
    `spellings` says which winner a value stands for. `rows` numbers the rows in `source`, (V,); without it they are
    numbered on from `first_row`.
    """

    model_a: Column
    model_b: Column
    winner: Column
    vote_id: Column | None = None
    timestamp: Column | None = None
    voter: Column | None = None
    category: Column | None = None
    language: Column | None = None
    anonymous: Column | None = None
    style: RawStyle | None = None
    spellings: Mapping[object, Winner] = field(default_factory=lambda: WINNER_SPELLINGS)
    source: str = ""
    first_row: int = 0
    rows: IntArray | None = None


@dataclass(frozen=True, slots=True)
class CleaningRules:
    """What is asked of a row. Times are seconds since the epoch: `since` is inside, `until` outside.

    `window_days` keeps the days before `until`, or before the newest vote if `until` is open, that one included.
    `per_voter` is the most votes of one voter on one pair, the earliest being kept. `aliases` maps old names to new.
    """

    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    anonymous_only: bool = False
    since: float | None = None
    until: float | None = None
    window_days: float | None = None
    category: str | None = None
    language: str | None = None
    per_voter: int | None = None
    needs_style: bool = False
    needs_voter: bool = False
    deduplicate: bool = True

    def __post_init__(self) -> None:
        if self.per_voter is not None and self.per_voter < 1:
            raise InvalidInput("A voter's cap must be at least 1.", code="bad_limit", field="per_voter")
        if self.window_days is not None and not self.window_days > 0:
            raise InvalidInput("A window must be longer than 0 days.", code="bad_window", field="window_days")

    @property
    def timed(self) -> bool:
        return any(bound is not None for bound in (self.since, self.until, self.window_days))

    @property
    def by_voter(self) -> bool:
        return self.needs_voter or self.per_voter is not None

    @property
    def start(self) -> float | None:
        """The earliest moment, as far as it is known before all rows are read."""
        if self.window_days is None or self.until is None:
            return self.since
        start = self.until - self.window_days * DAY_S
        return start if self.since is None else max(start, self.since)

    @property
    def late(self) -> bool:
        """Whether some rows can be judged only when all are known."""
        return self.per_voter is not None or (self.window_days is not None and self.until is None)
