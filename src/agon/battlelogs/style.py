"""Style of answers, from the counts that releases carry."""

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np

from agon.battlelogs.categories import parsed, values_of
from agon.battlelogs.rows import Frame
from agon.ranking.arrays import FloatArray
from agon.ranking.columns import Coded, Column
from agon.ranking.style import FEATURES, RawStyle

METADATA = "conv_metadata"
_KEYS: Mapping[str, str] = {
    "tokens": "sum_assistant_{}_tokens",
    "headers": "header_count_{}",
    "lists": "list_count_{}",
    "bold": "bold_count_{}",
}


def style_columns() -> tuple[str, ...]:
    return (METADATA, *(f"{feature}_{side}" for feature in FEATURES for side in "ab"))


def read_style(frame: Frame) -> RawStyle | None:
    """Counts of tokens, headers, lists and bold in either answer; None if the table has none."""
    sides = [list(_side(frame, side)) for side in "ab"]
    if any(column is None for side in sides for column in side):
        return None
    a, b = (np.column_stack([column for column in side if column is not None]) for side in sides)
    return RawStyle(FEATURES, a, b)


def _side(frame: Frame, side: str) -> Iterator[FloatArray | None]:
    if METADATA in frame.columns:
        metadata = [parsed(value) for value in values_of(frame.columns[METADATA])]
        for feature in FEATURES:
            key = _KEYS[feature].format(side)
            yield np.array([_count(value, key) for value in metadata], dtype=np.float64)
        return
    for feature in FEATURES:
        leaves = [
            column
            for name, column in frame.columns.items()
            if _under(name, f"{METADATA}.{_KEYS[feature].format(side)}")
        ]
        if leaves:
            yield np.sum([np.asarray(column, dtype=np.float64) for column in leaves], axis=0)
        elif (column := frame.column(f"{feature}_{side}")) is not None:
            yield _numbers(column)
        else:
            yield None


def _numbers(column: Column) -> FloatArray:
    if isinstance(column, Coded):
        return np.array([*map(_number, column.values), np.nan])[column.codes]
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return column.astype(np.float64)
    return np.array([_number(value) for value in column], dtype=np.float64)


def _under(name: str, key: str) -> bool:
    return name == key or name.startswith(f"{key}.")


def _count(metadata: object, key: str) -> float:
    found = cast("dict[str, object]", metadata).get(key) if isinstance(metadata, dict) else None
    if isinstance(found, dict):
        return sum(_number(value) for value in cast("dict[str, object]", found).values())
    return _number(found)


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float | str) else np.nan
    except ValueError:
        return np.nan
