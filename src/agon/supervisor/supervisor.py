"""Run the whole arena on one machine: stores, schema, runner, worker, gateway, and keep them running.

One loop in the main thread owns everything. A signal only sets a flag, and the loop then stops things in order.
"""

import os
import signal
import subprocess
import time

from agon.core.errors import Unavailable
from agon.embedded.postgres import PostgresServer
from agon.embedded.server import READY_TIMEOUT_S, EmbeddedServer
from agon.embedded.valkey import ValkeyServer
from agon.supervisor.options import Options
from agon.supervisor.policy import EXIT_BAD_CONFIGURATION
from agon.supervisor.preflight import check_port, locked, memory_notice
from agon.supervisor.progress import Follower, probe
from agon.supervisor.running import note_address
from agon.supervisor.service import Service, command
from agon.supervisor.terminal import Terminal
from agon.supervisor.watch import Watch

TICK_S = 0.1
PROBE_EVERY_S = 0.5
STEP_TIMEOUT_S = 300
SERVICES = {"runner": 2.5, "worker": 2.0, "gateway": 2.5}
"""In the order of their start, each with the seconds it gets to leave; with the stores' it stays under ten."""
DRAIN_S = 1.0
"""Of its seconds, those in which the runner lets answers go on; what is not done then goes on at the next start."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    def __init__(self, options: Options, terminal: Terminal) -> None:
        self._options = options
        self._terminal = terminal
        self._watch = Watch(terminal.say)
        self._followers: list[Follower] = []
        self._is_stopping = False
        self._was_ready = False
        self._summary = ""
        self._news = ""
        self._started_at = time.monotonic()

    def run(self) -> int:
        """Return when told to stop. Raises an `AgonError` if the arena cannot be started or kept running."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._stop_soon)
        with locked(self._options.data_dir):
            check_port(self._options)
            note_address(self._options.data_dir, self._options.url)
            try:
                self._start()
                self._keep_running()
            finally:
                self._terminal.end_progress()
                if self._was_ready:
                    self._terminal.say("Stopping …")
                self._watch.stop()
        return 0

    def _stop_soon(self, _number: int, _frame: object) -> None:
        self._is_stopping = True

    def _start(self) -> None:
        if notice := memory_notice():
            self._terminal.say(notice)
        self._terminal.show_progress("Starting the stores")
        database_url = self._options.database_url or self._start_store(PostgresServer)
        redis_url = self._options.redis_url or self._start_store(ValkeyServer)
        environment = self._options.environment(os.environ, database_url=database_url, redis_url=redis_url)
        environment["AGON_DRAIN_S"] = str(DRAIN_S)
        self._terminal.show_progress("Bringing the schema up to date")
        self._complete(["migrate"], environment)
        for name, patience_s in SERVICES.items():
            if not self._is_stopping:
                self._add_service(
                    Service(name, data_dir=self._options.data_dir, environment=environment, patience_s=patience_s)
                )
        # Meanwhile they load; none of them needs the key.
        if key := self._complete(["admin-key", "ensure"], environment):
            self._terminal.say(f"Admin key, shown this once: {key}")

    def _add_service(self, service: Service) -> None:
        self._followers.append(Follower(service.log))
        self._watch.add(service)

    def _start_store(self, kind: type[EmbeddedServer]) -> str:
        server = kind(self._options.data_dir)
        self._watch.add(server)
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self._is_stopping and not server.is_ready():
            if not server.is_alive() or time.monotonic() > deadline:
                raise server.failure()
            time.sleep(TICK_S / 5)
        return server.url

    def _complete(self, words: list[str], environment: dict[str, str]) -> str:
        """Run one of our commands to its end and return what it printed."""
        if self._is_stopping:
            return ""
        done = subprocess.run(
            command(*words),
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=STEP_TIMEOUT_S,
            start_new_session=True,
        )
        if done.returncode != 0:
            is_configuration = done.returncode == EXIT_BAD_CONFIGURATION
            reason = (done.stderr or done.stdout).strip().removeprefix(f"agon {words[0]}: ")
            raise Unavailable(
                reason or f"`agon {' '.join(words)}` failed with exit code {done.returncode}.",
                code="bad_configuration" if is_configuration else "start_failed",
            )
        return done.stdout.strip()

    def _keep_running(self) -> None:
        next_probe = 0.0
        while not self._is_stopping:
            self._watch.tick(was_ready=self._was_ready)
            for line in [line for follower in self._followers for line in follower.lines()]:
                self._pass_on(line)
            if not self._was_ready and time.monotonic() >= next_probe:
                self._look_whether_ready()
                next_probe = time.monotonic() + PROBE_EVERY_S
            time.sleep(TICK_S)

    def _pass_on(self, line: str) -> None:
        if self._was_ready:
            self._terminal.say(line)
        else:
            self._news = line
            self._show(self._summary)

    def _show(self, summary: str) -> None:
        """How many models are there, and the last thing a process said of them."""
        self._summary = summary
        if text := "; ".join(filter(None, (summary, self._news))):
            self._terminal.show_progress(text)

    def _look_whether_ready(self) -> None:
        readiness = probe(self._options.url)
        if not (readiness.is_ready and self._watch.is_steady()):
            self._show(readiness.summary)
        else:
            self._was_ready = True
            self._terminal.end_progress()
            for notice in readiness.notices:
                self._terminal.say(notice)
            took_s = time.monotonic() - self._started_at
            self._terminal.say(f"Agon is ready at {self._options.url} (after {took_s:.1f} s). Ctrl-C stops it.")
