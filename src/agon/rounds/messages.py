"""What caches keep, as Protobuf messages; `messages.proto` shows them in Protobuf's own words."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from agon.core.rounds import from_units, to_units
from agon.core.scoring import Score

SCHEMA = 1
"""Of everything that is kept. Values of any other are unknown."""

_PACKAGE = "agon.rounds"
_MESSAGES: Mapping[str, Sequence[tuple[str, str, bool]]] = {
    "CachedScore": (("units", "sint64", False), ("detail", "string", False), ("revision", "string", False)),
    "CachedAnswer": (("texts", "string", True),),
    "Entry": (("schema", "uint32", False), ("key", "bytes", False), ("value", "bytes", False)),
}
"""Fields by message: name, type, whether it repeats. They are numbered in this order."""


class _Score(Protocol):
    units: int
    detail: str
    revision: str

    def SerializeToString(self) -> bytes: ...  # noqa: N802 - Protobuf's name


class _Answer(Protocol):
    texts: Sequence[str]

    def SerializeToString(self) -> bytes: ...  # noqa: N802


class _Entry(Protocol):
    schema: int
    key: bytes
    value: bytes

    def SerializeToString(self) -> bytes: ...  # noqa: N802


def described() -> descriptor_pb2.FileDescriptorProto:
    """The file as Protobuf sees it."""
    kinds = cast("Any", descriptor_pb2.FieldDescriptorProto)
    file: Any = descriptor_pb2.FileDescriptorProto()
    file.name, file.package, file.syntax = "agon/rounds/messages.proto", _PACKAGE, "proto3"
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind, repeats) in enumerate(fields, 1):
            label = kinds.LABEL_REPEATED if repeats else kinds.LABEL_OPTIONAL
            message.field.add(name=field, number=number, type=getattr(kinds, f"TYPE_{kind.upper()}"), label=label)
    return file


def _classes() -> Mapping[str, Any]:
    # A pool of its own: nothing that is loaded beside it can clash with these names.
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(described())
    factory: Any = message_factory
    return {name: factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


_CLASSES = _classes()
_new_score, _new_answer, _new_entry = (_CLASSES[name] for name in ("CachedScore", "CachedAnswer", "Entry"))
_read_entry: Any = _new_entry.FromString


def encode_score(score: Score, revision: str) -> bytes:
    """Raises `ValueError` where the score is none that a ledger can hold."""
    detail = "" if score.detail is None else json.dumps(dict(score.detail), separators=(",", ":"), sort_keys=True)
    message: _Score = _new_score(units=to_units(score.value), detail=detail, revision=revision)
    return message.SerializeToString()


def decode_score(value: bytes) -> Score | None:
    """`None` where it is no score."""
    try:
        message: _Score = _new_score.FromString(value)
        detail = cast("Mapping[str, Any] | None", json.loads(message.detail)) if message.detail else None
    except (DecodeError, ValueError):
        return None
    return Score(from_units(message.units), detail)


def encode_answer(texts: Iterable[str]) -> bytes:
    message: _Answer = _new_answer(texts=list(texts))
    return message.SerializeToString()


def decode_answer(value: bytes) -> tuple[str, ...] | None:
    """`None` where it is no answer."""
    try:
        message: _Answer = _new_answer.FromString(value)
    except (DecodeError, ValueError):
        return None
    return tuple(message.texts) or None


def seal(key: bytes, value: bytes, schema: int = SCHEMA) -> bytes:
    """A value as it lies in Redis, with the whole digest of what it belongs to."""
    message: _Entry = _new_entry(schema=schema, key=key, value=value)
    return message.SerializeToString()


def unseal(key: bytes, entry: bytes) -> bytes | None:
    """The value; `None` where it belongs to another key, is of another schema, or is no entry at all."""
    try:
        message: _Entry = _read_entry(entry)
    except DecodeError:
        return None
    return message.value if message.schema == SCHEMA and message.key == key else None
