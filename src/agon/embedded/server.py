"""What every store's server has in common: a child process that is started, asked and stopped in steps."""

from abc import ABC, abstractmethod
from pathlib import Path

from agon.core.errors import Unavailable
from agon.embedded.process import Child, tail, wait_until

READY_TIMEOUT_S = 60.0
"""Recovery after a crash replays the log first, which can take a while."""
STRAY_TIMEOUT_S = 10.0
"""What a former server gets to leave."""


class EmbeddedServer(ABC):
    """`start` returns the address once the server answers; `stop` ends it cleanly.

    The steps of `start` are public for a caller that must not wait: `prepare`, then `spawn` from the main thread, then
    ask `is_ready` until it is, or `is_alive` is not.
    """

    name: str
    title: str

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir.resolve()
        self.log = self._root / "logs" / f"{self.name}.log"
        self.child: Child | None = None
        self._log_start = 0

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def prepare(self) -> None:
        """See a former server off, and make what the server needs."""

    @abstractmethod
    def spawn(self) -> None: ...

    @abstractmethod
    def is_ready(self) -> bool: ...

    @abstractmethod
    def stop(self) -> None: ...

    @property
    def pid(self) -> int | None:
        return None if self.child is None else self.child.pid

    def start(self) -> str:
        self.prepare()
        self.spawn()
        wait_until(lambda: self.is_ready() or not self.is_alive(), READY_TIMEOUT_S)
        if not self.is_ready():
            reason = self.failure()
            self.stop()
            raise reason
        return self.url

    def is_alive(self) -> bool:
        return self.child is not None and self.child.poll() is None

    def failure(self) -> Unavailable:
        """Why it is not running, in the words of its log."""
        return Unavailable(
            f"{self.title} did not start. The end of {self.log}:\n{tail(self.log, since=self._log_start)}",
            code="store_failed",
        )

    def _note_log(self) -> None:
        """What the log holds already was said by former servers."""
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
