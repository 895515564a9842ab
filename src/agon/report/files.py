"""A ranking into files, each written whole or not at all."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from agon.core.errors import InvalidInput
from agon.report.standings import Standings
from agon.report.texts import COLUMNS, Account, csv_text, flat, json_text


def write_rows(path: Path, standings: Standings, account: Account) -> None:
    """Writes .csv, .json or .parquet, as the name says. Raises `InvalidInput` if the place cannot be written to."""
    kind = path.suffix.lower()
    if kind == ".parquet":
        write_bytes(path, _parquet(standings))
    else:
        text = csv_text(standings.board.rows) if kind == ".csv" else json_text(standings, account) + "\n"
        write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Raises `InvalidInput` if the place cannot be written to."""
    with whole_file(path) as file:
        file.buffer.write(content)


@contextmanager
def whole_file(path: Path) -> Generator[TextIOWrapper]:
    """A new file that takes its place once it is whole. Raises `InvalidInput` if the place cannot be written to."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.", code="not_writable") from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def opened(path: Path | None) -> Generator[TextIO]:
    """Standard output, or a file that is in its place only once it is whole. Raises as `whole_file`."""
    if path is None:
        yield sys.stdout
        return
    with whole_file(path) as file:
        yield file


def _parquet(standings: Standings) -> bytes:
    pa: Any = import_module("pyarrow")
    pq: Any = import_module("pyarrow.parquet")
    whole = {"rank", "battles", "wins", "losses", "ties", "both_bad"}
    kinds = [
        (name, pa.int64() if name in whole else pa.string() if name in {"model", "notes"} else pa.float64())
        for name in COLUMNS
    ]
    table = pa.Table.from_pylist([flat(row) for row in standings.board.rows], schema=pa.schema(kinds))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue().to_pybytes())
