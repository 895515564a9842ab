"""A real arena for one benchmark: embedded stores and the product's own processes, in a folder that goes with it."""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from agon.embedded.postgres import PostgresServer
from agon.embedded.process import Child, Launch, end, spawn, tail
from agon.embedded.valkey import ValkeyServer
from agon.stores.postgres.migrate import migrate
from agon.supervisor.options import free_port
from agon.supervisor.service import command

SECRET = "a secret that only signs the cookies of benchmarks"  # noqa: S105 - guards nothing
_READY_S = 90.0
_LEAVE_S = 5.0


@dataclass(frozen=True, slots=True)
class Processor:
    used_s: float
    waited_s: float
    """Ready to run while others ran: a busy machine, not a slow program."""

    def minus(self, earlier: Self) -> "Processor":
        return Processor(self.used_s - earlier.used_s, self.waited_s - earlier.waited_s)


class Arena:
    """Use it as a context manager; then `run` what the benchmark needs. Everything ends with the block."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="agon-bench-", dir=_data_dir())
        self.folder = Path(self._folder.name)
        self._postgres = PostgresServer(self.folder)
        self._valkey = ValkeyServer(self.folder)
        self._children: dict[str, Child] = {}
        self.port = free_port("127.0.0.1")

    @property
    def database_url(self) -> str:
        return self._postgres.url

    @property
    def redis_url(self) -> str:
        return self._valkey.url

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AGON_")}
        return inherited | {
            "AGON_DATABASE_URL": self.database_url,
            "AGON_REDIS_URL": self.redis_url,
            "AGON_DATA_DIR": str(self.folder),
            "AGON_PORT": str(self.port),
            "AGON_SECRET": SECRET,
            "AGON_LOG_LEVEL": "warning",
            "AGON_CONFIG": str(self.folder / "agon.toml"),
            "PYTHONUNBUFFERED": "1",
        }

    def __enter__(self) -> Self:
        try:
            self._postgres.start()
            self._valkey.start()
            asyncio.run(migrate(self.database_url))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def configure(self, text: str) -> None:
        """Write the `agon.toml` of the processes started from now on."""
        (self.folder / "agon.toml").write_text(text, "utf-8")

    def run(self, *words: str, name: str | None = None, environment: Mapping[str, str] | None = None) -> Path:
        """Start a command of the product's in the background; returns its log, which is also named after it."""
        return self.launch(name or words[0], command(*words), self.environment | dict(environment or {}))

    def launch(self, name: str, words: Sequence[str], environment: Mapping[str, str]) -> Path:
        """Start any command in the background; returns its log."""
        log = self.folder / "logs" / f"{name}.log"
        launch = Launch(
            command=words, log=log, folder=self.folder, death_signal=signal.SIGKILL, environment=environment
        )
        self._children[name] = spawn(launch)
        return log

    def await_http(self, path: str, port: int | None = None) -> None:
        """Wait until a path is answered with success, by the gateway if no port is named."""
        url = f"http://127.0.0.1:{port or self.port}{path}"
        self.wait_for(lambda: _answers(url), f"a server at {path}")

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _READY_S
        while not condition():
            for name, child in self._children.items():
                if child.poll() is not None:
                    raise RuntimeError(f"{name} ended: {tail(self.folder / 'logs' / f'{name}.log')}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited in vain for {what}")
            time.sleep(0.05)

    @contextmanager
    def paused(self, name: str) -> Generator[None]:
        """A process stands still during the block, and takes no processor."""
        pid = self._children[name].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def processor(self) -> Generator[dict[str, Processor]]:
        """What each process had of the processors during the block, filled in at its end; `benchmark` is this one."""
        spent: dict[str, Processor] = {}
        before = self._processors()
        yield spent
        spent |= {name: after.minus(before[name]) for name, after in self._processors().items()}

    def _processors(self) -> Mapping[str, Processor]:
        pids = {name: child.pid for name, child in self._children.items()} | {"benchmark": os.getpid()}
        pids |= {server.name: server.pid for server in (self._postgres, self._valkey) if server.pid is not None}
        return {name: _processor(pid, whole=name != "benchmark") for name, pid in pids.items()}

    def _stop(self) -> None:
        for child in reversed(self._children.values()):
            end(child, [(signal.SIGTERM, _LEAVE_S)])
        self._valkey.stop()
        self._postgres.stop()
        self._folder.cleanup()


def _data_dir() -> Path:
    """Beside the arena's own data, so that a commit waits for the same kind of disk."""
    folder = Path(os.environ.get("AGON_DATA_DIR", ".data")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _processor(pid: int, *, whole: bool) -> Processor:
    process = psutil.Process(pid)
    tree = [process, *process.children(recursive=True)] if whole else [process]
    used_s = waited_s = 0.0
    for part in tree:
        with suppress(psutil.NoSuchProcess):
            times = part.cpu_times()
            used_s += times.user + times.system
            waited_s += _waited_s(part.pid)
    return Processor(used_s, waited_s)


def _waited_s(pid: int) -> float:
    """How long a process's main thread was ready to run and did not get to; 0 where the system keeps no account."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=1) as response:  # noqa: S310 - our own gateway
            return response.status == 200
    except (URLError, OSError):
        return False
