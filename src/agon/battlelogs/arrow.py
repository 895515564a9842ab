"""The one place that speaks with pyarrow, which has no types, and translates its errors."""

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from agon.battlelogs.faults import unreadable
from agon.battlelogs.jsontext import Record
from agon.battlelogs.readings import Fault
from agon.battlelogs.rows import Frame
from agon.battlelogs.sources import Source, mended, seekable
from agon.battlelogs.style import METADATA
from agon.ranking.columns import Coded, Column

_BATCH_ROWS = 1 << 18
_BLOCK_BYTES = 1 << 24

IDS = frozenset(("vote_id", "battle_id", "question_id", "id", "conversation_pair_id"))
"""Columns in which nearly every value is another, so that a dictionary of them would be no shorter."""

_NUMBERS = ("int", "uint", "double", "float")

Frames = Callable[[Sequence[str]], Iterator[Frame]]


def parquet(source: Source) -> tuple[list[str], Frames]:
    """The columns of a Parquet file, and its frames once it is said which of them are wanted."""
    pq: Any = import_module("pyarrow.parquet")
    with _translated(source.name, "corrupt_parquet", "It is a damaged Parquet file, as of a download that broke off"):
        file = seekable(source)
        schema = pq.ParquetFile(file).schema_arrow

    def frames(names: Sequence[str]) -> Iterator[Frame]:
        start = 0
        texts = [name for name in names if name not in IDS and _is_text(schema.field(name).type)]
        with _translated(source.name, "corrupt_parquet", "It is a damaged Parquet file"):
            table = pq.ParquetFile(file, read_dictionary=texts, pre_buffer=False)
            for batch in table.iter_batches(batch_size=_BATCH_ROWS, columns=list(names)):
                yield _frame(batch, np.arange(start, start + len(batch)))
                start += len(batch)

    return list(schema.names), frames


def delimited(source: Source, delimiter: str, header: Sequence[str], names: Sequence[str]) -> Iterator[Frame]:
    """Frames of a large CSV file whose header is its first line."""
    pa: Any = import_module("pyarrow")
    pcsv: Any = import_module("pyarrow.csv")
    bad: list[Any] = []

    def note(row: Any) -> str:
        bad.append(row)
        return "skip"

    # Columns are called by their place here: a header may hold anything, and one name twice.
    places = {f"c{header.index(name)}": name for name in names}
    kind = pa.dictionary(pa.int32(), pa.string())
    options = {
        "read_options": pcsv.ReadOptions(
            block_size=_BLOCK_BYTES,
            use_threads=False,
            column_names=[f"c{place}" for place in range(len(header))],
            skip_rows=1,
        ),
        "parse_options": pcsv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
        "convert_options": pcsv.ConvertOptions(
            include_columns=list(places),
            column_types={place: pa.string() if name in IDS else kind for place, name in places.items()},
            check_utf8=False,
            strings_can_be_null=False,
        ),
    }
    start = 0
    with _translated(source.name, "bad_table", "It cannot be read as a table"):
        for batch in pcsv.open_csv(pa.PythonFile(mended(source.stream), mode="r"), **options):
            # Rows are numbered as they stand in the file, so those left out leave gaps.
            faults = tuple(
                Fault(row.number - 2, "bad_row", f"{row.actual_columns} fields instead of {row.expected_columns}")
                for row in bad
            )
            bad.clear()
            rows = np.arange(start, start + len(batch) + len(faults))
            named = batch.rename_columns(list(places.values()))
            yield _frame(named, np.setdiff1d(rows, [fault.row for fault in faults]), faults)
            start += len(rows)


def kinds_of(sample: Sequence[Record], columns: Collection[str]) -> Any:
    """The type of each column as far as a sample shows it, or None where it shows none or several."""
    pa: Any = import_module("pyarrow")
    types: dict[type, Any] = {str: pa.string(), bool: pa.bool_(), float: pa.float64(), int: pa.int64()}
    fields: list[tuple[str, Any]] = []
    for name in columns:
        found = {type(record.values[name]) for record in sample if record.values.get(name) is not None}
        found = {float} if found == {int, float} else found
        kind = types.get(found.pop()) if len(found) == 1 else None
        if kind is None:
            return None
        fields.append((name, kind))
    return pa.schema(fields)


def json_lines(block: bytes, kinds: Any, before: int) -> Frame | None:
    """A frame of whole lines of JSON, or None if they are not all objects with columns of these kinds."""
    pa: Any = import_module("pyarrow")
    pjson: Any = import_module("pyarrow.json")
    rows = block.count(b"\n") + (not block.endswith(b"\n"))
    try:
        table = pjson.read_json(
            pa.BufferReader(block),
            read_options=pjson.ReadOptions(block_size=len(block) + 1),
            parse_options=pjson.ParseOptions(explicit_schema=kinds, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != rows:
        # A line without an object would shift the numbers of those behind it.
        return None
    (batch,) = table.combine_chunks().to_batches() or (None,)
    if batch is None:
        return None
    columns = [
        column.dictionary_encode() if _is_text(column.type) and name not in IDS else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    encoded = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    return _frame(encoded, np.arange(before + 1, before + 1 + rows))


def _is_text(kind: Any) -> bool:
    types: Any = import_module("pyarrow.types")
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _frame(batch: Any, rows: Any, faults: tuple[Fault, ...] = ()) -> Frame:
    columns: dict[str, Column] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name == METADATA and str(column.type).startswith("struct"):
            columns.update(_leaves(name, column))
        else:
            columns[name] = _column(column)
    return Frame(columns, rows, faults)


def _column(array: Any) -> Column:
    kind = str(array.type)
    if kind.startswith("dictionary"):
        indices = array.indices.fill_null(-1) if array.null_count else array.indices
        return Coded(_numbers(indices), _values(array.dictionary))
    if kind.startswith(_NUMBERS) and not array.null_count:
        return _numbers(array)
    if kind.startswith("timestamp") and not array.null_count:
        # With a zone or without, what is stored counts from the epoch.
        return _numbers(array.view("int64")).view(f"datetime64[{array.type.unit}]")
    return _values(array)


def _numbers(array: Any) -> Any:
    """Numbers without gaps as numpy's own; pyarrow's `to_numpy` would import pandas wherever that is installed."""
    return np.from_dlpack(array)


def _values(array: Any) -> list[object]:
    try:
        return array.to_pylist()
    except UnicodeDecodeError:
        # The rows at fault are found by these signs later; the others stay.
        return [
            None if value is None else value.decode(errors="surrogateescape")
            for value in array.cast("binary").to_pylist()
        ]


def _leaves(name: str, array: Any) -> Iterator[tuple[str, Column]]:
    """The numbers within nested columns, each under its path."""
    for place, field in enumerate(array.type):
        inner = array.field(place)
        path = f"{name}.{field.name}"
        if str(field.type).startswith("struct"):
            yield from _leaves(path, inner)
        else:
            yield path, inner.to_numpy(zero_copy_only=False)


@contextmanager
def _translated(name: str, code: str, sentence: str) -> Generator[None]:
    pa: Any = import_module("pyarrow")
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, OSError) as error:
        detail = str(error).splitlines()[0].rstrip(".") if str(error) else "no reason given"
        raise unreadable(name, code, f"{sentence}: {detail}.") from error
