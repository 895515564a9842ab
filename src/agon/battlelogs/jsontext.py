"""Values out of JSON texts, one at a time: a value a line, or the elements of one long array."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import JSONDecodeError, JSONDecoder
from typing import BinaryIO, cast

from agon.battlelogs.readings import Fault

MAX_LINE_BYTES = 256 << 20
_BLOCK_BYTES = 1 << 20
_RUN_BYTES = 1 << 23
_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Record:
    """An object and where it stands."""

    row: int
    values: dict[str, object]


def lines(stream: BinaryIO, *, before: int = 0) -> Iterator[Record | Fault]:
    """The objects of a text with one a line, numbered by line from 1; empty lines are passed over.

    `before` is the number of lines before these.
    """
    number = before
    while line := stream.readline(MAX_LINE_BYTES):
        number += 1
        if not line.endswith(b"\n") and len(line) == MAX_LINE_BYTES:
            _skip_line(stream)
            yield Fault(number, "line_too_long")
        elif not line.isspace():
            yield _from_line(number, line)


def blocks(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Runs of whole lines, each with the number of lines before it."""
    number = 0
    while block := stream.read(_RUN_BYTES):
        if not block.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES)
            block += rest
            if len(rest) == MAX_LINE_BYTES:
                _skip_line(stream)
        yield number, block
        number += block.count(b"\n") or 1


def elements(stream: BinaryIO) -> Iterator[Record | Fault]:
    """The objects of one array, numbered from 0. What cannot be read ends it, as a fault of its place."""
    text = _Window(stream)
    text.skip("[")
    number = 0
    while not text.at("]"):
        try:
            value = text.value()
        except ValueError as error:
            yield Fault(number, "truncated_json" if text.ended else "invalid_json", text.place(error))
            return
        yield _record(number, value)
        number += 1
        if not text.at("]") and not text.skip(","):
            yield Fault(number, "truncated_json" if text.ended else "invalid_json", text.place(None))
            return
    text.skip("]")
    if not text.at_end():
        yield Fault(number, "invalid_json", f"more behind the array, {text.place(None)}")


def _from_line(number: int, line: bytes) -> Record | Fault:
    if b"\0" in line:
        return Fault(number, "nul_bytes")
    try:
        return _record(number, json.loads(line.decode()))
    except UnicodeDecodeError:
        return Fault(number, "invalid_utf8")
    except (ValueError, RecursionError):
        return Fault(number, "invalid_json" if line.endswith(b"\n") else "truncated_json")


def _record(number: int, value: object) -> Record | Fault:
    if not isinstance(value, dict):
        return Fault(number, "not_an_object")
    return Record(number, cast("dict[str, object]", value))


def _skip_line(stream: BinaryIO) -> None:
    while line := stream.readline(_BLOCK_BYTES):
        if line.endswith(b"\n"):
            return


class _Window:
    """The part of a long text that is being read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._bytes: bytes = b""
        self._text: str = ""
        self._at = 0
        self._lines = 0
        self._column = 0
        self._decoder = JSONDecoder()
        self.ended = False

    def value(self) -> object:
        """The next value. Raises `ValueError` if there is none."""
        self._blank()
        want = _BLOCK_BYTES
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise ValueError(str(error)) from error
            except JSONDecodeError:
                if self.ended:
                    raise
            else:
                # A number at the very end of the window may go on in the next block.
                if end < len(self._text) or self.ended:
                    self._at = end
                    return value
            # Doubled each time, so that a long value is not begun over and over.
            self._more(want)
            want *= 2

    def at(self, mark: str) -> bool:
        self._blank()
        return self._text.startswith(mark, self._at)

    def at_end(self) -> bool:
        self._blank()
        return self._at >= len(self._text)

    def skip(self, mark: str) -> bool:
        found = self.at(mark)
        self._at += len(mark) if found else 0
        return found

    def place(self, error: ValueError | None) -> str:
        """Where in the whole text, for people."""
        at = error.pos if isinstance(error, JSONDecodeError) else self._at
        before = self._text[:at]
        line = self._lines + before.count("\n") + 1
        column = at - before.rfind("\n") + (self._column if "\n" not in before else 0)
        return f"line {line}, column {column}"

    def _blank(self) -> None:
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text) or self.ended:
                return
            self._more(_BLOCK_BYTES)

    def _more(self, want: int) -> None:
        block = self._stream.read(want)
        self.ended = not block
        done = self._text[: self._at]
        newlines = done.count("\n")
        self._lines += newlines
        self._column = len(done) - done.rfind("\n") - 1 if newlines else self._column + len(done)
        whole = self._bytes + block
        # A character may be cut in two at the end of a block.
        keep = _cut_length(whole) if block else 0
        self._bytes = whole[len(whole) - keep :]
        fresh = whole[: len(whole) - keep].decode(errors="replace")
        self._text, self._at = self._text[self._at :] + fresh, 0


def _cut_length(block: bytes) -> int:
    """Bytes at the end that begin a character of UTF-8 without ending it."""
    for back in range(1, min(4, len(block)) + 1):
        byte = block[-back]
        if byte >= 0xC0:
            return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            return 0
    return 0
