"""The Lua scripts of this folder, by name."""

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files

# What a script needs before its own text. All of it travels once; then the script is called by its digest.
_PARTS = {
    "reserve": ("common", "choice"),
    "beat": ("common", "replicas"),
    "leave": ("common", "replicas"),
    "reap": ("common", "replicas"),
}
_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    text: str
    digest: str


@cache
def script(name: str) -> Script:
    folder = files("agon.stores.redis").joinpath("lua")
    parts = [folder.joinpath(f"{part}.lua").read_text("utf-8") for part in (*_PARTS.get(name, ("common",)), name)]
    text = _COMMENT.sub("", "\n".join(parts))
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())
