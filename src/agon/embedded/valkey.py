"""A Valkey of our own, on a unix socket only."""

import signal
import socket
from pathlib import Path
from urllib.parse import quote

from agon.core.errors import Unavailable
from agon.embedded.binaries import valkey_server
from agon.embedded.process import Launch, end, end_stray, spawn
from agon.embedded.server import STRAY_TIMEOUT_S, EmbeddedServer
from agon.embedded.sockets import socket_dir

PING_TIMEOUT_S = 0.5


class ValkeyServer(EmbeddedServer):
    """Keeps its log of writes in the data folder, and reads it back at each start."""

    name = "valkey"
    title = "Valkey"
    death_signal = signal.SIGTERM

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self._folder = self._root / "valkey"
        self._program = valkey_server()
        sockets = socket_dir(self._root, self.name)
        self._socket = sockets / "valkey.sock"
        self._pid_file = sockets / "valkey.pid"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket), safe='/')}?db=0"

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
        self._note_log()
        self.child = spawn(
            Launch(
                command=[str(self._program), *words],
                log=self.log,
                folder=self._folder,
                death_signal=self.death_signal,
            )
        )

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

    def stop(self) -> None:
        if self.child is not None:
            end(self.child, [(signal.SIGTERM, 5.0)])
