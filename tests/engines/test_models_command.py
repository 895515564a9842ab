from pathlib import Path

import pytest

from agon.cli import main
from agon.engines.catalogue import BUILT_INS, SMOLLM2


def test_the_list_says_what_is_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list", "--data-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for model in BUILT_INS:
        line = next(line for line in lines if line.startswith(f"{model.name} "))
        assert " no " in line


def test_a_model_nobody_knows_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "pull", "gpt-9", "--data-dir", str(tmp_path)]) == 2
    assert "There is no built-in model 'gpt-9'" in capsys.readouterr().err


@pytest.mark.models
def test_a_model_that_is_here_is_not_pulled_again(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models").symlink_to(smollm2.parent)
    monkeypatch.setenv("AGON_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert main(["models", "pull", SMOLLM2]) == 0
    assert "ready" in capsys.readouterr().err
    assert main(["models", "list"]) == 0
    assert f"{SMOLLM2} " in capsys.readouterr().out
