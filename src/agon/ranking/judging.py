"""One chunk of rows, looked up and judged."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import InvalidInput
from agon.core.votes import Winner
from agon.ranking.arrays import BoolArray, Differences, IntArray, Integers
from agon.ranking.battles import CodedBattles
from agon.ranking.columns import Coded, Column, encoded, hashable, missing
from agon.ranking.moments import Moments, read_moments
from agon.ranking.names import BAD, MISSING, Names
from agon.ranking.outcomes import WINNER_CODES
from agon.ranking.raw import CleaningRules, RawBattles
from agon.ranking.rejects import Reason
from agon.ranking.spellings import is_true
from agon.ranking.style import style_differences

MARKS = {reason: place + 1 for place, reason in enumerate(Reason)}
"""Number of a reason in a chunk's marks, where 0 stands for a row that is kept."""
_MISSING_WINNER, _UNKNOWN_WINNER = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """One chunk, its values looked up; codes of names and winners are negative where there is none."""

    raw: RawBattles
    first: Integers
    second: Integers
    winners: Integers
    moments: Moments | None
    vote_ids: Coded | None
    voters: Coded | None
    categories: Coded | None
    languages: Coded | None
    style: Differences | None
    aliased: int

    @classmethod
    def of(cls, raw: RawBattles, names: Names, rules: CleaningRules) -> "Chunk":
        a, b, w = (encoded(column) for column in (raw.model_a, raw.model_b, raw.winner))
        chunk = cls(
            raw=raw,
            first=names.codes(a.values).astype(np.int16)[a.codes],
            second=names.codes(b.values).astype(np.int16)[b.codes],
            winners=_winner_table(w.values, raw.spellings)[w.codes],
            moments=None if raw.timestamp is None else read_moments(raw.timestamp),
            vote_ids=_optional(raw.vote_id),
            voters=_optional(raw.voter),
            categories=_optional(raw.category),
            languages=_optional(raw.language),
            style=None if raw.style is None else style_differences(raw.style),
            aliased=_aliased(names, (a, b)) if rules.aliases else 0,
        )
        chunk._check()
        return chunk

    def __len__(self) -> int:
        return len(self.first)

    @property
    def zoneless(self) -> int:
        return 0 if self.moments is None else int(self.moments.zoneless.sum())

    def numbers(self) -> IntArray:
        if self.raw.rows is not None:
            return self.raw.rows
        return np.arange(self.raw.first_row, self.raw.first_row + len(self))

    def marks(self, rules: CleaningRules) -> NDArray[np.int8]:
        """0 for a good row, or the number of the first reason against it."""
        marks = np.zeros(len(self), dtype=np.int8)
        for reason, find in self._tests(rules):
            found = find()
            if found.any():
                marks[found & (marks == 0)] = MARKS[reason]
        return marks

    def battles(self, rows: "slice | IntArray") -> CodedBattles:
        return CodedBattles(
            models=(),
            first=self.first[rows],
            second=self.second[rows],
            winners=self.winners[rows],
            rows=self.numbers()[rows],
            sources=Coded(np.zeros(len(self), dtype=np.int16)[rows], (self.raw.source,)),
            timestamps=None if self.moments is None else self.moments.seconds[rows],
            vote_ids=_picked(self.vote_ids, rows),
            voters=_picked(self.voters, rows),
            categories=_picked(self.categories, rows),
            languages=_picked(self.languages, rows),
            style=None if self.style is None else self.style[rows],
            style_names=() if self.raw.style is None else self.raw.style.names,
        )

    def _tests(self, rules: CleaningRules) -> "Iterator[tuple[Reason, Callable[[], BoolArray]]]":
        a, b, w = self.first, self.second, self.winners
        lowest = [int(codes.min(initial=0)) for codes in (a, b, w)]
        if min(lowest) < 0:
            yield Reason.MISSING_MODEL, lambda: (a == MISSING) | (b == MISSING)
            yield Reason.BAD_MODEL, lambda: (a == BAD) | (b == BAD)
            yield Reason.MISSING_WINNER, lambda: w == _MISSING_WINNER
            yield Reason.UNKNOWN_WINNER, lambda: w == _UNKNOWN_WINNER
        yield Reason.SELF_BATTLE, lambda: a == b
        if self.moments is not None:
            bad = self.moments.bad
            yield Reason.BAD_TIMESTAMP, lambda: bad
        yield from self._asked(rules)

    def _asked(self, rules: CleaningRules) -> "Iterator[tuple[Reason, Callable[[], BoolArray]]]":
        if rules.needs_style:
            yield Reason.MISSING_STYLE, lambda: self._without(self.style)
        if rules.by_voter:
            yield Reason.MISSING_VOTER, lambda: self._valued(self.voters, missing)
        if rules.anonymous_only:
            yield Reason.NOT_ANONYMOUS, lambda: ~self._valued(_optional(self.raw.anonymous), is_true)
        if rules.category is not None:
            category = _names(rules.category)
            yield Reason.OTHER_CATEGORY, lambda: ~self._valued(self.categories, category)
        if rules.language is not None:
            language = _names(rules.language)
            yield Reason.OTHER_LANGUAGE, lambda: ~self._valued(self.languages, language)
        if rules.timed:
            times = self.moments.seconds if self.moments is not None else np.full(len(self), np.nan)
            start, until = rules.start, rules.until
            yield Reason.MISSING_TIMESTAMP, lambda: np.isnan(times)
            if start is not None:
                yield Reason.TOO_EARLY, lambda: times < start
            if until is not None:
                yield Reason.TOO_LATE, lambda: times >= until

    def _valued(self, column: Coded | None, test: Callable[[object], bool]) -> BoolArray:
        """Which rows have a value that passes the test; a missing one is tested as None."""
        if column is None:
            return np.full(len(self), test(None))
        return np.array([*(test(value) for value in column.values), test(None)], dtype=np.bool_)[column.codes]

    def _without(self, table: Differences | None) -> BoolArray:
        return np.ones(len(self), dtype=np.bool_) if table is None else np.asarray(np.isnan(table).any(axis=1))

    def _check(self) -> None:
        columns = (
            self.second, self.winners, self.vote_ids, self.voters, self.categories, self.languages, self.style,
            self.raw.rows, None if self.moments is None else self.moments.seconds,
        )  # fmt: skip
        if any(column is not None and len(column) != len(self) for column in columns):
            raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")


def _winner_table(values: Collection[object], spellings: Mapping[object, Winner]) -> Integers:
    return np.array([*(_winner_code(value, spellings) for value in values), _MISSING_WINNER], dtype=np.int8)


def _winner_code(value: object, spellings: Mapping[object, Winner]) -> int:
    if missing(value):
        return _MISSING_WINNER
    winner = spellings.get(hashable(value))
    return _UNKNOWN_WINNER if winner is None else WINNER_CODES[winner]


def _optional(column: Column | None) -> Coded | None:
    return None if column is None else encoded(column)


def _picked(column: Coded | None, rows: "slice | IntArray") -> Coded | None:
    return None if column is None else replace(column, codes=column.codes[rows])


def _aliased(names: Names, columns: tuple[Coded, Coded]) -> int:
    one, other = (names.aliased(column.values)[column.codes] for column in columns)
    return int((one | other).sum())


def _names(wanted: str) -> Callable[[object], bool]:
    def test(value: object) -> bool:
        return value == wanted or (isinstance(value, tuple | list | frozenset | set) and wanted in value)

    return test
