"""Reads a battle log of any form that is known, told by what is in it and not by its name."""

import io
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice

from agon.battlelogs import fastchat, open_webui
from agon.battlelogs.events import Reader, read_events
from agon.battlelogs.faults import unreadable
from agon.battlelogs.jsontext import Record, elements, lines
from agon.battlelogs.layouts import Layout, layout_of, no_layout
from agon.battlelogs.readings import Fault, Progress, Reading, Wants
from agon.battlelogs.rows import Frame
from agon.battlelogs.sources import Source, open_source
from agon.battlelogs.tables import (
    SMALL_BYTES,
    frame_of_records,
    frames_of_lines,
    header_columns,
    read_delimited,
    read_parquet,
    wanted,
)

LINE, ROW = "line", "row"
_SNIFFED = 200
"""Records looked at to tell what they are records of."""
_CHUNK = 1 << 12
_EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Log:
    """A log being read. `numbering` says whether its rows are lines, counted from 1, or rows, counted from 0."""

    source: str
    form: str
    numbering: str
    readings: Iterator[Reading]


@contextmanager
def open_log(name: str, wants: Wants, progress: Progress) -> Generator[Log]:
    """A path, or `-` for standard input. Raises `Unreadable`, now or while it is read."""
    with open_source(name, progress) as source:
        yield _open(source, wants)


def _open(source: Source, wants: Wants) -> Log:
    if source.is_parquet:
        layout, frames = read_parquet(source, wants)
        return Log(source.name, layout.name, ROW, _of_table(layout, frames, wants))
    start = source.head.lstrip()[:1]
    if not start:
        return Log(source.name, _EMPTY, LINE, iter(()))
    if start == b"[":
        return _of_records(source, elements(source.stream), ROW, wants)
    if start != b"{" and (table := read_delimited(source, wants)) is not None:
        layout, frames = table
        return Log(source.name, layout.name, ROW, _of_table(layout, frames, wants))
    if start == b"{" or _has_object(source):
        if (log := _of_long_lines(source, wants)) is not None:
            return log
        return _of_records(source, lines(source.stream), LINE, wants)
    raise no_layout(source.name, header_columns(source))


def _of_table(layout: Layout, frames: Iterator[Frame], wants: Wants) -> Iterator[Reading]:
    reader = layout.reader()
    for frame in frames:
        yield reader.read(frame, wants)
    yield reader.read_last()


def _has_object(source: Source) -> bool:
    """Whether a text that does not begin as one is a list of JSON objects all the same."""
    return any(line.lstrip().startswith(b"{") for line in source.head.splitlines()[:_SNIFFED])


def _of_records(source: Source, records: Iterator[Record | Fault], numbering: str, wants: Wants) -> Log:
    first = list(islice(records, _SNIFFED))
    every = chain(first, records)
    found = [record.values for record in first if isinstance(record, Record)]
    for name, is_one, reader in EVENT_LOGS:
        if any(map(is_one, found)):
            return Log(source.name, name, numbering, _of_events(every, reader))
    columns = list(dict.fromkeys(key for values in found for key in values))
    layout = layout_of(columns)
    if layout is not None:
        names = wanted(layout, wants, columns)
        frames = (frame_of_records(chunk, names) for chunk in _chunks(every))
        return Log(source.name, layout.name, numbering, _of_table(layout, frames, wants))
    if not found:
        return _without_objects(source, first, numbering)
    raise _refused(source, columns, found)


def _of_long_lines(source: Source, wants: Wants) -> Log | None:
    """A table of JSON lines that is long, and shows in its head what it is."""
    *whole, _ = source.head.splitlines(keepends=True)
    if len(source.head) < SMALL_BYTES or not whole:
        return None
    found = [record for record in lines(io.BytesIO(b"".join(whole))) if isinstance(record, Record)]
    if any(is_one(record.values) for _, is_one, _ in EVENT_LOGS for record in found):
        return None
    columns = list(dict.fromkeys(key for record in found for key in record.values))
    layout = layout_of(columns)
    if layout is None:
        return None
    names = wanted(layout, wants, columns)
    frames = frames_of_lines(source, names, found)
    return Log(source.name, layout.name, LINE, _of_table(layout, frames, wants))


EVENT_LOGS = (
    ("fastchat_log", fastchat.is_log, fastchat.read),
    ("open_webui_feedback", open_webui.is_feedback, open_webui.read),
)


def _of_events(records: Iterator[Record | Fault], reader: Reader) -> Iterator[Reading]:
    for chunk in _chunks(records):
        yield read_events(chunk, reader)


def _chunks(records: Iterator[Record | Fault]) -> Iterator[list[Record | Fault]]:
    while chunk := list(islice(records, _CHUNK)):
        yield chunk


def _without_objects(source: Source, first: Sequence[Record | Fault], numbering: str) -> Log:
    faults = tuple(record for record in first if isinstance(record, Fault))
    if not faults:
        return Log(source.name, _EMPTY, numbering, iter(()))
    raise unreadable(
        source.name,
        faults[0].reason,
        f"No {numbering} of it can be read; {numbering} {faults[0].row}: {faults[0].sentence}",
    )


def _refused(source: Source, columns: Sequence[str], found: Sequence[Mapping[str, object]]) -> Exception:
    if len(found) == 1 and not {"detail", "error"}.isdisjoint(columns):
        said = str(found[0].get("detail", found[0].get("error")))[:200]
        return unreadable(
            source.name,
            "not_a_list",
            f"It is no list of votes but a server's error, {said!r}; an export saved without a login looks like that.",
        )
    return no_layout(source.name, columns)
