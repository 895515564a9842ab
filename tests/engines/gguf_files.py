"""Small GGUF files, written by the format's description rather than by the code under test."""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(content: object) -> bytes:
    match content:
        case str():
            return struct.pack("<I", 8) + text(content)
        case float():
            return struct.pack("<If", 6, content)
        case bool():
            return struct.pack("<I?", 7, content)
        case int():
            return struct.pack("<II", 4, content)
        case list():
            words = [str(word) for word in content]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return struct.pack("<IIQ", 9, 8, len(words)) + b"".join(map(text, words))
        case _:
            raise TypeError(content)


def write_gguf(
    path: Path, metadata: Mapping[str, object], tensors: Mapping[str, tuple[tuple[int, ...], int, bytes]] | None = None
) -> Path:
    """`tensors`: name → (shape with the fastest dimension first, type, data)."""
    tensors = tensors or {}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(text(key) + value(content) for key, content in metadata.items())
    body = b""
    for name, (shape, kind, data) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        head += struct.pack("<IQ", kind, len(body))
        body += data + b"\0" * (-len(data) % 32)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + body)
    return path


def model_metadata(**changes: object) -> dict[str, object]:
    metadata: dict[str, object] = {
        "general.architecture": "llama",
        "general.file_type": 3,
        "llama.block_count": 10,
        "llama.embedding_length": 64,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "tokenizer.ggml.tokens": ["a", "桥", "👩‍🚀"] * 50,
        "tokenizer.chat_template": TEMPLATE,
    }
    return {key: content for key, content in (metadata | changes).items() if content is not None}


def q4_1_rows(rows: int, columns: int, *, seed: int) -> bytes:
    """Random blocks of Q4_1: a scale, a minimum, and 32 values of four bits."""
    chance = np.random.default_rng(seed)
    count = rows * columns // 32
    scales = chance.uniform(0.01, 0.1, (count, 2)).astype("<f2").view(np.uint8).reshape(count, 4)
    return np.hstack([scales, chance.integers(0, 256, (count, 16), dtype=np.uint8)]).tobytes()
