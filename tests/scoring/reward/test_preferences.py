import json

import pytest
from tests.scoring.reward.support import FILES, reading

from agon.scoring.reward.preferences import read_preferences

GOOD = {"id": "1", "prompt": "p", "answer_a": "a", "answer_b": "b", "preference": "a", "source": "s", "licence": "MIT"}


def line(**changes: object) -> bytes:
    return json.dumps({key: value for key, value in (GOOD | changes).items() if value is not ...}).encode()


def test_good_rows_are_read() -> None:
    found = read_preferences("f.jsonl", [line(), b"", line(id="2", preference="b"), line(id="3", preference="tie")])
    assert [pair.outcome for pair in found.pairs] == [1.0, 0.0, 0.5]
    assert not found.faults
    assert (found.pairs[0].file, found.pairs[0].source, found.pairs[0].licence) == ("f.jsonl", "s", "MIT")


def test_a_row_without_source_comes_from_its_file() -> None:
    assert read_preferences("f.jsonl", [line(source=...)]).pairs[0].source == "f.jsonl"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (line(prompt=...), "no prompt"),
        (line(answer_a=...), "no answer_a"),
        (line(answer_b=None), "answer_b is no text"),
        (line(prompt=7), "prompt is no text"),
        (line(prompt=" \n"), "prompt is empty"),
        (line(answer_a="x" * 1_000_001), "answer_a has more than 1,000,000 characters"),
        (line(answer_b="x\ud800"), "answer_b holds half of a surrogate pair"),
        (line(preference=...), "preference is not a, b or tie"),
        (line(preference="A"), "preference is not a, b or tie"),
        (line(preference=["a"]), "preference is not a, b or tie"),
    ],
)
def test_a_bad_row_is_left_out_with_its_line_and_reason(row: bytes, reason: str) -> None:
    found = read_preferences("f.jsonl", [line(), row, line(id="2")])
    assert len(found.pairs) == 2
    assert [(fault.line, fault.reason) for fault in found.faults] == [(2, reason)]


def test_an_id_counts_once() -> None:
    found = read_preferences("f.jsonl", [line(), line()])
    assert len(found.pairs) == 1
    assert "'1' was there before" in found.faults[0].reason


def test_byte_order_marks_and_carriage_returns_are_no_faults() -> None:
    assert len(read_preferences("f.jsonl", [b"\xef\xbb\xbf" + line() + b"\r", b"\r"]).pairs) == 1


def test_the_samples_are_whole() -> None:
    assert sum(len(reading(file).pairs) for file in FILES) > 150
    assert not any(reading(file).faults for file in FILES)
