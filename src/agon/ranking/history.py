"""Ratings through time: rolling windows of whole UTC days."""

from dataclasses import dataclass
from datetime import date

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import Codes, FloatArray, IntArray, frozen
from agon.ranking.bradley_terry import Anchor, BradleyTerry, fit_bradley_terry
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95

WINDOW_DAYS = 30
MAX_DAYS = 20_000
"""Longest history, some 55 years: a longer one has a wrong time in it."""
_EPOCH = date(1970, 1, 1).toordinal()


class RollingCounts:
    """Counts of the last days: each day is added once and taken away once, whatever the length of the window."""

    def __init__(self, window_days: int = WINDOW_DAYS) -> None:
        if window_days < 1:
            raise InvalidInput("A window must be at least one day long.", code="bad_window", field="window_days")
        self._length = window_days
        self._days: dict[int, PairCounts] = {}
        self._counts = PairCounts.empty()
        self._last: int | None = None

    @property
    def counts(self) -> PairCounts:
        """All votes of the window. A model stays in it, without battles, when its last vote falls out."""
        return self._counts

    def add(self, day: int, votes: PairCounts) -> None:
        """Counts votes of a UTC day since the epoch: a newer one moves the window on, one before it is left out."""
        self.advance(day)
        assert self._last is not None
        if day <= self._last - self._length:
            return
        before = self._days.get(day)
        self._days[day] = votes if before is None else before.plus(votes)
        self._counts = self._counts.plus(votes)

    def advance(self, day: int) -> None:
        """Lets the window end with this day, if it did not reach that far."""
        if self._last is not None and day <= self._last:
            return
        self._last = day
        for old in [known for known in self._days if known <= day - self._length]:
            self._counts = self._counts.minus(self._days.pop(old))


@dataclass(frozen=True, slots=True, eq=False)
class RatingHistory:
    """Ratings of M models at the end of D days.

    `ratings`, `low` and `high` (95 %) are DxM, in points, NaN where the window's votes do not compare a model with the
    main group; `battles` is DxM and `votes` (D,), both of the window.
    """

    models: tuple[str, ...]
    days: tuple[date, ...]
    ratings: FloatArray
    low: FloatArray
    high: FloatArray
    battles: IntArray
    votes: IntArray
    window_days: int | None


def rating_history(
    models: tuple[str, ...],
    first: Codes,
    second: Codes,
    winners: Codes,
    days: IntArray,
    *,
    window_days: int | None = WINDOW_DAYS,
    every: int = 1,
    anchor: Anchor | None = None,
) -> RatingHistory:
    """Bradley-Terry ratings over a rolling window, at the end of every day or every few.

    The columns, (V,), are coded as in `PairCounts.from_codes`; `days` counts UTC days from the epoch. Without
    `window_days` the window is all votes so far. Each vote is added once and taken away once, and each fit starts from
    the last, so that a day costs little more than its own votes. Raises `InvalidInput` for columns of different length,
    a window or step below one day, or more than `MAX_DAYS` days.
    """
    if (window_days is not None and window_days < 1) or every < 1:
        raise InvalidInput("A window and a step must be at least one day long.", code="bad_window", field="window_days")
    a, b, w, day = (np.asarray(codes, dtype=np.int64) for codes in (first, second, winners, days))
    if not a.shape == b.shape == w.shape == day.shape:
        raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
    if not day.size:
        return _gathered(models, [], [], window_days)
    ends = np.arange(int(day.min()), int(day.max()) + every, every)
    if len(ends) * every > MAX_DAYS:
        raise InvalidInput(f"The votes span more than {MAX_DAYS} days.", code="too_many_days", field="timestamp")
    order = np.argsort(day, kind="stable")
    a, b, w, day = a[order], b[order], w[order], day[order]
    upto = np.searchsorted(day, ends, side="right")
    since = np.zeros_like(upto) if window_days is None else np.searchsorted(day, ends - window_days, side="right")
    counts, fit = PairCounts.empty(models), None
    entries: list[_Entry] = []
    start = stop = 0
    for low, high in zip(since.tolist(), upto.tolist(), strict=True):
        if (low, high) != (start, stop) or fit is None:
            counts = counts.with_votes(a[stop:high], b[stop:high], w[stop:high])
            counts = counts.without_votes(a[start:low], b[start:low], w[start:low])
            start, stop = low, high
            fit = fit_bradley_terry(counts, anchor=anchor, start=fit)
        entries.append(_Entry.of(counts, fit))
    return _gathered(models, ends.tolist(), entries, window_days)


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    ratings: FloatArray
    se: FloatArray
    battles: IntArray
    votes: int

    @classmethod
    def of(cls, counts: PairCounts, fit: BradleyTerry) -> "_Entry":
        ratings, se = (np.full(len(counts.models), np.nan) for _ in range(2))
        if fit.main is not None:
            group = fit.groups[fit.main]
            ratings[group.places], se[group.places] = group.ratings, group.se
        return cls(ratings, se, counts.met().sum(axis=1), counts.votes())


def _gathered(
    models: tuple[str, ...], days: list[int], entries: list[_Entry], window_days: int | None
) -> RatingHistory:
    shape = (len(entries), len(models))
    ratings = np.array([entry.ratings for entry in entries]).reshape(shape)
    half = Z95 * np.array([entry.se for entry in entries]).reshape(shape)
    return RatingHistory(
        models=models,
        days=tuple(date.fromordinal(_EPOCH + day) for day in days),
        ratings=frozen(ratings),
        low=frozen(ratings - half),
        high=frozen(ratings + half),
        battles=frozen(np.array([entry.battles for entry in entries], dtype=np.int64).reshape(shape)),
        votes=frozen(np.array([entry.votes for entry in entries], dtype=np.int64)),
        window_days=window_days,
    )
