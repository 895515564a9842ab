"""Reads the header of a GGUF file: what the model is, before any of it is loaded.

The `gguf` package's reader takes 4 to 10 s for this, for it builds every word of the vocabulary; this one steps over
them.
"""

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agon.core.errors import EngineRejected

_MAGIC = b"GGUF"
_VERSIONS = {2, 3}
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MAX_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32

Scalar = int | float | bool | str


@dataclass(frozen=True, slots=True)
class TensorInfo:
    name: str
    shape: tuple[int, ...]
    """Fastest-moving dimension first, as in the file."""
    type: int
    offset: int
    """From the start of the data."""

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class GgufHeader:
    metadata: Mapping[str, Scalar]
    """Scalars and strings; arrays are stepped over."""
    value_offsets: Mapping[str, int]
    """Where each scalar's bytes are in the file."""
    tensors: tuple[TensorInfo, ...]
    tensors_start: int
    """Where the list of tensors begins."""
    alignment: int
    data_start: int
    file_bytes: int

    @property
    def chat_template(self) -> str:
        return str(self.metadata.get("tokenizer.chat_template", ""))

    def number(self, key: str, default: int = 0) -> int:
        """Return a number that is kept under the architecture's name."""
        value = self.metadata.get(f"{self.metadata.get('general.architecture')}.{key}", default)
        return int(value) if isinstance(value, int | float) else default


def read_header(path: Path) -> GgufHeader:
    """Read a GGUF file's header. Raises `EngineRejected` if the file is none, or is cut off."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).read()
    except (OSError, ValueError, struct.error, KeyError, OverflowError) as error:
        raise EngineRejected(
            f"{path} is no GGUF model, or not all of it is there ({type(error).__name__}): fetch it again.",
            code="engine_bad_weights",
        ) from None


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def read(self) -> GgufHeader:
        if self._data[:4] != _MAGIC:
            raise ValueError("magic")
        self._at = 4
        version, tensor_count, value_count = self._unpack("IQQ")
        if version not in _VERSIONS:
            raise ValueError("version")
        metadata: dict[str, Scalar] = {}
        offsets: dict[str, int] = {}
        for _ in range(value_count):
            key, (kind,) = self._string(), self._unpack("I")
            if kind == _ARRAY:
                self._skip_array()
                continue
            offsets[key] = self._at
            metadata[key] = self._string() if kind == _STRING else self._unpack(_SCALARS[kind])[0]
        tensors_start = self._at
        tensors = tuple(self._tensor() for _ in range(tensor_count))
        alignment = int(metadata.get("general.alignment", _DEFAULT_ALIGNMENT))
        data_start = -(-self._at // alignment) * alignment
        if any(data_start + tensor.offset >= len(self._data) for tensor in tensors):
            raise ValueError("cut off")
        return GgufHeader(metadata, offsets, tensors, tensors_start, alignment, data_start, len(self._data))

    def _unpack(self, layout: str) -> tuple[int, ...]:
        layout = f"<{layout}"
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def _string(self) -> str:
        (length,) = self._unpack("Q")
        start, self._at = self._at, self._at + length
        if self._at > len(self._data):
            raise ValueError("cut off")
        return self._data[start : self._at].decode("utf-8", errors="replace")

    def _skip_array(self) -> None:
        kind, count = self._unpack("IQ")
        if kind == _STRING:
            # Hundreds of thousands of words: no call and no slice for any of them.
            at, unpack, data = self._at, struct.Struct("<Q").unpack_from, self._data
            for _ in range(count):
                at += 8 + unpack(data, at)[0]
            self._at = at
        elif kind == _ARRAY:
            for _ in range(count):
                self._skip_array()
        else:
            self._at += count * struct.calcsize(f"<{_SCALARS[kind]}")

    def _tensor(self) -> TensorInfo:
        name, (dimensions,) = self._string(), self._unpack("I")
        if dimensions > _MAX_DIMENSIONS:
            raise ValueError("dimensions")
        shape = self._unpack("Q" * dimensions)
        kind, offset = self._unpack("IQ")
        return TensorInfo(name, shape, kind, offset)
