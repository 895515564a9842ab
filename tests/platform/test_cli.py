"""The command table."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agon.cli import COMMANDS, main


def test_usage_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fight"]) == 2
    assert "there is no command 'fight'" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists(name: str) -> None:
    assert find_spec(COMMANDS[name].module) is not None


def test_a_bad_configuration_is_one_sentence_and_78(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGON_PORT", "70000")
    assert main(["up"]) == 78
    assert capsys.readouterr().err.startswith("agon up: AGON_PORT")


def test_full_precision_on_tensorrt_is_refused_with_the_way_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "agon.toml"
    file.write_text('[scoring]\nprovider = "tensorrt"\nprecision = "fp32"\n', "utf-8")
    monkeypatch.setenv("AGON_CONFIG", str(file))
    assert main(["config", "check"]) == 78
    said = capsys.readouterr().err
    assert "scoring" in said
    assert "set precision to int8" in said


def test_the_command_line_imports_nothing_heavy() -> None:
    code = "import sys, agon.cli; print(sorted({'asyncio', 'pydantic', 'numpy', 'rich', 'psutil'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
