from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.errors import EngineRejected
from agon.engines.sse import SseEvent, SseParser

_FIELDS = st.sampled_from(
    [
        "data",
        "event",
        "id",
        "retry",
        "nonsense",
        "",
        "data: 桥梁",
        "data:🌊 x",
        ": hi",
        "id: 7",
        "event: e",
        "data:  two",
    ]
)
_LINES = st.lists(_FIELDS | st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12), max_size=30)


def parse(data: bytes, *cuts: int, parser: SseParser | None = None) -> list[SseEvent]:
    parser = parser or SseParser()
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    return [event for a, b in pairwise(edges) for event in parser.feed(data[a:b])]


@given(_LINES, st.data())
def test_any_cutting_of_the_bytes_gives_the_same_events(lines: list[str], data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=len(lines), max_size=len(lines)))
    stream = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode() + b"\r\ndata: last\n\n"
    whole = parse(stream)
    assert whole[-1].data.endswith("last")
    assert parse(stream, *data.draw(st.lists(st.integers(0, len(stream))))) == whole
    assert parse(stream, *range(len(stream))) == whole


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n")), min_size=1, max_size=5))
def test_data_survives_the_way_there_and_back(lines: list[str]) -> None:
    stream = "".join(f"data: {line}\r\n" for line in lines).encode() + b"\r\n"
    assert parse(stream) == [SseEvent("\n".join(lines))]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [SseEvent("a")]),
        (b"data:a\ndata:  b\n\n", [SseEvent("a\n b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [SseEvent("a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b"data\n\ndata\ndata\n\ndata:", [SseEvent(""), SseEvent("\n")]),
        (b": note\n\nevent: e\n\ndata: a\n\n", [SseEvent("a")]),
        (
            b"event: e\nid: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            [SseEvent("a", "e", "1"), SseEvent("b", id="1"), SseEvent("c")],
        ),
        (b"id: a\0b\ndata: x\n\n", [SseEvent("x")]),
        (b"data: a\r\rdata: b\r\n\r\n", [SseEvent("a"), SseEvent("b")]),
        (b"Data: a\ndata : b\n\n", []),
        (b"data: \xff\n\n", [SseEvent("�")]),
        (b"data: cut off by the end\n", []),
    ],
)
def test_the_rules_of_the_standard(stream: bytes, expected: list[SseEvent]) -> None:
    assert parse(stream) == expected


def test_a_bare_cr_ends_an_event_at_once() -> None:
    assert SseParser().feed(b"data: a\r\r") == [SseEvent("a")]


def test_when_to_come_back_is_passed_over() -> None:
    assert parse(b"retry: 1500\ndata: a\n\n") == [SseEvent("a")]


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 100, b"data: 1234567890\n" * 9])
def test_what_never_ends_is_refused(stream: bytes) -> None:
    with pytest.raises(EngineRejected) as caught:
        parse(stream, *range(0, len(stream), 7), parser=SseParser(max_line_bytes=64, max_event_bytes=80))
    assert caught.value.code == "engine_stream_too_large"
