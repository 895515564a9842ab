"""What must hold before anything is started, each with a way out."""

import errno
import fcntl
import os
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil

from agon.core.errors import Conflict, NotAllowed
from agon.supervisor.options import Options, free_port

PORT_PATIENCE_S = 1.0
"""A gateway that was killed a moment ago may still hold the port."""
COMFORTABLE_MEMORY_BYTES = 1536 * 1024 * 1024


@contextmanager
def locked(data_dir: Path) -> Generator[None]:
    """Hold the data folder for this supervisor alone; the lock goes with the process, however it ends."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(data_dir / "agon.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise NotAllowed(
            f"The data folder {data_dir} cannot be used: {error.strerror}. Choose another with AGON_DATA_DIR."
        ) from error
    try:
        _take(descriptor, data_dir)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, data_dir: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        raise Conflict(
            f"An arena already runs on {data_dir} (process {holder}). Stop it, or choose another folder with "
            "AGON_DATA_DIR.",
            code="already_running",
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def check_port(options: Options, *, patience_s: float = PORT_PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while True:
        problem = _bind_problem(options.host, options.port)
        if problem is None:
            return
        if problem.errno != errno.EADDRINUSE:
            raise NotAllowed(
                f"The arena cannot serve on {options.host} port {options.port}: {problem.strerror}. Choose another "
                "with AGON_HOST and AGON_PORT.",
                code="port_refused",
            ) from problem
        if time.monotonic() > deadline:
            raise Conflict(
                f"Port {options.port} on {options.host} is taken by another program. Choose another, such as "
                f"AGON_PORT={free_port(options.host)}.",
                code="port_taken",
            ) from problem
        time.sleep(0.1)


def _bind_problem(host: str, port: int) -> OSError | None:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return error
    return None


def memory_notice() -> str | None:
    free = psutil.virtual_memory().available
    if free >= COMFORTABLE_MEMORY_BYTES:
        return None
    return f"Only {free // 2**20} MB of memory are free; the built-in models want about 1500 MB and may not all load."
