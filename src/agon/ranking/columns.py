"""Columns of a battle log: as they come, or as codes into a dictionary."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import InvalidInput
from agon.ranking.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of V values as places in a dictionary.

    `codes`, (V,), are integers of any width; -1 is a missing value. `values` may hold anything that a file can, in any
    order, unused entries and repeated ones too, so that the dictionary of a Parquet column passes through untouched.
    `distinct` says that no value is there twice and none is missing, which spares a look at each; it may be a lazy
    sequence then.
    """

    codes: NDArray[np.integer]
    values: Sequence[object]
    distinct: bool = False

    def __len__(self) -> int:
        return len(self.codes)


Column = Coded | Sequence[object] | NDArray[Any]
"""One value a row: dictionary-encoded, a list, or a numpy array of any type."""


def encoded(column: Column) -> Coded:
    """The column as codes. Raises `InvalidInput` (`bad_column`) for codes that point outside their dictionary."""
    if isinstance(column, Coded):
        _check(column)
        return column
    values: Sequence[object] = column.tolist() if isinstance(column, np.ndarray) else column
    return _encoded_flags(column) if _is_boolean(column) else _encoded_values(values)


def missing(value: object) -> bool:
    """None, a float that is no number, or text with nothing in it."""
    plain = _plain(value)
    if plain is None:
        return True
    if isinstance(plain, float):
        return math.isnan(plain)
    return isinstance(plain, str) and not plain.strip()


def _plain(value: object) -> object:
    """The value that a scalar of numpy holds."""
    scalar: Any = value
    return scalar.item() if issubclass(type(value), np.generic) else value


def _check(column: Coded) -> None:
    codes = column.codes
    if codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer):
        raise InvalidInput("A column's codes must be a flat row of integers.", code="bad_column")
    if codes.size and (codes.min() < -1 or codes.max() >= len(column.values)):
        raise InvalidInput("A column's code points outside its dictionary.", code="bad_column")


def _is_boolean(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.dtype == np.bool_


def _encoded_flags(column: Any) -> Coded:
    return Coded(np.asarray(column).astype(np.int8), (False, True))


def _encoded_values(values: Sequence[object]) -> Coded:
    try:
        table = dict.fromkeys(values)
    except TypeError:
        # A list a row, as of categories, cannot be a key.
        values = [hashable(value) for value in values]
        table = dict.fromkeys(values)
    place = {value: code for code, value in enumerate(table)}
    codes: IntArray = np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values))
    return Coded(codes, tuple(table))


def hashable(value: object) -> object:
    """The value, or something equal for equal values that can be a key."""
    if isinstance(value, list | tuple):
        return _tuple(value)  # pyright: ignore[reportUnknownArgumentType] - a file's list may hold anything
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _tuple(items: Sequence[object]) -> tuple[object, ...]:
    return tuple(hashable(item) for item in items)


class CodedText(Sequence[str]):
    """Texts kept as codes and decoded one at a time; a missing one is the empty text."""

    def __init__(self, column: Coded) -> None:
        self.column = column

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "CodedText": ...
    def __getitem__(self, index: int | slice) -> "str | CodedText":
        if isinstance(index, slice):
            return CodedText(Coded(self.column.codes[index], self.column.values))
        code = int(self.column.codes[index])
        return "" if code < 0 else str(self.column.values[code])

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))
