"""From the rows of battle logs to coded votes: each row is counted, or rejected by number and with its reason."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import InvalidInput
from agon.core.votes import Winner
from agon.ranking.arrays import BoolArray, Differences, IntArray, Integers
from agon.ranking.battles import CodedBattles, codes_by_first_value
from agon.ranking.columns import Coded, Column, encoded, missing
from agon.ranking.moments import DAY_S, Moments, read_moments
from agon.ranking.names import BAD, MISSING, Names
from agon.ranking.outcomes import WINNER_CODES, PairCounts
from agon.ranking.rejects import LISTED, SENTENCES, CleaningReport, Notice, Reason, Rejection, counted_by
from agon.ranking.spellings import WINNER_SPELLINGS, is_true
from agon.ranking.style import RawStyle, style_differences
from agon.ranking.voters import earliest

_REASONS = tuple(Reason)
_PLACE = {reason: place + 1 for place, reason in enumerate(_REASONS)}
"""Number of a reason in a chunk's marks, where 0 stands for a row that is kept."""
_MISSING_WINNER, _UNKNOWN_WINNER = -1, -2


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


@dataclass(frozen=True, slots=True, eq=False)
class Cleaned:
    """The counts, and what became of every row. `battles` holds the counted rows themselves, if they were kept."""

    counts: PairCounts
    report: CleaningReport
    battles: CodedBattles | None


def clean(chunks: RawBattles | Iterable[RawBattles], rules: CleaningRules | None = None) -> Cleaned:
    """Cleans rows that fit into memory, in one chunk or several; how they are split leaves no trace in the result.

    Raises `InvalidInput` if the columns of a chunk differ in length, a code points nowhere or aliases lead in a circle,
    and `LimitExceeded` for more than `MAX_MODELS` names. A bad row raises nothing: it is in the report.
    """
    cleaner = Cleaner(rules)
    for chunk in (chunks,) if isinstance(chunks, RawBattles) else chunks:
        cleaner.feed(chunk)
    return cleaner.finish()


class Cleaner:
    """Takes chunks of rows one after the other and counts what is good.

    With `keep_rows=False` it holds counts alone, and its memory does not grow with the rows, unless a rule can be
    judged only at the end (`CleaningRules.late`) or vote ids are to be told apart.
    """

    def __init__(self, rules: CleaningRules | None = None, *, keep_rows: bool = True, listed: int = LISTED) -> None:
        self._rules = rules or CleaningRules()
        self._keep = keep_rows
        self._parts = keep_rows or self._rules.late
        self._names = Names(self._rules.aliases)
        self._tally = np.zeros((4, 0, 0), dtype=np.int64)
        self._kept: list[CodedBattles] = []
        self._seen = _Seen()
        self._log = _Log(listed)

    def reject(self, row: int, reason: str, sentence: str, source: str = "") -> None:
        """Notes a row in which the reader itself found no battle."""
        self._log.add(Rejection(row, reason, sentence, source))

    def feed(self, raw: RawBattles) -> None:
        """Judges one chunk. Raises as `clean` does."""
        chunk = _Chunk.of(raw, self._names, self._rules)
        marks = chunk.marks(self._rules)
        if self._rules.deduplicate and chunk.vote_ids is not None:
            accepted = marks == 0
            marks[accepted] = np.where(self._seen.again(chunk.vote_ids, accepted), _PLACE[Reason.DUPLICATE_ID], 0)
        self._log.mark(marks, chunk.numbers(), raw.source)
        self._log.notice(Notice.ZONELESS_TIMESTAMP, chunk.zoneless)
        self._log.notice(Notice.ALIASED_NAME, chunk.aliased)
        good = chunk.battles(slice(None) if not marks.any() else np.flatnonzero(marks == 0))
        if self._parts:
            self._kept.append(good)
        else:
            self._count(good)

    def finish(self) -> Cleaned:
        """The result of all chunks. Models are in order of name; one without a counted vote is not there."""
        names = self._names.known()
        if not self._parts:
            return Cleaned(_counts(names, self._tally), self._log.report(int(self._tally.sum())), None)
        battles = CodedBattles.joined(names, self._kept)
        marks = _late_marks(battles, self._rules)
        if marks.any():
            self._log.mark_late(marks, battles)
            battles = battles.where(marks == 0)
        battles = battles.tidied()
        return Cleaned(battles.counts(), self._log.report(len(battles)), battles if self._keep else None)

    def _count(self, good: CodedBattles) -> None:
        size = len(self._names)
        if size > self._tally.shape[1]:
            # Grows by half at a time, so that names that come one a chunk do not copy the table each time.
            roomy = size + size // 2
            table = np.zeros((4, roomy, roomy), dtype=np.int64)
            old = self._tally.shape[1]
            table[:, :old, :old] = self._tally
            self._tally = table
        width = self._tally.shape[1]
        cell = (good.winners.astype(np.int64) * width + good.first) * width + good.second
        if len(cell) * 4 < self._tally.size:
            np.add.at(self._tally.reshape(-1), cell, 1)
        else:
            self._tally += np.bincount(cell, minlength=self._tally.size).reshape(self._tally.shape)


def _counts(names: tuple[str, ...], tally: IntArray) -> PairCounts:
    battles = (tally.sum(axis=(0, 1)) + tally.sum(axis=(0, 2)))[: len(names)]
    order: list[int] = sorted(np.flatnonzero(battles).tolist(), key=names.__getitem__)
    won_a, won_b, tied, bad = tally[:, order][:, :, order]
    return PairCounts.from_tables([names[place] for place in order], won_a + won_b.T, tied + tied.T, bad + bad.T)


def _late_marks(battles: CodedBattles, rules: CleaningRules) -> NDArray[np.int8]:
    marks = np.zeros(len(battles), dtype=np.int8)
    times = battles.timestamps
    if rules.window_days is not None and rules.until is None and times is not None and times.size:
        marks[times < times.max() - rules.window_days * DAY_S] = _PLACE[Reason.TOO_EARLY]
    if rules.per_voter is not None and battles.voters is not None:
        left = np.flatnonzero(marks == 0)
        chosen = battles.where(left)
        order = chosen.time_order()
        assert chosen.voters is not None
        early = earliest(chosen.voters.codes[order], chosen.first[order], chosen.second[order], limit=rules.per_voter)
        marks[left[order[~early]]] = _PLACE[Reason.OVER_VOTER_CAP]
    return marks


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
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
    def of(cls, raw: RawBattles, names: Names, rules: CleaningRules) -> "_Chunk":
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
                marks[found & (marks == 0)] = _PLACE[reason]
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
    winner = spellings.get(value)
    return _UNKNOWN_WINNER if winner is None else WINNER_CODES[winner]


def _optional(column: Column | None) -> Coded | None:
    return None if column is None else encoded(column)


def _picked(column: Coded | None, rows: "slice | IntArray") -> Coded | None:
    return None if column is None else Coded(column.codes[rows], column.values)


def _aliased(names: Names, columns: tuple[Coded, Coded]) -> int:
    one, other = (names.aliased(column.values)[column.codes] for column in columns)
    return int((one | other).sum())


def _names(wanted: str) -> Callable[[object], bool]:
    def test(value: object) -> bool:
        return value == wanted or (isinstance(value, tuple | list | frozenset | set) and wanted in value)

    return test


class _Seen:
    """Vote ids counted so far. Values are compared only when a second chunk comes."""

    def __init__(self) -> None:
        self._values: set[object] = set()
        self._last: Coded | None = None

    def again(self, ids: Coded, accepted: BoolArray) -> BoolArray:
        """Which of the accepted rows bear an id that a former accepted row bears; a row without id never does."""
        if self._last is not None:
            self._values.update(self._last.values[code] for code in np.unique(self._last.codes).tolist())
        codes = codes_by_first_value(ids)[accepted]
        named = np.flatnonzero(codes >= 0)
        first = np.zeros(len(ids.values) + 1, dtype=np.int64)
        # Written backwards, so that the first row of an id is the one that stays.
        first[codes[named[::-1]]] = named[::-1]
        again = np.zeros(len(codes), dtype=np.bool_)
        again[named] = first[codes[named]] != named
        if self._values:
            known = np.fromiter((value in self._values for value in ids.values), dtype=np.bool_, count=len(ids.values))
            again[named] |= known[codes[named]]
        self._last = Coded(codes[named], ids.values)
        return again


class _Log:
    """Counts rejections and lists the first of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counts: Counter[str] = Counter()
        self._notices: Counter[str] = Counter()
        self._listed: list[Rejection] = []

    def add(self, rejection: Rejection) -> None:
        self._counts[rejection.reason] += 1
        if len(self._listed) < self._limit:
            self._listed.append(rejection)

    def notice(self, notice: Notice, rows: int) -> None:
        self._notices[notice] += rows

    def mark(self, marks: NDArray[np.int8], numbers: IntArray, source: str) -> None:
        bad = np.flatnonzero(marks)
        self._tally(marks[bad])
        for place in bad[: max(self._limit - len(self._listed), 0)].tolist():
            self._list(int(numbers[place]), int(marks[place]), source)

    def mark_late(self, marks: NDArray[np.int8], battles: CodedBattles) -> None:
        bad = np.flatnonzero(marks)
        self._tally(marks[bad])
        for place in bad[: max(self._limit - len(self._listed), 0)].tolist():
            row, source = battles.origin(place)
            self._list(row, int(marks[place]), source)

    def report(self, kept: int) -> CleaningReport:
        counts, notices = counted_by(self._counts.items()), counted_by(self._notices.items())
        return CleaningReport(kept, counts, tuple(self._listed), notices)

    def _tally(self, marks: NDArray[Any]) -> None:
        for place, count in enumerate(np.bincount(marks, minlength=1).tolist()):
            if place and count:
                self._counts[_REASONS[place - 1]] += count

    def _list(self, row: int, mark: int, source: str) -> None:
        reason = _REASONS[mark - 1]
        self._listed.append(Rejection(row, reason, SENTENCES[reason], source))
