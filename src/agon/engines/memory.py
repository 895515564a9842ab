"""What memory a model needs, and what this process may still take."""

import ctypes
import gc
import sys
from pathlib import Path

import psutil

from agon.engines.gguf_header import GgufHeader

_CGROUP_ROOT = Path("/sys/fs/cgroup")
_F16_BYTES = 2
_F32_BYTES = 4
_ACTIVATIONS_PER_TOKEN = 16
"""Vectors of the embedding's width that one token of a batch occupies; generous for the small models meant here."""
_OVERHEAD_BYTES = 64 << 20


def needed_bytes(header: GgufHeader, *, ctx: int, batch: int) -> int:
    """Estimate what loading a model takes: its file, the attention cache over the context, and working space."""
    heads = header.number("attention.head_count", 1)
    width = header.number("embedding_length")
    head_width = width // max(1, heads)
    keys = header.number("attention.key_length", head_width)
    values = header.number("attention.value_length", head_width)
    kv_heads = header.number("attention.head_count_kv", heads)
    cache = header.number("block_count") * ctx * kv_heads * (keys + values) * _F16_BYTES
    vocabulary = max((tensor.shape[-1] for tensor in header.tensors if tensor.name == "token_embd.weight"), default=0)
    work = batch * (vocabulary + width * _ACTIVATIONS_PER_TOKEN) * _F32_BYTES
    return header.file_bytes + cache + work + _OVERHEAD_BYTES


def available_bytes(*, cgroup_root: Path = _CGROUP_ROOT) -> int:
    """Return what can still be taken: the machine's free memory, or the container's if that is less."""
    free = psutil.virtual_memory().available
    return min([free, *_cgroup_free(cgroup_root)])


def give_back_memory() -> None:
    """Collect garbage and hand freed pages back to the system, which the C library would keep."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _cgroup_free(root: Path) -> list[int]:
    """Room left in this process's cgroup and in each above it, whichever version of cgroups this is."""
    found: list[int] = []
    for folder, limit_name, usage_name in _cgroup_folders(root):
        limit, usage = _number(folder / limit_name), _number(folder / usage_name)
        if limit is not None and usage is not None:
            # File pages count as used and are dropped when room is needed.
            found.append(max(0, limit - usage + _stat(folder / "memory.stat", "inactive_file")))
    return found


def _cgroup_folders(root: Path) -> list[tuple[Path, str, str]]:
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    folders: list[tuple[Path, str, str]] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        base, names = root, ("memory.max", "memory.current")
        if controllers:
            if "memory" not in controllers.split(","):
                continue
            base, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        own = base / path.lstrip("/")
        # In a container the path is often the host's, and only the root is there.
        folders += [(folder, *names) for folder in {base, own, *own.parents} if folder.is_relative_to(base)]
    return folders


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # not there, or "max"
        return None


def _stat(path: Path, name: str) -> int:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)
