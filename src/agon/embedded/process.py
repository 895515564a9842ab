"""Start, watch and stop one child process that cannot outlive us."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

LAUNCHER = Path(__file__).with_name("launcher.py")
LOG_LIMIT_BYTES = 10 * 1024 * 1024
POLL_S = 0.02

Child = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Launch:
    """What to run and how it ends with us. `folder` is what the process must be able to use as `identity`."""

    command: Sequence[str]
    log: Path
    folder: Path
    death_signal: signal.Signals = signal.SIGTERM
    identity: str = "same"
    environment: Mapping[str, str] | None = None


def launcher_words(launch: Launch) -> list[str]:
    head = [sys.executable, "-S", "-E", str(LAUNCHER), str(os.getpid()), str(int(launch.death_signal))]
    return [*head, launch.identity, str(launch.folder), *launch.command]


def spawn(launch: Launch) -> Child:
    """Start the process with its output in its log.

    Call it from the main thread: the kernel sends the death signal when the *thread* that started the child ends.
    The child has a session of its own, so that Ctrl-C reaches only the supervisor, which then stops things in order.
    """
    launch.log.parent.mkdir(parents=True, exist_ok=True)
    rotate(launch.log)
    with launch.log.open("ab") as log:
        return subprocess.Popen(
            launcher_words(launch),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=None if launch.environment is None else dict(launch.environment),
            start_new_session=True,
        )


def rotate(log: Path) -> None:
    """Keep one former log, once the present one has grown large."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))


def tail(log: Path, *, lines: int = 8, since: int = 0) -> str:
    """The last lines that the log holds beyond byte `since`."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(since if since <= size else 0, size - 16_384))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def end(child: Child, signals: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send each signal in turn, giving the process its seconds to leave, and SIGKILL at last."""
    for number, patience_s in signals:
        if child.poll() is not None:
            return
        child.send_signal(number)
        if wait_until(lambda: child.poll() is not None, patience_s):
            return
    child.kill()
    child.wait()


def end_stray(pid_file: Path, mark: str, number: signal.Signals, patience_s: float) -> int | None:
    """End a former process whose pid file it is; return its pid if it would not leave in time.

    It is either still shutting down or was orphaned where the system knows no parent-death signal. `mark` must occur
    in its command line: a pid that belongs to another program by now is no concern of ours.
    """
    process = _running(pid_file, mark)
    if process is None:
        return None
    process.send_signal(number)
    return None if wait_until(lambda: not _is_alive(process), patience_s) else process.pid


def forget_reused_pid(lock: Path) -> None:
    """Remove a stale lock whose pid lives on as another process: a server would take that for one of its own.

    A lock whose process is gone stays: the server reads in it which orphans of its own to wait for.
    """
    try:
        is_reused = psutil.pid_exists(abs(int(lock.read_text().split()[0])))
    except (OSError, ValueError, IndexError):
        return
    if is_reused:
        lock.unlink(missing_ok=True)


def _running(pid_file: Path, mark: str) -> psutil.Process | None:
    try:
        process = psutil.Process(int(pid_file.read_text().split()[0]))
        return process if mark in " ".join(process.cmdline()) and _is_alive(process) else None
    except (OSError, ValueError, IndexError, psutil.Error):
        return None


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
