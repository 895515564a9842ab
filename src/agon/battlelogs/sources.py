"""Files and standard input as a stream of plain UTF-8, whatever they are packed in."""

import bz2
import codecs
import gzip
import io
import lzma
import sys
import tempfile
import zlib
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from agon.battlelogs.faults import unreadable
from agon.battlelogs.readings import Progress

STDIN = "-"
PARQUET = b"PAR1"
_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One open input. `head` is the beginning of `stream`, which still gives it; `path` leads to these very bytes."""

    name: str
    head: bytes
    stream: BinaryIO
    owned: ExitStack
    """What is closed with the source."""
    path: Path | None = None

    @property
    def is_parquet(self) -> bool:
        return self.head.startswith(PARQUET)


@contextmanager
def open_source(name: str, progress: Progress) -> Generator[Source]:
    """Opens a path, or `-` for standard input. Whatever reading it raises is `Unreadable` in the end."""
    shown = "standard input" if name == STDIN else name
    with _translated(shown), ExitStack() as owned:
        path = None if name == STDIN else Path(name)
        file = sys.stdin.buffer if path is None else owned.enter_context(path.open("rb"))
        head, stream, plain = _unpacked(shown, file, progress)
        yield Source(shown, head, stream, owned, path if plain and path is not None and path.is_file() else None)


def seekable(source: Source) -> BinaryIO:
    """The source's bytes with a way to jump in them, once: the file itself if it is plain, or a copy on disk."""
    if source.path is not None:
        return source.owned.enter_context(source.path.open("rb"))
    copy = source.owned.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it is
    while block := source.stream.read(1 << 20):
        copy.write(block)
    copy.seek(0)
    return cast("BinaryIO", copy)


def total_bytes(names: list[str]) -> int | None:
    """Size of all sources together, as they lie on disk; None if one of them cannot say."""
    try:
        return sum(Path(name).stat().st_size for name in names) if STDIN not in names else None
    except OSError:
        return None


@contextmanager
def _translated(name: str) -> Generator[None]:
    """Errors of files and of packing become `Unreadable`, here and nowhere else."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise unreadable(name, "corrupt_archive", "The packed file is cut off or damaged.") from error
    except UnicodeDecodeError as error:
        raise unreadable(name, "invalid_utf16", "It begins as UTF-16 does, but is no text in it.") from error
    except IsADirectoryError as error:
        raise unreadable(name, "not_a_file", "It is a folder, not a file.") from error
    except OSError as error:
        reason = error.strerror or "The packed file is cut off or damaged"
        raise unreadable(name, "unreadable", f"{reason}.") from error


def _unpacked(name: str, file: BinaryIO, progress: Progress) -> tuple[bytes, BinaryIO, bool]:
    """The head, the stream, and whether these are the file's own bytes."""
    counted = cast("BinaryIO", io.BufferedReader(_Counting(file, progress), _BLOCK_BYTES))
    magic, stream = _with_head(counted, 8)
    if magic.startswith(b"PK\x03\x04"):
        raise unreadable(name, "zip_archive", "It is a zip archive or a workbook: unpack it, or save it as CSV.")
    opener = next((opener for start, opener in _PACKED.items() if magic.startswith(start)), None)
    head, stream = _with_head(stream if opener is None else opener(stream), _BLOCK_BYTES)
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
        return *_with_head(stream, _BLOCK_BYTES), False
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        recoded = cast("BinaryIO", io.BufferedReader(_Recoded(stream, "utf-16"), _BLOCK_BYTES))
        return *_with_head(recoded, _BLOCK_BYTES), False
    return head, stream, opener is None


def _with_head(stream: BinaryIO, size: int) -> tuple[bytes, BinaryIO]:
    """The first bytes, and a stream that still begins with them."""
    head = stream.read(size)
    return head, cast("BinaryIO", io.BufferedReader(_Joined(head, stream), _BLOCK_BYTES))


def _zstd(stream: BinaryIO) -> BinaryIO:
    pa: Any = import_module("pyarrow")
    return cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))


_PACKED: dict[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda stream: cast("BinaryIO", gzip.GzipFile(fileobj=stream)),
    b"BZh": lambda stream: cast("BinaryIO", bz2.BZ2File(stream)),
    b"\xfd7zXZ\x00": lambda stream: cast("BinaryIO", lzma.LZMAFile(stream)),  # noqa: SIM115 - closed with its file
    b"\x28\xb5\x2f\xfd": _zstd,
}


class _Counting(io.RawIOBase):
    def __init__(self, stream: BinaryIO, progress: Progress) -> None:
        self._stream = stream
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        self._progress(len(block))
        return len(block)


class _Joined(io.RawIOBase):
    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(block)] = block
        return len(block)


def mended(stream: BinaryIO) -> BinaryIO:
    """The stream with U+FFFD for whatever is no UTF-8, for a reader that gives up there."""
    return cast("BinaryIO", io.BufferedReader(_Recoded(stream, "utf-8", "replace"), _BLOCK_BYTES))


class _Recoded(io.RawIOBase):
    """A text of some encoding as UTF-8. With `strict` it raises `UnicodeDecodeError` where it is not of that."""

    def __init__(self, stream: BinaryIO, encoding: str, errors: str = "strict") -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            block = self._stream.read(_BLOCK_BYTES)
            self._ready = self._decoder.decode(block, final=not block).encode()
            if not block and not self._ready:
                return 0
        block, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(block)] = block
        return len(block)
