"""What passes through: whole lines only, renamed, counted, and nothing that is no part of an answer."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.errors import EngineError, EngineRejected, EngineTruncated
from agon.relay.passage import Passage, Renaming, fields_of, used_tokens

TEXTS = ["Hi", ' "error": {"finish_reason":"stop"} ', "\u2028\n\ndata: [DONE]\n\n", '"model":"theirs"', "光🌊", "}"]


def chunk(delta: dict[str, Any], reason: str | None = None, **more: object) -> dict[str, Any]:
    return {"model": "theirs", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


def stream(
    texts: Sequence[str], *, end: str = "\n", colon: str = "data: ", tight: bool = False, done: bool = True
) -> bytes:
    chunks = [chunk({"role": "assistant"}), *(chunk({"content": text}) for text in texts), chunk({}, "stop")]
    chunks.append({"model": "theirs", "choices": [], "usage": {"completion_tokens": 7, "prompt_tokens": 3}})
    separators = (",", ":") if tight else None
    lines = [json.dumps(one, separators=separators, ensure_ascii=False) for one in chunks] + ["[DONE]"] * done
    return "".join(f"{colon}{line}{end}{end}" for line in lines).encode()


@given(
    texts=st.lists(st.sampled_from(TEXTS), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    colon=st.sampled_from(["data:", "data: "]),
    tight=st.booleans(),
    done=st.booleans(),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
)
def test_however_it_is_cut_all_of_it_passes(
    *, texts: list[str], end: str, colon: str, tight: bool, done: bool, cuts: list[int]
) -> None:
    data = stream(texts, end=end, colon=colon, tight=tight, done=done)
    passage = Passage(Renaming.between("theirs", "ours"))
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    passed = b""
    for start, stop in pairwise(places):
        part = passage.feed(data[start:stop])
        assert part == b"" or part.endswith(b"\n")
        passed += part
    spaced = b'"model":' if tight else b'"model": '
    assert passed == data.replace(spaced + b'"theirs"', spaced + b'"ours"')
    assert (passage.ended, passage.done, passage.used, passage.pending) == (True, done, 7, False)
    assert passage.spoke == bool(texts)
    assert passage.fault is None
    passage.finish()


def test_texts_that_look_like_names_are_left_alone() -> None:
    line = b'data: {"content": "\\"model\\": \\"theirs\\""}\n'
    assert Passage(Renaming.between("theirs", "ours")).feed(line) == line


def test_a_name_in_other_letters_is_put_in_whichever_way_it_is_written() -> None:
    renaming = Renaming.between("光", "ours")
    for theirs in (b'"model":"\\u5149"', '"model": "光"'.encode()):
        assert renaming.apply(theirs).endswith(b'"ours"')


@pytest.mark.parametrize("tail", [b"", b"data: {}\n\n", b'data: {"choices": [{"delta": {"content": "'])
def test_an_answer_without_an_end_is_none(tail: bytes) -> None:
    passage = Passage(Renaming.between("a", "a"))
    passage.feed(b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": null}]}\n\n')
    passage.feed(tail if tail.endswith(b"\n") else b"")
    with pytest.raises(EngineTruncated):
        passage.finish()


BAD = [
    (b'data: {"error": {"message": "Out of sesame."}}\n\n', EngineError, r"Out of \*\*\*\."),
    (b'data: {"error": "sesame"}\n\n', EngineError, r"\*\*\*"),
    (b'data: {"object": "error", "message": "No."}\n\n', EngineError, "No"),
    (b'data: {"choices": [{"delta": {"content": "half\n\n', EngineRejected, "JSON"),
    (b"data: oops\n\n", EngineRejected, "JSON"),
    (b"data: []\n\n", EngineRejected, "JSON"),
]


@pytest.mark.parametrize(("bad", "kind", "words"), BAD)
def test_what_is_no_part_of_an_answer_is_an_error_at_once_if_it_comes_first(
    bad: bytes, kind: type[EngineError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        Passage(Renaming.between("a", "a"), "sesame").feed(bad)


@pytest.mark.parametrize(("bad", "kind", "words"), BAD)
def test_later_what_stands_before_it_passes_first(bad: bytes, kind: type[EngineError], words: str) -> None:
    good = b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": null}]}\n\n'
    for parts in ((good, good + bad), (good, good, bad), (good + good + bad,)):
        passage = Passage(Renaming.between("a", "a"), "sesame")
        assert b"".join(map(passage.feed, parts)) == good + good
        assert passage.fault is not None
        assert type(passage.fault) is kind
        with pytest.raises(kind, match=words):
            raise passage.fault


def test_an_error_that_is_null_is_none() -> None:
    line = b'data: {"choices": [], "error": null}\n\n'
    passage = Passage(Renaming.between("a", "a"))
    assert passage.feed(line) == line
    assert passage.fault is None


def test_a_line_without_an_end_is_bounded() -> None:
    passage = Passage(Renaming.between("a", "a"))
    for _ in range(4):
        assert passage.feed(1_000_000 * b"x") == b""
    with pytest.raises(EngineRejected):
        passage.feed(1_000_000 * b"x")


@pytest.mark.parametrize(("claimed", "used"), [("7", 7), ("9999999", 9_999_999), ("1" * 8, 0), ("1" * 5000, 0)])
def test_only_a_number_of_tokens_that_can_be_is_believed(claimed: str, used: int) -> None:
    assert used_tokens(f'{{"usage":{{"completion_tokens":{claimed}}}}}'.encode()) == used


def test_what_is_nested_too_deeply_has_no_fields() -> None:
    assert fields_of(b'{"a":' + b"[" * 100_000) == {}
