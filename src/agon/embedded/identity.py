"""Who PostgreSQL runs as: it refuses to run as root."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from agon.core.errors import Unavailable
from agon.embedded.launcher import NOBODY
from agon.embedded.process import Launch, launcher_words

PROBE_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class Way:
    """An identity of the launcher's, and who must own the files for it."""

    identity: str
    owner: int


WAYS = (Way("userns", 0), Way(f"uid:{NOBODY}", NOBODY))


def choose_identity(program: Path, folder: Path) -> str:
    """The first identity under which `program` runs and can use `folder`; the folder's files then belong to it.

    Raises `Unavailable` with what was tried if there is none.
    """
    if os.geteuid() != 0:
        return "same"
    reasons: list[str] = []
    for way in WAYS:
        give(folder, way.owner)
        reason = _probe(program, folder, way.identity)
        if reason is None:
            return way.identity
        reasons.append(reason)
    raise Unavailable(
        f"PostgreSQL refuses to run as root, and no way around that works here ({'; '.join(reasons)}). Run Agon as an "
        "ordinary user, keep its data and its environment where others may enter, or set AGON_DATABASE_URL.",
        code="store_failed",
    )


def give(folder: Path, owner: int) -> None:
    """Make the folder and all in it belong to `owner`. Only root can, and only root needs to."""
    if os.geteuid() != 0 or folder.stat().st_uid == owner:
        return
    os.chown(folder, owner, owner)
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            os.chown(Path(parent) / name, owner, owner, follow_symlinks=False)


def _probe(program: Path, folder: Path, identity: str) -> str | None:
    launch = Launch(command=[str(program), "--version"], log=Path(os.devnull), folder=folder, identity=identity)
    done = subprocess.run(launcher_words(launch), check=False, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    if done.returncode == 0:
        return None
    words = done.stderr.strip().removeprefix("launcher: ")
    return words or f"{program.name} as {identity} ended with {done.returncode}"
