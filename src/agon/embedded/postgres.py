"""A PostgreSQL of our own, on a unix socket only."""

import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

from agon.core.errors import Unavailable
from agon.embedded.binaries import postgres_bin
from agon.embedded.identity import choose_identity, give
from agon.embedded.launcher import NOBODY
from agon.embedded.process import Launch, end, end_stray, forget_reused_pid, launcher_words, spawn
from agon.embedded.server import STRAY_TIMEOUT_S, EmbeddedServer
from agon.embedded.sockets import socket_dir

DATABASE = "agon"
USER = "agon"
INIT_TIMEOUT_S = 120
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "15min",
    # One machine, one server: nothing streams from it, and a dump is its backup.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Helper processes and compilation gain nothing at this size and cost memory.
    "io_method": "sync",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "huge_pages": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}


class PostgresServer(EmbeddedServer):
    """Makes the cluster if there is none."""

    name = "postgres"
    title = "PostgreSQL"
    death_signal = signal.SIGQUIT
    """An immediate shutdown: nothing acknowledged is lost, and the next start recovers."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self._cluster = self._root / "postgres"
        self._bin = postgres_bin()
        self._sockets = socket_dir(self._root, self.name)
        self._identity = "same"

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self._sockets), safe='/')}"

    def prepare(self) -> None:
        """See a former server off, and make the cluster at the first start: seconds, once."""
        self.stop()
        self._cluster.parent.mkdir(parents=True, exist_ok=True)
        pid_file = self._cluster / "postmaster.pid"
        left = end_stray(pid_file, str(self._cluster), signal.SIGINT, STRAY_TIMEOUT_S)
        if left is not None:
            raise Unavailable(
                f"A former PostgreSQL (process {left}) still uses {self._cluster} and will not stop. "
                "End it, and try again.",
                code="store_busy",
            )
        for lock in (pid_file, *self._sockets.glob(".s.PGSQL.*.lock")):
            forget_reused_pid(lock)
        if not (self._cluster / "PG_VERSION").exists():
            self._initialise()
        self._identity = choose_identity(self._bin / "postgres", self._cluster)
        self._share(self._sockets)

    def spawn(self) -> None:
        options = {**SETTINGS, "unix_socket_directories": quoted(str(self._sockets))}
        words = [word for key, value in options.items() for word in ("-c", f"{key}={value}")]
        self._note_log()
        self.child = spawn(self._launch("postgres", "-D", str(self._cluster), *words, folder=self._cluster))

    def is_ready(self) -> bool:
        """Whether the running server says so itself, in its pid file, as `pg_ctl` reads it."""
        try:
            lines = (self._cluster / "postmaster.pid").read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            return False
        return self.is_alive() and len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def is_listening(self) -> bool:
        """Whether a server, started by whomever, has its socket where ours would be."""
        return any(self._sockets.glob(".s.PGSQL.*[0-9]"))

    def stop(self) -> None:
        if self.child is not None:
            end(self.child, [(signal.SIGINT, 5.0), (signal.SIGQUIT, 2.0)])

    def _initialise(self) -> None:
        """Make the cluster beside its place and move it there whole: a kill in between leaves no half of one."""
        draft = self._cluster.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(self._cluster, ignore_errors=True)
        draft.mkdir(mode=0o700)
        self._identity = choose_identity(self._bin / "postgres", draft)
        self._share(draft)
        words = ["-D", str(draft), "-U", USER, "-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run("initdb", *words, "--locale=C", "--auth=trust", "--no-instructions", folder=draft)
        # Outside, the private socket folder is what keeps others away; over TCP nothing is ever answered.
        (draft / "pg_hba.conf").write_text("local all all trust\n")
        self._run(
            "postgres", "--single", "-D", str(draft), "postgres", folder=draft, text=f"CREATE DATABASE {DATABASE}\n"
        )
        draft.rename(self._cluster)

    def _run(self, *command: str, folder: Path, text: str = "") -> None:
        words = launcher_words(self._launch(*command, folder=folder))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            words,
            check=False,
            input=text,
            capture_output=True,
            text=True,
            timeout=INIT_TIMEOUT_S,
            start_new_session=True,
        )
        with self.log.open("a") as log:
            log.write(done.stdout + done.stderr)
        if done.returncode != 0:
            raise Unavailable(
                f"{command[0]} failed with exit code {done.returncode}: {done.stderr.strip()[-1000:]}",
                code="store_failed",
            )

    def _launch(self, program: str, *words: str, folder: Path) -> Launch:
        return Launch(
            command=[str(self._bin / program), *words],
            log=self.log,
            folder=folder,
            death_signal=self.death_signal,
            identity=self._identity,
        )

    def _share(self, folder: Path) -> None:
        """Let PostgreSQL's identity own the folder, and reach it through ours if that is another user's."""
        is_other = self._identity == f"uid:{NOBODY}"
        give(folder, NOBODY if is_other else 0)
        if is_other:
            for parent in {self._root, folder.parent} - {Path("/tmp")}:  # noqa: S108 - compared with, not used
                parent.chmod(parent.stat().st_mode | 0o011)


def quoted(text: str) -> str:
    """One element of a list-valued setting."""
    return '"' + text.replace('"', '""') + '"'
