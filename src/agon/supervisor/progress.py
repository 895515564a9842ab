"""What a person sees while the arena comes up: what the gateway says of itself, and what processes say on purpose."""

import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.error import URLError
from urllib.request import urlopen

MARK = "agon: "
"""A line of a process's log that starts so is meant for the person at the terminal."""
PROBE_TIMEOUT_S = 0.5
KINDS = ("loading", "ready", "failed")


@dataclass(frozen=True, slots=True)
class Readiness:
    is_ready: bool
    summary: str
    notices: tuple[str, ...] = ()


def probe(url: str) -> Readiness:
    """Ask the gateway; no answer is an answer too."""
    is_ready = _get(f"{url}/readyz") is not None
    status = _get(f"{url}/arena/status")
    return Readiness(is_ready, "") if status is None else read_status(status, is_ready=is_ready)


def read_status(body: bytes, *, is_ready: bool) -> Readiness:
    try:
        status = cast("dict[str, object]", json.loads(body))
        counts = cast("dict[str, int]", status["contestants"])
        notices = tuple(notice["text"] for notice in cast("list[dict[str, str]]", status["notices"]))
        words = [f"{counts[kind]} {kind}" for kind in KINDS if counts.get(kind)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return Readiness(is_ready, "")
    return Readiness(is_ready, f"models: {', '.join(words)}" if words else "waiting for models", notices)


def _get(url: str) -> bytes | None:
    """The body of a good answer."""
    try:
        with urlopen(url, timeout=PROBE_TIMEOUT_S) as response:  # noqa: S310 - our own gateway's address
            return cast("bytes", response.read())
    except (URLError, OSError, http.client.HTTPException):
        return None


class Follower:
    """The marked lines that come to a log from now on."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0
        self._rest = b""

    def lines(self) -> list[str]:
        if not self._log.exists():
            return []
        if self._log.stat().st_size < self._offset:  # the log was rotated
            self._offset, self._rest = 0, b""
        with self._log.open("rb") as file:
            file.seek(self._offset)
            fresh = file.read()
        self._offset += len(fresh)
        *whole, self._rest = (self._rest + fresh).split(b"\n")
        texts = [line.decode(errors="replace").rstrip() for line in whole]
        return [text.removeprefix(MARK) for text in texts if text.startswith(MARK)]
