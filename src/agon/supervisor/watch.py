"""Keep a set of processes running: notice ends, start again, stop in order."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from agon.core.errors import AgonError, Unavailable
from agon.embedded.process import tail
from agon.supervisor.policy import EXIT_BAD_CONFIGURATION, MAX_DELAY_S, GiveUp, Restart, after_end
from agon.supervisor.service import Supervised

Say = Callable[[str], None]

PROVEN_S = 3.0
"""One that had to be started again is believed to run once it ran this long."""


@dataclass(slots=True)
class _Entry:
    process: Supervised
    started_at: float
    log_start: int
    failures: int = 0
    delay_s: float = 0.0
    restart_at: float | None = None


class Watch:
    """Owned by the supervisor's one loop, which calls `tick`; processes are stopped in the reverse of their order."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._entries: list[_Entry] = []

    def add(self, process: Supervised) -> None:
        """Start a process and watch it from now on."""
        process.prepare()
        entry = _Entry(process, 0.0, 0)
        self._entries.append(entry)
        _spawn(entry)

    def tick(self, *, was_ready: bool) -> None:
        """Raise `Unavailable` when a process should not be started again."""
        for entry in self._entries:
            if entry.restart_at is not None:
                self._restart_if_due(entry)
            elif (code := _exit_code(entry)) is not None:
                self._decide(entry, code, was_ready=was_ready)

    def is_steady(self) -> bool:
        """Whether every process runs, and none has only just been started again."""
        now = time.monotonic()
        return all(
            entry.restart_at is None and (entry.failures == 0 or now - entry.started_at > PROVEN_S)
            for entry in self._entries
        )

    def stop(self) -> None:
        while self._entries:
            self._entries.pop().process.stop()

    def _decide(self, entry: _Entry, code: int, *, was_ready: bool) -> None:
        lived_s = time.monotonic() - entry.started_at
        verdict = after_end(exit_code=code, lived_s=lived_s, failures=entry.failures, was_ready=was_ready)
        if isinstance(verdict, GiveUp):
            raise _final(entry, verdict)
        entry.restart_at = time.monotonic() + verdict.delay_s
        self._tell(entry, code, verdict)
        entry.failures, entry.delay_s = verdict.failures, verdict.delay_s

    def _tell(self, entry: _Entry, code: int, verdict: Restart) -> None:
        """Say what happened, until all there is to say is that it happened again."""
        if verdict.delay_s == entry.delay_s == MAX_DELAY_S:
            return
        what = f"{entry.process.name}: {ending(code)}; started again in {verdict.delay_s:.1f} s"
        each = " and every time it ends" if verdict.delay_s == MAX_DELAY_S else ""
        self._say(f"{what}{each}. Its log is {entry.process.log}")

    def _restart_if_due(self, entry: _Entry) -> None:
        if entry.restart_at is None or time.monotonic() < entry.restart_at:
            return
        try:
            entry.process.prepare()
        except AgonError as error:
            entry.restart_at = time.monotonic() + 1.0
            self._say(error.message)
            return
        _spawn(entry)


def ending(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _final(entry: _Entry, verdict: GiveUp) -> Unavailable:
    name, log = entry.process.name, entry.process.log
    if verdict.exit_code == EXIT_BAD_CONFIGURATION:
        words = tail(log, since=entry.log_start, lines=1).removeprefix(f"agon {name}: ")
        return Unavailable(words or f"The {name} refuses the configuration.", code="bad_configuration")
    words = tail(log, since=entry.log_start)
    return Unavailable(
        f"The {name} keeps ending, so the arena stops. The end of {log}:\n{words}", code="process_failed"
    )


def _spawn(entry: _Entry) -> None:
    log = entry.process.log
    entry.log_start = log.stat().st_size if log.exists() else 0
    entry.process.spawn()
    entry.started_at = time.monotonic()
    entry.restart_at = None


def _exit_code(entry: _Entry) -> int | None:
    return None if entry.process.child is None else entry.process.child.poll()
