"""What the terminal is told while the arena comes up."""

import io
import json
from pathlib import Path

from rich.console import Console

from agon.supervisor.progress import Follower, Readiness, probe, read_status
from agon.supervisor.terminal import Terminal

MIND = {"code": "step", "text": "Mind the step."}


def test_the_status_becomes_a_summary_with_its_notices() -> None:
    status = {"contestants": {"ready": 1, "loading": 2, "failed": 0, "paused": 3}, "notices": [MIND]}
    expected = Readiness(False, "models: 2 loading, 1 ready", ("Mind the step.",))
    assert read_status(json.dumps(status).encode(), is_ready=False) == expected


def test_a_status_that_is_none_says_nothing() -> None:
    for body in (b"", b"[]", b"{}", b'{"contestants": 3, "notices": []}', b'{"contestants": {}, "notices": ["Mind."]}'):
        assert read_status(body, is_ready=True) == Readiness(True, "")


def test_no_answer_is_not_ready() -> None:
    assert probe("http://127.0.0.1:1") == Readiness(False, "")


def test_only_marked_lines_from_now_on_are_for_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "runner.log"
    log.write_text("agon: of a former run\n")
    follower = Follower(log)
    with log.open("a") as file:
        file.write("noise\nagon: smol: 40 %\nagon: half a li")
        file.flush()
        assert follower.lines() == ["smol: 40 %"]
        file.write("ne\n")
        file.flush()
        assert follower.lines() == ["half a line"]
    log.write_text("agon: new\n")
    assert follower.lines() == ["new"]


def test_a_log_that_is_not_there_yet_has_no_lines(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "runner.log")
    assert follower.lines() == []
    (tmp_path / "runner.log").write_text("agon: hello\n")
    assert follower.lines() == ["hello"]


def test_without_a_terminal_progress_is_one_line_a_change() -> None:
    out = io.StringIO()
    terminal = Terminal(Console(file=out, force_terminal=False))
    for text in ("loading", "loading", "loaded [/etc]"):
        terminal.show_progress(text)
    terminal.end_progress()
    assert out.getvalue() == "loading …\nloaded [/etc] …\n"
