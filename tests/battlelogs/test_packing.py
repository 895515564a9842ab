"""The same log packed, recoded, piped or large is the same log."""

import bz2
import gzip
import io
import json
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.battlelogs.logs import DATA, read

from agon.battlelogs.faults import Unreadable
from agon.battlelogs.jsontext import Record, elements, lines
from agon.battlelogs.readings import Fault
from agon.cli import main
from agon.ranking.cleaning import CleaningRules

CSV = DATA / "evalica/food.csv"
LOG = DATA / "fastchat_logs/2024-03-14-conv.json"
TABLE = DATA / "hf/arena_human_preference_100k.parquet"


def zstd(content: bytes) -> bytes:
    packed: Any = import_module("pyarrow").compress(content, codec="zstd", asbytes=True)
    return bytes(packed)


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "utf-8 with a mark": lambda content: content.decode().encode("utf-8-sig"),
    "utf-16": lambda content: content.decode().encode("utf-16"),
    "utf-16 in gzip": lambda content: gzip.compress(content.decode().encode("utf-16-be", "strict")),
}


@pytest.mark.parametrize("path", [CSV, LOG], ids=["table", "log"])
@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz", "zstd", "utf-8 with a mark", "utf-16"])
def test_a_packed_log_reads_as_the_plain_one(packing: str, path: Path, tmp_path: Path) -> None:
    packed = tmp_path / "log"
    packed.write_bytes(PACKINGS[packing](path.read_bytes()))
    assert read(packed).battles == read(path).battles


@pytest.mark.parametrize("packing", ["gzip", "xz", "zstd"])
def test_a_packed_parquet_file_reads_as_the_plain_one(packing: str, tmp_path: Path) -> None:
    packed = tmp_path / "log"
    packed.write_bytes(PACKINGS[packing](TABLE.read_bytes()))
    assert read(packed).battles == read(TABLE).battles


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz", "zstd"])
def test_a_packed_log_that_breaks_off_is_refused(packing: str, tmp_path: Path) -> None:
    packed = tmp_path / "log"
    whole = PACKINGS[packing](LOG.read_bytes())
    packed.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Unreadable):
        read(packed)


@pytest.mark.parametrize("path", [CSV, LOG, TABLE], ids=["table", "log", "parquet"])
def test_standard_input_reads_as_a_file(path: Path) -> None:
    command = [sys.executable, "-m", "agon.cli", "rank", "--format", "csv"]
    piped = subprocess.run([*command, "-"], input=path.read_bytes(), capture_output=True, check=True)
    named = subprocess.run([*command, str(path)], capture_output=True, check=True)
    assert piped.stdout == named.stdout
    assert piped.stdout.count(b"\n") > 5


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a folder", None, "folder"),
        ("a workbook", b"PK\x03\x04 and so on", "zip archive"),
        ("no battle log", b"date,price\n2026-11-30,3\n", "date, price"),
        ("words", b"Once upon a time\nthere was a log.\n", "no battle log"),
        ("numbers", b"[1, 2, 3]", "No row of it can be read"),
        ("half of UTF-16", "model_a".encode("utf-16")[:-1], "UTF-16"),
    ],
)
def test_what_is_no_log_is_refused_with_a_reason(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(Unreadable, match=said):
        read(path)


def test_a_file_that_is_not_there_is_said_not_to_be() -> None:
    with pytest.raises(Unreadable, match="No such file"):
        read(DATA / "nowhere.csv")


def table(rows: int, *, delimiter: str = ",", broken: bool = True) -> str:
    """A CSV table with words of several lines, and now and then a row that is too short or too long."""
    rng = random.Random(7)
    found = [delimiter.join(("prompt", "model_a", "model_b", "winner", "vote_id"))]
    for number in range(rows):
        words = f'"Say ""{number}"" {delimiter} in\ntwo lines"' if number % 3 else "plain"
        first, second = rng.sample(["one", "två", "three", "四"], 2)
        row = [words, first, second, rng.choice(["model_a", "model_b", "tie", "none"]), f"v{number // 2}"]
        if broken and number % 50 == 17:
            row = row[:3] if number % 100 == 17 else [*row, "too much"]
        found.append(delimiter.join(row))
    return "\n".join(found) + "\n"


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_a_large_table_reads_as_its_small_parts(delimiter: str, tmp_path: Path) -> None:
    rows = 4000
    large = tmp_path / "large.csv"
    large.write_text(table(rows, delimiter=delimiter), "utf-8")
    assert large.stat().st_size > 1 << 16
    small = tmp_path / "small.csv"
    small.write_text(table(300, delimiter=delimiter), "utf-8")
    whole, part = read(large), read(small)
    assert whole.kept + len(whole.rejected) == rows
    assert [row for row in whole.rejected if row[0] < 300] == part.rejected
    assert whole.battles[: part.kept] == part.battles
    assert {reason for _, reason in part.rejected} == {"bad_row", "unknown_winner", "duplicate_id"}


def test_a_table_whose_words_are_no_text_keeps_the_other_rows(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    for padding in ("", "x" * (1 << 16)):
        content = f"model_a,model_b,winner,more\nb,a,a,{padding}\nd\xe9j\xe0,b,a,\na,b,tie,\n".encode("latin-1")
        path.write_bytes(content)
        found = read(path)
        assert (found.kept, found.rejected) == (2, [(1, "invalid_utf8")])


class Trickle(io.BytesIO):
    """A stream that gives a few bytes at a time, whatever is asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(7, 7 if size is None or size < 0 else size))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6)


@given(OBJECTS, st.sampled_from([None, 0, 2]), st.booleans())
def test_an_array_comes_out_element_by_element(
    objects: list[dict[str, object]], indent: int | None, plain: bool
) -> None:
    text = json.dumps(objects, indent=indent, ensure_ascii=plain)
    found = list(elements(Trickle(text.encode("utf-8", "surrogatepass"))))
    assert found == [Record(row, values) for row, values in enumerate(objects)]


@given(OBJECTS)
def test_lines_come_out_one_by_one(objects: list[dict[str, object]]) -> None:
    text = "\r\n\n".join(json.dumps(values) for values in objects)
    found = list(lines(io.BytesIO(text.encode())))
    assert found == [Record(1 + 2 * row, values) for row, values in enumerate(objects)]


@given(OBJECTS.filter(bool), st.data())
def test_an_array_that_breaks_off_is_a_fault_of_one_row(objects: list[dict[str, object]], data: st.DataObject) -> None:
    text = json.dumps(objects)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    *whole, last = list(elements(io.BytesIO(cut.encode())))
    assert whole == [Record(row, values) for row, values in enumerate(objects[: len(whole)])]
    assert isinstance(last, Fault)
    assert (last.row, last.reason) == (len(whole), "truncated_json")


def test_a_line_deeper_than_can_be_read_is_a_fault() -> None:
    (found,) = lines(io.BytesIO(b"[" * 200_000 + b"\n"))
    assert isinstance(found, Fault)
    assert found.reason == "invalid_json"


def json_lines(rows: int, *, odd: bool) -> str:
    """JSON lines as cleaned logs have them, with the times of some as text and some broken ones, if `odd`."""
    rng = random.Random(11)
    found: list[str] = []
    for number in range(rows):
        first, second = rng.sample(["one", "två", "three", "四"], 2)
        record: dict[str, object] = {
            "model_a": first,
            "model_b": second,
            "winner": rng.choice(["model_a", "tie", "both"]),
        }
        record |= {"turn": 1, "anony": number % 3 > 0, "tstamp": 1.7e9 + number, "question_id": f"q{number // 2}"}
        if odd and number % 40 == 7:
            record |= rng.choice([{"tstamp": "2026-11-30T08:00:00Z"}, {"model_a": None}, {"model_b": 7}, {"turn": {}}])
        line = json.dumps(record)
        found.append(line[:-4] if odd and number % 90 == 11 else "\n" + line if odd and number % 70 == 9 else line)
    return "\n".join(found) + "\n"


@pytest.mark.parametrize("odd", [False, True])
def test_long_json_lines_read_as_short_ones(odd: bool, tmp_path: Path) -> None:
    long, short = tmp_path / "long", tmp_path / "short"
    long.write_text(json_lines(3000, odd=odd), "utf-8")
    short.write_text(json_lines(300, odd=odd), "utf-8")
    rules = CleaningRules(anonymous_only=True)
    whole, part = read(long, rules), read(short, rules)
    assert (whole.log.form, whole.log.numbering) == ("fastchat_clean_battle", "line")
    assert whole.kept + len(whole.rejected) == 3000
    last = short.read_text("utf-8").count("\n")
    assert [row for row in whole.rejected if row[0] <= last] == part.rejected
    assert whole.battles[: part.kept] == part.battles
    assert part.kept > 50
    assert ({"invalid_json", "missing_model"} <= {reason for _, reason in part.rejected}) is odd


def test_what_stands_behind_an_array_is_a_fault() -> None:
    *_, last = elements(io.BytesIO(b'[{"a": 1}]\n[{"a": 2}]'))
    assert isinstance(last, Fault)
    assert (last.row, last.reason) == (1, "invalid_json")


def test_a_short_row_that_is_no_utf8_is_one_rejected_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = b"x,y,model_a\n" * 200_000
    log = tmp_path / "large.csv"
    log.write_bytes(b"model_a,model_b,winner\n" + good + b"z,\xff\xfe\n" + b"\xffx,y,model_a\n" + good)
    assert main(["rank", "--format", "json", str(log)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["model"] for row in found["rows"]} == {"x", "y"}
    assert [(row["row"], row["reason"]) for row in found["rejected"]] == [
        (200_000, "bad_row"),
        (200_001, "invalid_utf8"),
    ]
