"""Parts of a table on their way from a file to the columns of battles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from agon.battlelogs.readings import Fault
from agon.ranking.arrays import IntArray
from agon.ranking.columns import Coded, Column, encoded


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
