"""Named SQL: every statement in `sql/*.sql` stands under `-- name: …` and a line that says what it is for."""

import re
from functools import cache
from importlib.resources import files

_STATEMENT = re.compile(r"^-- name: (\w+)\n-- (.+)\n((?:(?!-- name:).*\n?)*)", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    """All statements by name. Raises `ValueError` on a name that stands twice."""
    found: dict[str, str] = {}
    for file in sorted(files("agon.stores.postgres").joinpath("sql").iterdir(), key=lambda file: file.name):
        for name, _description, statement in _STATEMENT.findall(file.read_text("utf-8")):
            if name in found:
                raise ValueError(f"two statements are named {name}")
            found[name] = statement.strip().removesuffix(";")
    return found


def sql(name: str) -> str:
    return queries()[name]
