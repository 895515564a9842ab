"""Private folders for unix sockets, on paths short enough for the kernel."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from agon.core.errors import NotAllowed
from agon.embedded.launcher import NOBODY

MAX_SOCKET_PATH_BYTES = 107 if os.uname().sysname == "Linux" else 103
LONGEST_SOCKET_NAME = ".s.PGSQL.5432.lock"


def socket_dir(data_dir: Path, store: str) -> Path:
    """A folder only we can enter, under the data folder, or under the system's temporary one if that will not do.

    It will not if it is too deep for the kernel, or has a comma, which separates hosts in a PostgreSQL address.
    """
    folder = data_dir / "run" / store
    if len(os.fsencode(folder / LONGEST_SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES and "," not in str(folder):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        return folder
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return _private(Path(tempfile.gettempdir()) / f"agon-{os.getuid()}-{digest}-{store}")


def _private(folder: Path) -> Path:
    """Anybody may write to the temporary folder, so somebody else may have made this one first."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.getuid(), NOBODY if os.getuid() == 0 else -1}:
        raise NotAllowed(f"{folder} belongs to somebody else. Remove it, or keep the data in a folder less deep.")
    folder.chmod(0o700)
    return folder
