"""A whole arena as a person starts it: `agon up`, in a folder of its own, on a free port."""

import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import httpx
import psutil

from agon.embedded.process import Launch, end, spawn, tail, wait_until
from agon.supervisor.service import command

READY = re.compile(r"Agon is ready at (\S+)")
ADMIN_KEY = re.compile(r"Admin key, shown this once: (\S+)")
START_TIMEOUT_S = 150
STOP_TIMEOUT_S = 20


class Arena:
    """Starts at once; `stop` ends every process of it."""

    def __init__(self, folder: Path, configuration: str, *, agon: Sequence[str] | None = None) -> None:
        """`agon` is the command to run, that of this environment if it is left out."""
        self._log = folder / "up.log"
        (folder / "agon.toml").write_text(configuration, "utf-8")
        flags = ["up", "--port", "0", "--data-dir", str(folder / "data"), "--config", str(folder / "agon.toml")]
        self._up = spawn(
            Launch(
                command=command(*flags) if agon is None else [*agon, *flags],
                log=self._log,
                folder=folder,
                death_signal=signal.SIGTERM,
                environment=bare_environment(),
            )
        )
        try:
            self.url = self._await_line(READY)
            self.admin_key = self._await_line(ADMIN_KEY)
        except BaseException:
            self.stop()
            raise

    def child(self, name: str) -> psutil.Process:
        """The process that runs now as `gateway`, `runner` or `worker`."""
        for process in psutil.Process(self._up.pid).children(recursive=True):
            if process.cmdline()[-2:] == ["agon.cli", name]:
                return process
        raise AssertionError(f"no process runs as {name}; the log ends: {tail(self._log)}")

    def client(self) -> httpx.Client:
        """A person of their own, with no browser."""
        return httpx.Client(base_url=self.url, timeout=30)

    def vote(self, winner: str) -> None:
        """Fight a battle and vote, as a person of their own without a browser."""
        with self.client() as person:
            path = f"/arena/battles/{person.post('/arena/battles', json={'prompt': 'Say hello.'}).json()['id']}"
            person.get(f"{path}/events")
            person.post(f"{path}/vote", json={"winner": winner}).raise_for_status()

    def await_ready(self, models: int) -> None:
        """Wait until so many models can answer."""
        with self.client() as client:

            def ready() -> int:
                return client.get("/arena/status").json()["contestants"]["ready"]

            assert wait_until(lambda: ready() >= models, 60), f"{ready()} models are ready, not {models}"

    def await_failed(self, models: int) -> None:
        """Wait until so many models are known to be down."""
        with self.client() as client:

            def failed() -> int:
                return client.get("/arena/status").json()["contestants"]["failed"]

            assert wait_until(lambda: failed() >= models, 60), f"{failed()} models are down, not {models}"

    def stop(self) -> None:
        end(self._up, [(signal.SIGTERM, STOP_TIMEOUT_S)])

    def _await_line(self, pattern: re.Pattern[str]) -> str:
        def said() -> re.Match[str] | None:
            return pattern.search(self._log.read_text("utf-8"))

        wait_until(lambda: said() is not None or self._up.poll() is not None, START_TIMEOUT_S)
        found = said()
        assert found is not None, f"`agon up` did not get ready:\n{tail(self._log, lines=30)}"
        return found[1]


def bare_environment() -> dict[str, str]:
    """Ours, without the settings of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AGON_")}
