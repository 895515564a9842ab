"""An arena for as long as a command needs it, where none runs: `agon up` as a child that cannot outlive us."""

import os
import re
import signal
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agon.core.errors import Unavailable
from agon.embedded.process import Child, Launch, end, spawn
from agon.supervisor.service import command

_READY = re.compile(r"^Agon is ready at (\S+)", re.MULTILINE)
_TICK_S = 0.2
_STOP_S = 15.0
"""The supervisor's own patience is under ten seconds."""


@contextmanager
def guest_arena(data_dir: Path, environment: Mapping[str, str], say: Callable[[str], None]) -> Generator[str]:
    """Run an arena on a data folder while the block does, on a free port of this machine alone; yields its address.

    `say` gets what it tells while it starts. Call it from the main thread. Raises `Unavailable` where it does not come
    up.
    """
    log = data_dir / "logs" / "up.log"
    _make_private(log)
    words = command("up", "--host", "127.0.0.1", "--port", "0", "--data-dir", str(data_dir))
    launch = Launch(command=words, log=log, folder=data_dir, death_signal=signal.SIGTERM, environment=environment)
    child = spawn(launch)
    try:
        yield _until_ready(child, log, say)
    finally:
        end(child, [(signal.SIGTERM, _STOP_S)])


def _make_private(log: Path) -> None:
    """Only we may read what is said at a first start: a key is among it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _until_ready(child: Child, log: Path, say: Callable[[str], None]) -> str:
    said = ""
    while True:
        ended = child.poll() is not None
        text = log.read_text("utf-8", errors="replace")
        for line in text[len(said) :].splitlines():
            if line and not _READY.match(line):
                say(line)
        said = text
        if found := _READY.search(text):
            return found[1]
        if ended:
            raise Unavailable("The arena did not start; what it said is above.", code="start_failed")
        time.sleep(_TICK_S)
