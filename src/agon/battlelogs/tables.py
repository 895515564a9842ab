"""Frames out of files: CSV and its kin, Parquet, and JSON records of like keys."""

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import numpy as np

from agon.battlelogs import arrow
from agon.battlelogs.categories import category_columns
from agon.battlelogs.faults import unreadable
from agon.battlelogs.jsontext import Record, blocks, lines
from agon.battlelogs.layouts import Layout, layout_of, no_layout
from agon.battlelogs.readings import Fault, Wants
from agon.battlelogs.rows import Frame
from agon.battlelogs.sources import Source
from agon.battlelogs.style import METADATA

DELIMITERS = ",\t;|"
SMALL_BYTES = 1 << 16
"""A text that ends within the head of its source is read without pyarrow, whose import would take longer than that."""
_FRAME_ROWS = 1 << 16
_FIELD_BYTES = (1 << 31) - 1


NESTED = frozenset((METADATA, *category_columns()))
"""Columns whose values may be objects or lists; in others such a value stands for nothing that could be meant."""
_NESTED_VALUE = ("nested",)


def wanted(layout: Layout, wants: Wants, columns: Collection[str]) -> list[str]:
    return [name for name in (*layout.required, *layout.optional(wants)) if name in columns]


def frame_of_records(records: Sequence[Record | Fault], columns: Collection[str]) -> Frame:
    """Columns out of records; a key that is not there is a missing value."""
    good = [record for record in records if isinstance(record, Record)]
    rows = np.array([record.row for record in good], dtype=np.int64)
    found = {name: [record.values.get(name) for record in good] for name in columns}
    for name in found.keys() - NESTED:
        found[name] = [_NESTED_VALUE if isinstance(value, dict | list) else value for value in found[name]]
    return Frame(found, rows, tuple(record for record in records if isinstance(record, Fault)))


def frames_of_lines(source: Source, columns: Collection[str], sample: Sequence[Record]) -> Iterator[Frame]:
    """Frames of a long text of JSON lines. What pyarrow does not take as it is, is read line by line as any other."""
    kinds = arrow.kinds_of(sample, columns)
    for before, block in blocks(source.stream):
        frame = None if kinds is None else arrow.json_lines(block, kinds, before)
        yield frame or frame_of_records(list(lines(io.BytesIO(block), before=before)), columns)


def read_parquet(source: Source, wants: Wants) -> tuple[Layout, Iterator[Frame]]:
    columns, frames = arrow.parquet(source)
    layout = layout_of(columns)
    if layout is None:
        raise no_layout(source.name, columns)
    return layout, frames(wanted(layout, wants, columns))


def read_delimited(source: Source, wants: Wants) -> tuple[Layout, Iterator[Frame]] | None:
    """The table, or None if its first line is no header of a battle log."""
    header = _header(source)
    layout = layout_of(header.columns)
    if layout is None:
        return None
    names = wanted(layout, wants, header.columns)
    first = source.head.partition(b"\n")[0].decode(errors="surrogateescape")
    plain = len(source.head) < SMALL_BYTES or _first_row(first, header.delimiter) != header.columns
    frames = _plain_frames if plain else _arrow_frames
    return layout, frames(source, header, names)


def header_columns(source: Source) -> list[str]:
    return _header(source).columns


class _Header:
    def __init__(self, delimiter: str, columns: list[str]) -> None:
        self.delimiter = delimiter
        self.columns = columns


def _header(source: Source) -> _Header:
    """The first line, cut by the delimiter that makes most of it."""
    text = source.head.decode(errors="surrogateescape")
    cut = [_Header(delimiter, _first_row(text, delimiter)) for delimiter in DELIMITERS]
    return max(cut, key=lambda header: (layout_of(header.columns) is not None, len(header.columns)))


def _first_row(text: str, delimiter: str) -> list[str]:
    csv.field_size_limit(_FIELD_BYTES)
    nothing: list[str] = []
    row = next((row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row), nothing)
    return [name.strip() for name in row]


def _plain_frames(source: Source, header: _Header, names: Sequence[str]) -> Iterator[Frame]:
    text = io.TextIOWrapper(source.stream, encoding="utf-8", errors="surrogateescape", newline="")
    rows = (row for row in csv.reader(text, delimiter=header.delimiter) if row)
    next(rows)
    places = {name: header.columns.index(name) for name in names}
    start = 0
    try:
        while block := list(islice(rows, _FRAME_ROWS)):
            yield _frame(block, start, places, len(header.columns))
            start += len(block)
    except csv.Error as error:
        raise unreadable(source.name, "bad_table", f"It cannot be read as a table: {error}.") from error


def _frame(block: Sequence[list[str]], start: int, places: dict[str, int], width: int) -> Frame:
    fits = [len(row) == width for row in block]
    good = [row for row, fit in zip(block, fits, strict=True) if fit]
    faults = tuple(
        Fault(start + place, "bad_row", f"{len(row)} fields instead of {width}")
        for place, row in enumerate(block)
        if len(row) != width
    )
    columns = {name: [row[place] for row in good] for name, place in places.items()}
    return Frame(columns, np.flatnonzero(fits) + start, faults)


def _arrow_frames(source: Source, header: _Header, names: Sequence[str]) -> Iterator[Frame]:
    return arrow.delimited(source, header.delimiter, header.columns, names)
