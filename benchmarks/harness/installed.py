"""Other programs to compare with, in an environment of their own: made once, kept in a folder that git ignores."""

import hashlib
import subprocess
import venv
from pathlib import Path

from benchmarks.harness.report import ROOT, console


def installed(name: str) -> Path:
    """The folder of commands of an environment with just what `benchmarks/requirements-<name>.txt` pins."""
    requirements = ROOT / "benchmarks" / f"requirements-{name}.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    folder = ROOT / "build" / name / f"peers-{digest}"
    if not (folder / "ready").exists():
        console.print("Installing the peers …")
        venv.create(folder, with_pip=True, clear=True)
        words = ["-m", "pip", "install", "-qq", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r"]
        subprocess.run([str(folder / "bin" / "python"), *words, str(requirements)], check=True)
        (folder / "ready").touch()
    return folder / "bin"
