"""`agon quantise` on a small model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agon.cli import main
from agon.engines.encoder.making import Made


@pytest.fixture
def folder(made: tuple[Path, Made], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "model"))


def run(*words: str | Path) -> int:
    return main(["quantise", *map(str, words)])


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_it_makes_both_and_finds_them_again(folder: Path, pairs_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (folder, "--samples", pairs_file, "--count", "40", "--target", "both", "--format", "json")
    assert run(*words, "--again") == 0
    first = told(capsys)
    assert set(first["engines"]) == {"cpu", "tensorrt"}
    assert not first["engines"]["cpu"]["reused"]
    assert first["engines"]["tensorrt"]["calibration_reused"]
    assert len(first["engines"]["cpu"]["candidates"]) == 3
    assert first["report"] is None
    assert "TensorrtExecutionProvider" in first["on_gpu"]
    assert run(*words) == 0
    second = told(capsys)
    assert [engine["reused"] for engine in second["engines"].values()] == [True, True]
    assert second["engines"]["cpu"]["digest"] == first["engines"]["cpu"]["digest"]


def test_the_report_has_every_figure(folder: Path, pairs_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--samples", pairs_file, "--count", "40", "--report", "--format", "json") == 0
    report = told(capsys)["report"]
    assert report["size"]["ratio"] < 0.3
    assert set(report["load_s"]) == {"fp32", "int8"}
    assert [row["batch"] for row in report["latency_ms"]] == [1, 8, 32]
    assert all(row[name] > 0 for row in report["latency_ms"] for name in ("plain", "fp32", "int8"))
    fidelity = report["quality"]["fidelity"]
    names = ("error_mean", "error_p99", "kl_mean", "kl_p99", "top1", "kendall", "spearman")
    assert all(isinstance(fidelity[name], float) for name in names)
    assert len(report["mixed"]["ratio"]) == 5
    steps = list(report["mixed"]["share"].values())
    last = list(report["mixed"]["ratio"].values())[-1]
    assert steps[0] * steps[1] * steps[2] == pytest.approx(last)


def test_people_get_a_table(folder: Path, pairs_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--samples", pairs_file, "--count", "40", "--report") == 0
    out = capsys.readouterr().out
    for word in ("was there already", "size, MiB", "batch of 32, ms", "pairs right", "8 bits", "Kendall"):
        assert word in out


def test_bad_lines_are_named_and_strict_minds_them(
    folder: Path, pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"no json\n" + pairs_file.read_bytes())
    words = (folder, "--samples", path, "--count", "40", "--format", "json")
    assert run(*words) == 0
    captured = capsys.readouterr()
    assert "bad.jsonl, line 1: not JSON; left out" in captured.err
    assert json.loads(captured.out)["left_out"] == [{"file": "bad.jsonl", "line": 1, "reason": "not JSON"}]
    assert run(*words, "--strict") == 2


def test_what_is_no_model_or_no_file_is_said(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "nowhere") == 2
    assert "There is no reward model" in capsys.readouterr().err
    assert run(folder, "--samples", tmp_path / "none.jsonl") == 2
    assert "cannot be read" in capsys.readouterr().err


def test_restoring_needs_the_ledger(
    folder: Path, database_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGON_DATABASE_URL", raising=False)
    assert run(folder, "--restore") == 78
    assert "AGON_DATABASE_URL" in capsys.readouterr().err
    monkeypatch.setenv("AGON_DATABASE_URL", database_url)
    assert run(folder, "--restore", "--format", "json") == 0
    assert told(capsys) == {"restored": 0}
