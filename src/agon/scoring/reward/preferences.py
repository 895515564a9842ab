"""Pairs of answers that somebody has judged: JSON lines in, values out, each bad line with its reason."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

MAX_TEXT: Final = 1_000_000
"""Characters of one text; a longer one is a mistake."""

_OUTCOMES: Final[Mapping[str, float]] = {"a": 1.0, "b": 0.0, "tie": 0.5}
_HALF_A_SIGN: Final = re.compile("[\ud800-\udfff]")
"""JSON can say it, but it is no text that could be encoded."""
_TEXTS: Final = ("prompt", "answer_a", "answer_b")


@dataclass(frozen=True, slots=True)
class Preference:
    prompt: str
    answer_a: str
    answer_b: str
    outcome: float
    """1 where A is better, 0 where B is, ½ for a tie."""
    file: str
    """Name of the file, or what else the pair comes from."""
    source: str
    """What the row says of its origin, or the file's name."""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    pairs: Sequence[Preference]
    faults: Sequence[Fault]


def read_preferences(file: str, lines: Iterable[bytes]) -> Reading:
    """Read JSON lines `{prompt, answer_a, answer_b, preference: a|b|tie, id?, source?}`; empty lines are nothing."""
    pairs: list[Preference] = []
    faults: list[Fault] = []
    ids: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = _row(file, line.removeprefix(b"\xef\xbb\xbf"), ids)
        if isinstance(found, Preference):
            pairs.append(found)
        else:
            faults.append(Fault(file, number, found))
    return Reading(pairs, faults)


def _row(file: str, line: bytes, ids: set[str]) -> Preference | str:
    """The pair of a line, or what is wrong with it."""
    try:
        value: Any = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "not UTF-8"
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(value, dict):
        return "not a JSON object"
    row = cast("dict[str, Any]", value)
    wrong = _wrong(row)
    if wrong is not None:
        return wrong
    if (name := row.get("id")) is not None:
        if str(name) in ids:
            return f"the id {str(name)[:60]!r} was there before"
        ids.add(str(name))
    source = row.get("source")
    return Preference(
        *(row[field] for field in _TEXTS),
        outcome=_OUTCOMES[row["preference"]],
        file=file,
        source=source if isinstance(source, str) and source else file,
        licence=str(row.get("licence", "")),
    )


def _wrong(row: Mapping[str, Any]) -> str | None:
    for field in _TEXTS:
        if (reason := _no_text(row, field)) is not None:
            return reason
    if not row["prompt"].strip():
        return "prompt is empty"
    preference = row.get("preference")
    if not isinstance(preference, str) or preference not in _OUTCOMES:
        return "preference is not a, b or tie"
    return None


def _no_text(row: Mapping[str, Any], field: str) -> str | None:
    if field not in row:
        return f"no {field}"
    if not isinstance(row[field], str):
        return f"{field} is no text"
    if len(row[field]) > MAX_TEXT:
        return f"{field} has more than {MAX_TEXT:,} characters"
    if _HALF_A_SIGN.search(row[field]):
        return f"{field} holds half of a surrogate pair"
    return None
