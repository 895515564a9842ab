"""Parts of a table on their way from a file to the columns of battles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from agon.battlelogs.readings import Fault
from agon.ranking.arrays import BoolArray, IntArray
from agon.ranking.columns import Coded, Column, encoded, missing


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Some rows of a table. `columns` holds those that were asked for and are there; `rows` numbers them."""

    columns: Mapping[str, Column]
    rows: IntArray
    faults: tuple[Fault, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> Column | None:
        return self.columns.get(name)

    def coded(self, name: str) -> Coded:
        """A column as codes; one that is not there is missing in every row."""
        column = self.columns.get(name)
        return Coded(np.full(len(self), -1), ()) if column is None else encoded(column)

    def first_of(self, *names: str) -> Column | None:
        return next((self.columns[name] for name in names if name in self.columns), None)


def keys(*columns: Column) -> Coded:
    """What tells rows apart by all these columns together, where the first has a value; missing elsewhere.

    Each row's key is a 64-bit hash that differs from run to run: telling a hundred million rows apart by it goes wrong
    once in some 4,000 runs, and it takes a tenth of the time and memory of the texts themselves.
    """
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        # The odd constant is 2**64 over the golden ratio, as in Fibonacci hashing.
        mixed = (mixed ^ _hashes(column)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    found, codes = np.unique(mixed, return_inverse=True)
    return Coded(np.where(_missing(columns[0]), -1, codes), cast("list[int]", found.tolist()))


def _hashes(column: Column) -> NDArray[np.uint64]:
    if isinstance(column, Coded):
        table = (*column.values, None)
        return np.fromiter(map(hash, table), dtype=np.int64, count=len(table)).view(np.uint64)[column.codes]
    values: Sequence[object] = column.tolist() if isinstance(column, np.ndarray) else column
    return np.fromiter(map(hash, values), dtype=np.int64, count=len(values)).view(np.uint64)


def _missing(column: Column) -> BoolArray:
    if isinstance(column, Coded):
        return np.array([*map(missing, column.values), True], dtype=np.bool_)[column.codes]
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return np.zeros(len(column), dtype=np.bool_)
    return np.fromiter(map(missing, column), dtype=np.bool_, count=len(column))


def mapped(function: Callable[..., object], *columns: Coded) -> Coded:
    """`function` of columns' values row by row, worked out once for each combination that is there."""
    if len(columns) == 1:
        column = columns[0]
        codes, values = column.codes, [function(value) for value in (*column.values, None)]
        return _distinct(np.where(codes < 0, len(values) - 1, codes), values)
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    sizes = [len(column.values) + 1 for column in columns]
    for column, size in zip(columns, sizes, strict=True):
        combined = combined * size + (column.codes.astype(np.int64) + 1)
    found, codes = np.unique(combined, return_inverse=True)
    places = np.array(np.unravel_index(found, sizes)) - 1
    tables = [(*column.values, None) for column in columns]
    values = [
        function(*(table[place] for table, place in zip(tables, row, strict=True)))
        for row in cast("list[list[int]]", places.T.tolist())
    ]
    return _distinct(codes, values)


def _distinct(codes: IntArray, values: Sequence[object]) -> Coded:
    """Codes of values among which some may be alike; a None becomes a missing one."""
    place: dict[object, int] = {}
    table = np.array([-1 if value is None else place.setdefault(value, len(place)) for value in values], dtype=np.int64)
    return Coded(table[codes] if len(table) else codes, tuple(place))
