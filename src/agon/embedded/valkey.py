"""A Valkey of our own, on a unix socket only."""

import signal
import socket
from pathlib import Path
from urllib.parse import quote

from agon.core.errors import Unavailable
from agon.embedded.binaries import valkey_server
from agon.embedded.process import Child, Launch, end, end_stray, spawn, tail, wait_until
from agon.embedded.sockets import socket_dir

READY_TIMEOUT_S = 60.0
STRAY_TIMEOUT_S = 10.0
PING_TIMEOUT_S = 0.5


class ValkeyServer:
    """`start` returns the address once it answers; `stop` ends it cleanly. The steps are as in `PostgresServer`."""

    name = "valkey"
    death_signal = signal.SIGTERM

    def __init__(self, data_dir: Path) -> None:
        root = data_dir.resolve()
        self._folder = root / "valkey"
        self.log = root / "logs" / "valkey.log"
        self._log_start = 0
        self._program = valkey_server()
        sockets = socket_dir(root, self.name)
        self._socket = sockets / "valkey.sock"
        self._pid_file = sockets / "valkey.pid"
        self._child: Child | None = None

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket), safe='/')}?db=0"

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    @property
    def child(self) -> Child | None:
        return self._child

    def start(self) -> str:
        self.prepare()
        self.spawn()
        wait_until(lambda: self.is_ready() or not self.is_alive(), READY_TIMEOUT_S)
        if not self.is_ready():
            reason = self.failure()
            self.stop()
            raise reason
        return self.url

    def prepare(self) -> None:
        self.stop()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        left = end_stray(self._pid_file, str(self._socket), signal.SIGTERM, STRAY_TIMEOUT_S)
        if left is not None:
            raise Unavailable(
                f"A former Valkey (process {left}) still uses {self._folder} and will not stop. End it, and try again.",
                code="store_busy",
            )
        self._pid_file.unlink(missing_ok=True)
        self._socket.unlink(missing_ok=True)

    def spawn(self) -> None:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "pidfile": str(self._pid_file),
            "dir": str(self._folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            # The bus must never drop an entry by itself; what is obsolete is trimmed by those who wrote it.
            "maxmemory-policy": "noeviction",
        }
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._child = spawn(
            Launch(
                command=[str(self._program), *words],
                log=self.log,
                folder=self._folder,
                death_signal=self.death_signal,
            )
        )

    def is_alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def is_ready(self) -> bool:
        """Whether it answers a ping; while it reads its log back it answers LOADING."""
        return self.is_alive() and self._ping().startswith(b"+PONG")

    def _ping(self) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(PING_TIMEOUT_S)
            try:
                connection.connect(str(self._socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64)
            except OSError:
                return b""

    def failure(self) -> Unavailable:
        """Why it is not running, in the words of its log."""
        return Unavailable(
            f"Valkey did not start. The end of {self.log}:\n{tail(self.log, since=self._log_start)}",
            code="store_failed",
        )

    def stop(self) -> None:
        if self._child is not None:
            end(self._child, [(signal.SIGTERM, 5.0)])
