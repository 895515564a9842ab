"""Files that are there as a whole or not at all."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from agon.core.errors import Unavailable

_POLL_S: Final = 0.2


def locked(folder: Path) -> AbstractContextManager[None]:
    """Make engines of one model folder one after the other, whichever processes want to. Raises `Unavailable`."""
    return one_at_a_time(folder / ".engines.lock")


@contextmanager
def one_at_a_time(path: Path) -> Generator[None]:
    """Hold a lock file, waiting for whichever process has it. Raises `Unavailable` (`encoder_storage`)."""
    try:
        lock = path.open("wb")
    except OSError as error:
        raise _unwritable(path, error) from None
    with lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_S)
        yield


def replace_text(path: Path, text: str) -> None:
    """Write a text aside, then put it in place. Raises `Unavailable` (`encoder_storage`)."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        part = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.chmod(0o644)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None


def replace_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder aside, then put it in the place of one that is there. Raises `Unavailable` (`encoder_storage`).

    A folder cannot be replaced in one step where one is in the way: who looks in between finds none, never half of one.
    """
    try:
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            for name, content in files.items():
                with (part / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            part.chmod(0o755)
            shutil.rmtree(folder, ignore_errors=True)
            part.replace(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise _unwritable(folder, error) from None


def make_folder(folder: Path) -> None:
    """Make a folder and those above it. Raises `Unavailable` (`encoder_storage`)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"{path} cannot be written: {error.strerror or error}.", code="encoder_storage")
