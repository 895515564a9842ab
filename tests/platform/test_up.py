"""`agon up` from outside: the whole arena with scripted engines, stopped, killed and started again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast
from urllib.request import urlopen

import psutil
import pytest

from agon.embedded.process import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(180)]

AGON = [sys.executable, "-m", "agon.cli"]
READY = re.compile(r"Agon is ready at (http://\S+)")
START_S = 60
SERVICES = {"runner", "worker", "gateway"}


@pytest.fixture(scope="module")
def engine_url() -> Iterator[str]:
    command = [*AGON, "fake-engine", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
        server.terminate()


class Arena:
    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        self.process = process
        self._output = output

    @property
    def said(self) -> str:
        return self._output.read_text()

    def wait_for(self, pattern: "re.Pattern[str]", timeout_s: float = START_S) -> "re.Match[str]":
        wait_until(lambda: pattern.search(self.said) is not None or self.process.poll() is not None, timeout_s)
        found = pattern.search(self.said)
        assert found is not None, self.said
        return found

    def children(self) -> dict[str, psutil.Process]:
        """By name; a store's own helpers are left out."""
        found: dict[str, psutil.Process] = {}
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # it ended meanwhile
                last = "".join(child.cmdline()[-1:])
                found[last if last in SERVICES else child.name()] = child
        return found


class Stage:
    def __init__(self, folder: Path, engine_url: str) -> None:
        self.data_dir = folder / "data"
        self._output = folder / "output"
        self.config = folder / "agon.toml"
        self.config.write_text(
            "".join(
                f'[[contestants]]\nname = "{name}"\nmodel = "scripted-{name}"\nurl = "{engine_url}"\n' for name in "ab"
            )
        )

    def command(self) -> list[str]:
        return [*AGON, "up", "--port", "0", "--data-dir", str(self.data_dir), "--config", str(self.config)]

    @contextmanager
    def up(self) -> Generator[Arena]:
        with self._output.open("wb") as output:
            process = subprocess.Popen(self.command(), stdout=output, stderr=subprocess.STDOUT, env=environment())
        try:
            yield Arena(process, self._output)
        finally:
            process.terminate()
            process.wait(15)


def environment() -> dict[str, str]:
    """This one without settings of an arena that may run beside the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AGON_")}


@pytest.fixture
def stage(tmp_path: Path, engine_url: str) -> Stage:
    return Stage(tmp_path, engine_url)


def fetch(url: str) -> dict[str, object]:
    with urlopen(url, timeout=5) as response:
        return cast("dict[str, object]", json.load(response))


def are_gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


def test_it_starts_says_where_stops_cleanly_and_starts_again_without_a_new_key(stage: Stage) -> None:
    for round_number in range(2):
        with stage.up() as arena:
            url = arena.wait_for(READY).group(1)
            assert fetch(f"{url}/arena/status")["ready"] is True
            assert arena.said.count("Admin key, shown this once: ") == (1 if round_number == 0 else 0)
            children = arena.children()
            assert set(children) == SERVICES | {"postgres", "valkey-server"}
            asked_at = time.monotonic()
            arena.process.send_signal(signal.SIGINT)
            assert arena.process.wait(12) == 0
            assert time.monotonic() - asked_at < 10
            assert are_gone(list(children.values()))


@pytest.mark.crash
def test_whatever_is_killed_comes_back(stage: Stage) -> None:
    with stage.up() as arena:
        url = arena.wait_for(READY).group(1)
        before = arena.children()
        for child in before.values():
            child.kill()

        def is_back() -> bool:
            now = arena.children()
            return set(now) == set(before) and all(now[name].pid != before[name].pid for name in before)

        assert wait_until(is_back, 15)
        assert wait_until(lambda: answers(f"{url}/readyz"), 30)
        for name in ("runner", "worker", "gateway", "postgres", "valkey"):
            assert f"{name}: killed by signal 9; started again" in arena.said


def answers(url: str) -> bool:
    try:
        return fetch(url)["status"] == "ready"
    except OSError:
        return False


@pytest.mark.crash
def test_killing_the_supervisor_leaves_nothing_and_the_next_start_works(stage: Stage) -> None:
    with stage.up() as arena:
        arena.wait_for(READY)
        family = [
            process for child in arena.children().values() for process in (child, *child.children(recursive=True))
        ]
        arena.process.kill()
        assert wait_until(lambda: are_gone(family), 5)
    with stage.up() as arena:
        arena.wait_for(READY)


def test_a_second_one_on_the_same_data_is_refused_in_a_sentence(stage: Stage) -> None:
    with stage.up() as arena:
        arena.wait_for(READY)
        second = subprocess.run(
            stage.command(), check=False, capture_output=True, text=True, env=environment(), timeout=30
        )
    assert second.returncode == 2
    assert second.stderr.startswith(
        f"agon up: An arena already runs on {stage.data_dir} (process {arena.process.pid})."
    )
    assert second.stderr.count("\n") == 1


def test_stopping_while_it_starts_is_clean_too(stage: Stage) -> None:
    with stage.up() as arena:
        arena.wait_for(re.compile("Starting the stores"))
        arena.process.send_signal(signal.SIGTERM)
        assert arena.process.wait(12) == 0
        assert "Traceback" not in arena.said
