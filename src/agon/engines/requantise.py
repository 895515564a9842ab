"""Rewrites a GGUF model in Q8_0. The same input always gives the same bytes."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from agon.engines.gguf_header import GgufHeader, TensorInfo, read_header

_FILE_TYPE_Q8_0 = 7


def requantise(source: Path, target: Path, *, on_progress: Callable[[int, int], None]) -> None:
    """Write `target` with every 4-bit tensor of `source` as Q8_0; everything else is copied as it is.

    `on_progress` is told how many bytes of the source are done, and of how many. Raises `EngineRejected` if `source`
    is no GGUF model.
    """
    header = read_header(source)
    codec = _Codec()
    data = np.memmap(source, dtype=np.uint8, mode="r")
    infos, sizes = _lay_out(header, codec)
    with target.open("wb") as out:
        start = bytearray(data[: header.tensors_start].tobytes())
        if (at := header.value_offsets.get("general.file_type")) is not None:
            struct.pack_into("<I", start, at, _FILE_TYPE_Q8_0)
        out.write(bytes(start) + infos)
        out.write(_padding(out.tell(), header.alignment))
        for tensor, size in zip(header.tensors, sizes, strict=True):
            begin = header.data_start + tensor.offset
            raw = data[begin : begin + codec.size(tensor.elements, tensor.type)]
            body = codec.convert(raw, tensor)
            assert len(body) == size, tensor.name
            out.write(body)
            out.write(_padding(out.tell(), header.alignment))
            on_progress(begin + len(raw), header.file_bytes)


class _Codec:
    """`gguf`'s conversions; the package has no types, so it is kept behind this."""

    def __init__(self) -> None:
        import gguf
        from gguf import quants

        self._types = gguf.GGMLQuantizationType
        self._sizes = cast("dict[Any, tuple[int, int]]", gguf.GGML_QUANT_SIZES)
        self._quants = cast("Any", quants)
        self.q8_0 = int(self._types.Q8_0)
        self._small = {int(kind) for kind in (self._types.Q4_0, self._types.Q4_1)}

    def target_type(self, tensor: TensorInfo) -> int:
        return self.q8_0 if tensor.type in self._small else tensor.type

    def size(self, elements: int, kind: int) -> int:
        block, block_bytes = self._sizes[self._types(kind)]
        return elements // block * block_bytes

    def convert(self, raw: "np.ndarray[Any, np.dtype[np.uint8]]", tensor: TensorInfo) -> bytes:
        if tensor.type not in self._small:
            return raw.tobytes()
        # Rows in memory order: the file's fastest dimension is the last one of an array.
        rows = raw.reshape(*reversed(tensor.shape[1:]), -1)
        values = self._quants.dequantize(rows, self._types(tensor.type))
        return bytes(self._quants.quantize(values, self._types.Q8_0).tobytes())


def _lay_out(header: GgufHeader, codec: _Codec) -> tuple[bytes, list[int]]:
    """Return the new list of tensors as bytes, and the size of each one's data."""
    infos, sizes, offset = bytearray(), list[int](), 0
    for tensor in header.tensors:
        name, kind = tensor.name.encode(), codec.target_type(tensor)
        infos += struct.pack(f"<Q{len(name)}sI", len(name), name, len(tensor.shape))
        infos += struct.pack(f"<{len(tensor.shape)}QIQ", *tensor.shape, kind, offset)
        sizes.append(codec.size(tensor.elements, kind))
        offset += sizes[-1] + len(_padding(sizes[-1], header.alignment))
    return bytes(infos), sizes


def _padding(position: int, alignment: int) -> bytes:
    return b"\0" * (-position % alignment)
