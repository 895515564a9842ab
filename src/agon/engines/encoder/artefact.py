"""Reduced engines on disk, in a folder beside the model: the graph, and `engine.json`, which says what it is."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agon.core.errors import Unavailable
from agon.engines.encoder.files import replace_folder
from agon.scoring.fidelity import Fidelity

INT8_FOLDER: Final = "int8"
TENSORRT_FOLDER: Final = "tensorrt"
MODEL_FILE: Final = "model.onnx"
ENGINE_FILE: Final = "engine.json"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Artefact:
    source: str
    """SHA-256 of the full model's graph."""
    calibration: str
    """Digest of the calibration."""
    digest: str
    """SHA-256 of this graph."""
    options: Mapping[str, Any]
    """What decides how it was made: its recipe, and the versions of what made it."""
    fidelity: Fidelity | None
    """Measured beside the full engine when it was built, on texts of the calibration's source that it was not made
    from."""


def sha256_of(path: Path) -> str:
    """Return a file's digest. Raises `Unavailable` (`encoder_storage`) where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror or error}.", code="encoder_storage") from None


def read_artefact(folder: Path) -> Artefact | None:
    """Return what `engine.json` says, or None where there is no engine, or half of one."""
    try:
        data = json.loads((folder / ENGINE_FILE).read_text("utf-8"))
        if data["format"] != _FORMAT:
            return None
        fidelity = data["fidelity"]
        return Artefact(
            str(data["source"]),
            str(data["calibration"]),
            str(data["digest"]),
            dict(data["options"]),
            None if fidelity is None else Fidelity(**fidelity),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def whole(folder: Path, artefact: Artefact) -> bool:
    """Whether the graph in the folder is the one that `engine.json` speaks of."""
    try:
        with (folder / MODEL_FILE).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == artefact.digest
    except OSError:
        return False


def current(folder: Path, source: str) -> Artefact | None:
    """Return the engine in a folder if it is whole and made from the model with this digest."""
    found = read_artefact(folder)
    return found if found is not None and found.source == source and whole(folder, found) else None


def write_artefact(folder: Path, graph: bytes, artefact: Artefact) -> None:
    """Put an engine in place, as a whole. Raises `Unavailable` where it cannot be written."""
    fidelity = artefact.fidelity
    body = {
        "format": _FORMAT,
        "source": artefact.source,
        "calibration": artefact.calibration,
        "digest": artefact.digest,
        "options": dict(artefact.options),
        "fidelity": None
        if fidelity is None
        else {name: getattr(fidelity, name) for name in Fidelity.__dataclass_fields__},
    }
    text = json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    replace_folder(folder, {MODEL_FILE: graph, ENGINE_FILE: text.encode()})
