"""Keep a set of processes running: notice ends, start again, stop in order."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from agon.core.errors import AgonError, Unavailable
from agon.embedded.process import tail
from agon.supervisor.policy import EXIT_BAD_CONFIGURATION, GiveUp, after_end
from agon.supervisor.service import Supervised

Say = Callable[[str], None]


@dataclass(slots=True)
class _Entry:
    process: Supervised
    started_at: float
    log_start: int
    failures: int = 0
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

    def stop(self) -> None:
        while self._entries:
            self._entries.pop().process.stop()

    def _decide(self, entry: _Entry, code: int, *, was_ready: bool) -> None:
        lived_s = time.monotonic() - entry.started_at
        verdict = after_end(exit_code=code, lived_s=lived_s, failures=entry.failures, was_ready=was_ready)
        name, log = entry.process.name, entry.process.log
        if isinstance(verdict, GiveUp):
            raise _final(name, verdict, tail(log, since=entry.log_start), str(log))
        entry.failures = verdict.failures
        entry.restart_at = time.monotonic() + verdict.delay_s
        self._say(f"The {name} ended ({ending(code)}) and is started again in {verdict.delay_s:.1f} s. Its log: {log}")

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


def _final(name: str, verdict: GiveUp, last_words: str, log: str) -> Unavailable:
    if verdict.exit_code == EXIT_BAD_CONFIGURATION:
        return Unavailable(last_words or f"The {name} refuses the configuration.", code="bad_configuration")
    return Unavailable(
        f"The {name} keeps ending, so the arena stops. The end of {log}:\n{last_words}", code="process_failed"
    )


def _spawn(entry: _Entry) -> None:
    log = entry.process.log
    entry.log_start = log.stat().st_size if log.exists() else 0
    entry.process.spawn()
    entry.started_at = time.monotonic()
    entry.restart_at = None


def _exit_code(entry: _Entry) -> int | None:
    return None if entry.process.child is None else entry.process.child.poll()
