"""Why a row of a battle log was not counted, and the report that travels with every result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

LISTED = 1000
"""Rejected rows that a report lists one by one; it counts all."""


class Reason(StrEnum):
    """Why a row is not counted; what a reader finds wrong before the columns exist has codes of its own."""

    MISSING_MODEL = "missing_model"
    BAD_MODEL = "bad_model"
    MISSING_WINNER = "missing_winner"
    UNKNOWN_WINNER = "unknown_winner"
    SELF_BATTLE = "self_battle"
    BAD_TIMESTAMP = "bad_timestamp"
    MISSING_TIMESTAMP = "missing_timestamp"
    MISSING_STYLE = "missing_style"
    MISSING_VOTER = "missing_voter"
    DUPLICATE_ID = "duplicate_id"
    NOT_ANONYMOUS = "not_anonymous"
    OTHER_CATEGORY = "other_category"
    OTHER_LANGUAGE = "other_language"
    TOO_EARLY = "too_early"
    TOO_LATE = "too_late"
    OVER_VOTER_CAP = "over_voter_cap"


CHOSEN_OUT = frozenset(
    (
        Reason.NOT_ANONYMOUS,
        Reason.OTHER_CATEGORY,
        Reason.OTHER_LANGUAGE,
        Reason.TOO_EARLY,
        Reason.TOO_LATE,
        Reason.OVER_VOTER_CAP,
    )
)
"""Reasons that come from what was asked for; all others say that the row itself is at fault."""

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        Reason.MISSING_MODEL: "A model has no name.",
        Reason.BAD_MODEL: "A model's name is not text.",
        Reason.MISSING_WINNER: "The winner is missing.",
        Reason.UNKNOWN_WINNER: "The winner is none of the words that are understood.",
        Reason.SELF_BATTLE: "A model is set against itself.",
        Reason.BAD_TIMESTAMP: "The time cannot be read.",
        Reason.MISSING_TIMESTAMP: "The time is missing, and only votes of a certain time are asked for.",
        Reason.MISSING_STYLE: "The style of an answer is missing, and style control is asked for.",
        Reason.MISSING_VOTER: "The voter is missing, and votes are counted by voter.",
        Reason.DUPLICATE_ID: "A vote with this id is counted already.",
        Reason.NOT_ANONYMOUS: "The battle is not marked as anonymous, and only anonymous ones are asked for.",
        Reason.OTHER_CATEGORY: "It belongs to another category than the one asked for.",
        Reason.OTHER_LANGUAGE: "It is in another language than the one asked for.",
        Reason.TOO_EARLY: "It is older than the votes asked for.",
        Reason.TOO_LATE: "It is newer than the votes asked for.",
        Reason.OVER_VOTER_CAP: "Its voter has voted on this pair as often as is counted.",
    }
)


class Notice(StrEnum):
    """What was read with an assumption that the reader of the result may want to know of."""

    ZONELESS_TIMESTAMP = "zoneless_timestamp"
    ALIASED_NAME = "aliased_name"


NOTICE_SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        Notice.ZONELESS_TIMESTAMP: "Times without a zone were read as UTC.",
        Notice.ALIASED_NAME: "Names were replaced by the name they are an alias of.",
    }
)


@dataclass(frozen=True, slots=True)
class Rejection:
    """One row that is not counted: its number in its source, a stable code, and a sentence for people."""

    row: int
    reason: str
    sentence: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class CleaningReport:
    """What became of every row: `rows == kept + sum(rejected.values())`.

    `rejected` counts rows by reason; `listed` names the first of them in the order of reading, at most `LISTED` unless
    asked otherwise. `notices` counts rows that were kept or rejected under an assumption.
    """

    kept: int
    rejected: Mapping[str, int]
    listed: tuple[Rejection, ...]
    notices: Mapping[str, int]

    @property
    def rows(self) -> int:
        return self.kept + self.rejected_rows

    @property
    def rejected_rows(self) -> int:
        return sum(self.rejected.values())

    @property
    def faulty(self) -> int:
        """Rejected rows that are at fault themselves, and not merely left out by choice."""
        return sum(count for reason, count in self.rejected.items() if reason not in CHOSEN_OUT)

    @property
    def complete(self) -> bool:
        """Whether `listed` names every rejected row."""
        return len(self.listed) == self.rejected_rows


def counted_by(items: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """Counts by code, in order of code, without zeros."""
    return MappingProxyType({code: count for code, count in sorted(items) if count})
