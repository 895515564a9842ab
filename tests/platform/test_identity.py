"""PostgreSQL as root and as somebody else; every way must work with the real server."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agon.core.errors import Unavailable
from agon.embedded import identity
from agon.embedded.binaries import postgres_bin
from agon.embedded.identity import NOBODY, choose_identity
from agon.embedded.launcher import EXIT_UNUSABLE
from agon.embedded.postgres import PostgresServer
from agon.embedded.process import Launch, launcher_words

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else; the other tests cover the rest"),
]

SCRIPT = """
import os, pathlib, sys
from agon.embedded.postgres import PostgresServer
server = PostgresServer(pathlib.Path(sys.argv[1]))
server.start()
server.stop()
print(os.getuid(), os.stat(sys.argv[1] + "/postgres").st_uid)
"""


@pytest.fixture
def public_dir() -> Iterator[Path]:
    """A folder that others can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="agon-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def refuse_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container does that forbids them."""
    monkeypatch.setattr(identity, "WAYS", tuple(way for way in identity.WAYS if way.identity != "userns"))


def run_as_nobody(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    launch = Launch(command, Path(os.devnull), folder, identity=f"uid:{NOBODY}")
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        launcher_words(launch),
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path, "HOME": str(folder)},
    )


def interpreter_for_nobody(folder: Path) -> str:
    """This interpreter, or the system's where this one lies in a home that others cannot enter."""
    wanted = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/bin/python3"):
        if run_as_nobody(folder, python, "-S", "-E", "-c", wanted).returncode == 0:
            return python
    pytest.skip("no Python 3.11 here that an ordinary user may run")


def test_an_ordinary_user_needs_no_detour(public_dir: Path) -> None:
    os.chown(public_dir, NOBODY, NOBODY)
    done = run_as_nobody(public_dir, interpreter_for_nobody(public_dir), "-c", SCRIPT, str(public_dir))
    assert (done.stdout, done.stderr) == (f"{NOBODY} {NOBODY}\n", "")


def test_root_falls_back_to_an_unprivileged_user_and_returns(public_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for refused, owner in ((True, NOBODY), (False, 0)):
        with monkeypatch.context() as patch:
            if refused:
                refuse_namespaces(patch)
            server = PostgresServer(public_dir)
            try:
                server.start()
                assert (public_dir / "postgres" / "PG_VERSION").stat().st_uid == owner
            finally:
                server.stop()


def test_root_is_told_when_no_way_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_namespaces(monkeypatch)
    tmp_path.chmod(0o700)
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(Unavailable, match=r"refuses to run as root.*AGON_DATABASE_URL"):
        choose_identity(postgres_bin() / "postgres", inner)


def test_the_launcher_names_what_it_cannot_run(tmp_path: Path) -> None:
    launch = Launch([str(tmp_path / "missing")], Path(os.devnull), tmp_path)
    done = subprocess.run(launcher_words(launch), check=False, capture_output=True, text=True)
    assert done.returncode == EXIT_UNUSABLE
    assert f"cannot run {tmp_path / 'missing'}" in done.stderr
