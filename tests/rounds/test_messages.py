"""Values survive being kept, and nothing else is taken for one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agon.rounds.messages as kept
from agon.core.scoring import Score
from agon.rounds.messages import (
    SCHEMA,
    decode_answer,
    decode_score,
    described,
    encode_answer,
    encode_score,
    seal,
    unseal,
)

KEY = bytes(range(32))


def test_the_file_beside_says_the_same() -> None:
    text = Path(kept.__file__).with_suffix(".proto").read_text("utf-8")
    shown = {
        name: re.findall(r"^\s+(repeated )?(\w+) (\w+) = (\d+);", body, re.MULTILINE)
        for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    }
    file: Any = described()
    kinds = file.DESCRIPTOR.file.message_types_by_name["FieldDescriptorProto"].enum_types_by_name["Type"]
    built = {
        message.name: [
            (
                "repeated " if field.label == field.LABEL_REPEATED else "",
                kinds.values_by_number[field.type].name.removeprefix("TYPE_").lower(),
                field.name,
                str(field.number),
            )
            for field in message.field
        ]
        for message in file.message_type
    }
    assert shown == built
    assert f"package {file.package};" in text


@given(value=st.floats(-1e6, 1e6), detail=st.none() | st.dictionaries(st.text(), st.text() | st.integers()))
def test_a_score_is_read_as_the_ledger_would_have_it(value: float, detail: dict[str, Any] | None) -> None:
    read = decode_score(encode_score(Score(value, detail), "model-1"))
    assert read is not None
    assert read.value == round(value * 1_000_000) / 1_000_000
    assert read.detail == (None if detail is None else json.loads(json.dumps(detail)))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2e9])
def test_a_score_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="a score must be"):
        encode_score(Score(value), "model-1")


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_an_answer_is_read_as_it_was_kept(texts: list[str]) -> None:
    assert decode_answer(encode_answer(texts)) == tuple(texts)


@given(junk=st.binary(max_size=60))
def test_anything_at_all_may_lie_in_redis(junk: bytes) -> None:
    assert unseal(KEY, junk) is None
    assert isinstance(decode_score(junk), Score | None)
    assert isinstance(decode_answer(junk), tuple | None)


def test_an_entry_is_of_its_key_and_its_schema_or_none() -> None:
    other = KEY[:8] + bytes(24)
    assert unseal(KEY, seal(KEY, b"value")) == b"value"
    assert unseal(other, seal(KEY, b"value")) is None
    assert unseal(KEY, seal(KEY, b"value", SCHEMA + 1)) is None
    assert unseal(KEY, seal(KEY, b"value")[:-1]) is None
