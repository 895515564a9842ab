"""From the rows of battle logs to coded votes: each row is counted, or rejected by number and with its reason."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agon.ranking.arrays import BoolArray, IntArray
from agon.ranking.battles import CodedBattles, codes_by_first_value
from agon.ranking.columns import Coded
from agon.ranking.judging import MARKS, Chunk
from agon.ranking.moments import DAY_S
from agon.ranking.names import Names
from agon.ranking.outcomes import PairCounts
from agon.ranking.raw import CleaningRules, RawBattles
from agon.ranking.rejects import LISTED, SENTENCES, CleaningReport, Notice, Reason, Rejection, counted_by
from agon.ranking.voters import earliest

_REASONS = tuple(Reason)
_SLICE = 1 << 19
"""Rows counted at once, so that what is made of them on the way stays small."""


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
        chunk = Chunk.of(raw, self._names, self._rules)
        marks = chunk.marks(self._rules)
        if self._rules.deduplicate and chunk.vote_ids is not None:
            accepted = marks == 0
            marks[accepted] = np.where(self._seen.again(chunk.vote_ids, accepted), MARKS[Reason.DUPLICATE_ID], 0)
        spoilt = bool(marks.any())
        if spoilt:
            self._log.mark(marks, chunk.numbers(), raw.source)
        self._log.notice(Notice.ZONELESS_TIMESTAMP, chunk.zoneless)
        self._log.notice(Notice.ALIASED_NAME, chunk.aliased)
        if self._parts:
            self._kept.append(chunk.battles(np.flatnonzero(marks == 0) if spoilt else slice(None)))
        else:
            self._count(chunk, marks if spoilt else None)

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

    def _count(self, chunk: Chunk, marks: NDArray[np.int8] | None) -> None:
        self._widen(len(self._names))
        width = self._tally.shape[1]
        for start in range(0, len(chunk), _SLICE):
            rows = slice(start, start + _SLICE)
            cell = (chunk.winners[rows].astype(np.int64) * width + chunk.first[rows]) * width + chunk.second[rows]
            good = cell if marks is None else cell[marks[rows] == 0]
            if len(good) * 4 < self._tally.size:
                np.add.at(self._tally.reshape(-1), good, 1)
            else:
                self._tally += np.bincount(good, minlength=self._tally.size).reshape(self._tally.shape)

    def _widen(self, size: int) -> None:
        old = self._tally.shape[1]
        if size > old:
            # Grows by half at a time, so that names that come one a chunk do not copy the table each time.
            table = np.zeros((4, size + size // 2, size + size // 2), dtype=np.int64)
            table[:, :old, :old] = self._tally
            self._tally = table


def _counts(names: tuple[str, ...], tally: IntArray) -> PairCounts:
    battles = (tally.sum(axis=(0, 1)) + tally.sum(axis=(0, 2)))[: len(names)]
    order: list[int] = sorted(np.flatnonzero(battles).tolist(), key=names.__getitem__)
    won_a, won_b, tied, bad = tally[:, order][:, :, order]
    return PairCounts.from_tables([names[place] for place in order], won_a + won_b.T, tied + tied.T, bad + bad.T)


def _late_marks(battles: CodedBattles, rules: CleaningRules) -> NDArray[np.int8]:
    marks = np.zeros(len(battles), dtype=np.int8)
    times = battles.timestamps
    if rules.window_days is not None and rules.until is None and times is not None and times.size:
        marks[times < times.max() - rules.window_days * DAY_S] = MARKS[Reason.TOO_EARLY]
    if rules.per_voter is not None and battles.voters is not None:
        left = np.flatnonzero(marks == 0)
        chosen = battles.where(left)
        order = chosen.time_order()
        assert chosen.voters is not None
        early = earliest(chosen.voters.codes[order], chosen.first[order], chosen.second[order], limit=rules.per_voter)
        marks[left[order[~early]]] = MARKS[Reason.OVER_VOTER_CAP]
    return marks


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
