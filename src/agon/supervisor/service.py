"""One of Agon's own processes, watched like a store."""

import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from agon.embedded.process import Child, Launch, end, spawn


class Supervised(Protocol):
    """What the supervisor keeps running. `prepare` may take seconds; `spawn` returns at once."""

    @property
    def name(self) -> str: ...

    @property
    def log(self) -> Path: ...

    @property
    def child(self) -> Child | None: ...

    def prepare(self) -> None: ...

    def spawn(self) -> None: ...

    def stop(self) -> None: ...


class Service:
    def __init__(self, name: str, *, data_dir: Path, environment: Mapping[str, str], patience_s: float) -> None:
        self.name = name
        self.log = data_dir / "logs" / f"{name}.log"
        self.child: Child | None = None
        self._data_dir = data_dir
        self._environment = environment
        self._patience_s = patience_s

    def prepare(self) -> None:
        """A process of ours needs nothing made for it."""

    def spawn(self) -> None:
        self.child = spawn(
            Launch(
                command=command(self.name),
                log=self.log,
                folder=self._data_dir,
                death_signal=signal.SIGKILL,
                environment=self._environment,
            )
        )

    def stop(self) -> None:
        if self.child is not None:
            end(self.child, [(signal.SIGTERM, self._patience_s)])


def command(*words: str) -> list[str]:
    """A command of ours, safe from modules that happen to lie in the working folder."""
    return [sys.executable, "-P", "-m", "agon.cli", *words]
