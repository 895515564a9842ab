"""Moments in time as battle logs write them, read as seconds since the epoch, in UTC."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agon.ranking.arrays import BoolArray, FloatArray, IntArray
from agon.ranking.columns import Coded, missing

DAY_S = 86_400
"""Seconds of a day in UTC."""
_MILLISECONDS_FROM = 1e11
"""A number this large is milliseconds: as seconds it would lie beyond the year 5000."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """V moments: `seconds` since the epoch, (V,), NaN where there is none.

    `bad` marks what is there but cannot be read; `zoneless` what names no zone and was read as UTC.
    """

    seconds: FloatArray
    bad: BoolArray
    zoneless: BoolArray


def read_moments(column: "Coded | Sequence[object] | NDArray[Any]") -> Moments:
    """Reads numbers (seconds, or milliseconds where they are too large for that), datetimes and ISO 8601 texts."""
    if isinstance(column, Coded):
        inner = read_moments([*column.values, None])
        return Moments(inner.seconds[column.codes], inner.bad[column.codes], inner.zoneless[column.codes])
    if isinstance(column, np.ndarray) and column.dtype.kind in "Miuf":
        return _of_numbers(column)
    values: list[object] = list(column.tolist() if isinstance(column, np.ndarray) else column)
    read = [_read(value) for value in values]
    seconds = np.array([moment for moment, _ in read], dtype=np.float64)
    gone = np.fromiter(map(missing, values), dtype=np.bool_, count=len(values))
    zoneless = np.array([bare for _, bare in read], dtype=np.bool_)
    return Moments(seconds, np.isnan(seconds) & ~gone, zoneless)


def utc_days(seconds: FloatArray) -> IntArray:
    """Days since the epoch of V moments, (V,); all must be numbers."""
    return np.floor(seconds / DAY_S).astype(np.int64)


def _of_numbers(column: NDArray[Any]) -> Moments:
    nowhere = np.zeros(column.shape, dtype=np.bool_)
    if column.dtype.kind == "M":
        # Files that keep times as numbers keep them in UTC; NaT becomes NaN.
        whole = column.astype("datetime64[us]")
        seconds = np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
        return Moments(seconds, nowhere, nowhere)
    numbers = column.astype(np.float64, copy=False)
    large = np.abs(numbers) >= _MILLISECONDS_FROM
    seconds = np.where(large, numbers / 1e3, numbers) if large.any() else numbers
    bad = np.isinf(seconds) | (np.abs(seconds) >= _MILLISECONDS_FROM)
    return Moments(np.where(bad, np.nan, seconds) if bad.any() else seconds, bad, nowhere)


def _read(value: object) -> tuple[float, bool]:
    """Seconds and whether the zone had to be assumed."""
    if isinstance(value, bool) or value is None:
        return math.nan, False
    if isinstance(value, Real):
        return _of_number(value), False
    if isinstance(value, str):
        return _of_text(value.strip())
    if isinstance(value, datetime):
        return _of_datetime(value)
    return math.nan, False


def _of_number(value: Real | float) -> float:
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    seconds = number / 1e3 if abs(number) >= _MILLISECONDS_FROM else number
    return seconds if abs(seconds) < _MILLISECONDS_FROM else math.nan


def _of_text(text: str) -> tuple[float, bool]:
    try:
        return _of_datetime(datetime.fromisoformat(text))
    except ValueError:
        pass
    try:
        return _of_number(float(text)), False
    except ValueError:
        return math.nan, False


def _of_datetime(moment: datetime) -> tuple[float, bool]:
    bare = moment.tzinfo is None
    return (moment.replace(tzinfo=UTC) if bare else moment).timestamp(), bare
