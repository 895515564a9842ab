"""Whatever happens to a log on its way, it is read, or refused in a sentence."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.battlelogs.logs import DATA

from agon.cli import main

SAMPLES = sorted(
    path
    for path in DATA.rglob("*")
    if path.suffix in {".json", ".jsonl", ".csv", ".tsv", ".parquet"}
    and "expected" not in path.name
    and path.stat().st_size
)
PIECES = (
    b"",
    b"null",
    b'"',
    b"{",
    b"]",
    b",",
    b"\t",
    b"\n",
    b"1e999",
    b"NaN",
    b"\xff",
    b"\0",
    b"[]",
    b"{}",
    b"\\ud800",
)
OPTIONS = ("--anonymous-only", "--category=math", "--cluster=voter", "--cap-per-voter=1", "--method=elo", "--window=1")


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_spoiled_log_is_read_or_refused(
    data: st.DataObject, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = data.draw(st.sampled_from(SAMPLES)).read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        end = start + data.draw(st.sampled_from((0, 1, 9, 200)))
        content = content[:start] + data.draw(st.sampled_from(PIECES)) + content[end:]
    spoiled = tmp_path / "log"
    spoiled.write_bytes(content)
    code = main(["rank", *data.draw(st.sets(st.sampled_from(OPTIONS), max_size=2)), str(spoiled)])
    said = capsys.readouterr()
    assert code == 0 or (code == 2 and said.err.startswith("agon rank: ") and said.err.count("\n") == 1)
