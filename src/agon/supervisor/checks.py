"""What `agon doctor` looks at: each check says what it found, and how to mend it."""

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil

from agon.core.errors import AgonError
from agon.embedded.binaries import postgres_bin, valkey_server
from agon.embedded.identity import choose_identity
from agon.supervisor.options import Options
from agon.supervisor.preflight import COMFORTABLE_MEMORY_BYTES, check_port

MIN_PYTHON = (3, 11)
MIN_DISK_BYTES = 2 * 2**30
MACHINES = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64")}
PROGRAM_TIMEOUT_S = 20
PAGE = Path(__file__).parents[1] / "page" / "index.html"


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    is_good: bool
    detail: str
    advice: str = ""


def findings(options: Options) -> list[Finding]:
    """The configuration itself was read to get `options`: a wrong one never comes this far."""
    checks: list[Callable[[], Finding]] = [
        lambda: Finding("Configuration", True, str(options.config or "none; the defaults hold")),
        check_python,
        check_machine,
        check_engine,
        lambda: check_postgres(options),
        lambda: check_valkey(options),
        lambda: check_data_folder(options),
        check_memory,
        lambda: check_serving(options),
        check_page,
        lambda: check_models(options),
    ]
    return [check() for check in checks]


def check_python() -> Finding:
    version = platform.python_version()
    is_good = sys.version_info >= MIN_PYTHON and sys.maxsize > 2**32
    return Finding("Python", is_good, version, "Use a 64-bit Python, 3.11 or newer.")


def check_machine() -> Finding:
    machine = (sys.platform, platform.machine())
    advice = "There are no wheels for this kind of machine. Use Linux on x86-64 or ARM64, or macOS."
    return Finding("Machine", machine in MACHINES, " ".join(machine), advice)


def check_engine() -> Finding:
    found = find_spec("xllamacpp") is not None
    detail = "llama.cpp is installed" if found else "llama.cpp is not installed"
    return Finding("Engine", found, detail, "Install the dependencies again: make run, or pip install agon-arena.")


def check_postgres(options: Options) -> Finding:
    if options.database_url:
        return Finding("PostgreSQL", True, "an external server, as AGON_DATABASE_URL says")
    try:
        program = postgres_bin() / "postgres"
        with tempfile.TemporaryDirectory(dir=_existing(options.data_dir)) as folder:
            identity = choose_identity(program, Path(folder))
        return Finding("PostgreSQL", True, f"{_version(program)}{_WAYS.get(identity, ', as an unprivileged user')}")
    except (AgonError, OSError) as error:
        return Finding("PostgreSQL", False, str(error), "Or use a server of your own: AGON_DATABASE_URL.")


_WAYS = {"same": "", "userns": ", in a user namespace of its own, since we are root"}


def check_valkey(options: Options) -> Finding:
    if options.redis_url:
        return Finding("Valkey", True, "an external server, as AGON_REDIS_URL says")
    try:
        return Finding("Valkey", True, _version(valkey_server()))
    except (AgonError, OSError) as error:
        return Finding("Valkey", False, str(error), "Or use a server of your own: AGON_REDIS_URL.")


def _version(program: Path) -> str:
    done = subprocess.run(
        [str(program), "--version"], check=False, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S
    )
    if done.returncode != 0:
        raise OSError(f"{program} does not run: {done.stderr.strip()}")
    return " ".join(done.stdout.split()[:3])


def check_data_folder(options: Options) -> Finding:
    place = _existing(options.data_dir)
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK | os.X_OK):
        return Finding("Data folder", False, f"{options.data_dir} cannot be written", "Choose another: AGON_DATA_DIR.")
    detail = f"{options.data_dir}, {free / 2**30:.1f} GiB free"
    return Finding("Data folder", free >= MIN_DISK_BYTES, detail, "Models and data want 2 GiB: free some, or move.")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def check_memory() -> Finding:
    free = psutil.virtual_memory().available
    advice = "The built-in models want about 1.5 GiB. Close something, or play with model servers elsewhere."
    return Finding("Memory", free >= COMFORTABLE_MEMORY_BYTES, f"{free / 2**30:.1f} GiB free", advice)


def check_serving(options: Options) -> Finding:
    if is_running(options.data_dir):
        return Finding("Address", True, "an arena runs on this data folder right now")
    try:
        check_port(options, patience_s=0)
    except AgonError as error:
        return Finding("Address", False, error.message)
    return Finding("Address", True, f"{options.url} is free")


def is_running(data_dir: Path) -> bool:
    """Whether a supervisor holds the data folder."""
    lock = data_dir / "agon.lock"
    if not lock.exists():
        return False
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def check_page() -> Finding:
    is_built = PAGE.exists()
    return Finding("Page", is_built, "built" if is_built else "not built", "In a checkout: make page.")


def check_models(options: Options) -> Finding:
    names = sorted(path.stem for path in (options.data_dir / "models").glob("*.gguf"))
    if names:
        return Finding("Models", True, ", ".join(names))
    if options.config is not None:
        return Finding("Models", True, "none fetched; the configuration says which play")
    can_fetch = find_spec("pip") is not None
    detail = "none yet; the first start fetches them" if can_fetch else "none, and no pip to fetch them with"
    return Finding("Models", can_fetch, detail, "Install pip into this environment: python -m ensurepip.")
