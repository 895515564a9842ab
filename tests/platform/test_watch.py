"""The watch over real processes."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agon.core.errors import Unavailable
from agon.embedded.process import Child, Launch, end, spawn, wait_until
from agon.supervisor.watch import Watch

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"


class Script:
    """A supervised process that runs a line of Python."""

    def __init__(self, name: str, code: str, folder: Path, stopped: list[str]) -> None:
        self.name = name
        self.log = folder / "logs" / f"{name}.log"
        self.child: Child | None = None
        self._code = code
        self._folder = folder
        self._stopped = stopped

    def prepare(self) -> None:
        """Nothing to make."""

    def spawn(self) -> None:
        command = [sys.executable, "-S", "-c", self._code]
        self.child = spawn(Launch(command, self.log, self._folder, signal.SIGKILL))

    def stop(self) -> None:
        self._stopped.append(self.name)
        if self.child is not None:
            end(self.child, [(signal.SIGTERM, 2.0)])


class Stage:
    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.stopped: list[str] = []
        self.watch = Watch(self.said.append)
        self._folder = folder

    def add(self, name: str, code: str) -> Script:
        script = Script(name, code, self._folder, self.stopped)
        self.watch.add(script)
        return script

    def tick_until(self, condition: Callable[[], bool], *, was_ready: bool = True) -> None:
        def done() -> bool:
            self.watch.tick(was_ready=was_ready)
            return condition()

        assert wait_until(done, 10)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.watch.stop()


def test_one_that_is_killed_comes_back_and_it_is_said(stage: Stage) -> None:
    script = stage.add("worker", SLEEPER)
    first = script.child
    assert first is not None
    first.kill()
    stage.tick_until(lambda: script.child is not first)
    assert script.child is not None
    assert script.child.poll() is None
    assert stage.said[0].startswith("worker: killed by signal 9; started again in 0.2 s")


def test_processes_stop_in_the_reverse_of_their_order(stage: Stage) -> None:
    scripts = [stage.add(name, SLEEPER) for name in ("runner", "worker", "gateway")]
    stage.watch.stop()
    assert stage.stopped == ["gateway", "worker", "runner"]
    assert all(script.child is not None and script.child.poll() is not None for script in scripts)


def test_a_bad_configuration_is_told_in_the_words_of_the_process(stage: Stage) -> None:
    stage.add("gateway", "import sys; print('reading'); print('agon gateway: agon.toml, line 3: port'); sys.exit(78)")
    with pytest.raises(Unavailable, match=r"^agon\.toml, line 3: port$") as caught:
        stage.tick_until(lambda: False)
    assert caught.value.code == "bad_configuration"


def test_what_has_just_been_started_again_is_not_steady_yet(stage: Stage) -> None:
    script = stage.add("worker", SLEEPER)
    assert stage.watch.is_steady()
    first = script.child
    assert first is not None
    first.kill()
    stage.tick_until(lambda: not stage.watch.is_steady())
    stage.tick_until(lambda: script.child is not first)
    assert not stage.watch.is_steady()
    stage.tick_until(stage.watch.is_steady)


def test_one_that_never_comes_up_is_told_with_the_end_of_its_log(stage: Stage) -> None:
    stage.add("runner", "raise SystemExit('no such engine')")
    with pytest.raises(Unavailable, match="no such engine"):
        stage.tick_until(lambda: False, was_ready=False)
    assert len(stage.said) == 3
