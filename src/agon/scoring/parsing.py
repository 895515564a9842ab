"""What a judge's words say. A verdict that is not there for certain is none; it is never taken for a tie. PURE."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Of two answers, the one that was shown first being A."""

    A_MUCH = "A>>B"
    A = "A>B"
    TIE = "A=B"
    B = "B>A"
    B_MUCH = "B>>A"
    UNDECIDED = "?"
    """The judge says that it cannot tell."""

    @property
    def lead(self) -> int:
        """How far A is ahead, from -2 to 2. Raises `ValueError` for a judge that cannot tell."""
        if self is Verdict.UNDECIDED:
            raise ValueError("a judge that cannot tell puts nobody ahead")
        return _LEADS[self]


_LEADS = {Verdict.A_MUCH: 2, Verdict.A: 1, Verdict.TIE: 0, Verdict.B: -1, Verdict.B_MUCH: -2}
_LABELS: Mapping[str, Verdict] = {
    **{verdict.value: verdict for verdict in Verdict},
    "A": Verdict.A,
    "B": Verdict.B,
    "C": Verdict.TIE,
}
"""As judges are asked to write them, in the brackets: ours, and the three letters of MT-bench."""
_LOOSE: Mapping[str, Verdict] = {
    **_LABELS,
    "B=A": Verdict.TIE,
    "TIE": Verdict.TIE,
    "ASSISTANTA": Verdict.A,
    "ASSISTANTB": Verdict.B,
}

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
"""Chat templates may open the thought themselves, so that only its end is written."""
_OPENING, _CLOSING = "[\u3010\uff3b", "]\u3011\uff3d"
"""Square brackets, plain and full-width."""
_WIDE = str.maketrans(
    {
        **dict.fromkeys(_OPENING, "["),
        **dict.fromkeys(_CLOSING, "]"),
        **dict(zip("\uff1e\uff1c\uff1d\uff1f", "><=?", strict=True)),
        "\u226b": ">>",
    }
)
_ROUND = str.maketrans({**dict.fromkeys(_OPENING, "("), **dict.fromkeys(_CLOSING, ")")})
_ESCAPED = re.compile(r"\\([\[\]<>=])")
_EXACT = re.compile(r"\[\[([^\[\]\n]{1,40})\]\](?!\])")
_DOUBLE = re.compile(r"\[\[([^\[\]\n]{1,40})\]\]")
_SINGLE = re.compile(r"(?<!\[)\[([ \t]*[AB][ \t]*(?:>>|>|=)[ \t]*[AB][ \t]*)\](?!\])", re.IGNORECASE)
_LABEL_LIKE = re.compile(r"[ABC<>=?]{1,8}")
_RATING = re.compile(r"\[\[([^\[\]\n]{0,40})\]\]")
_NUMBER = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from a judge's words."""

    verdict: Verdict | None
    """`None` if they hold no verdict, or several that differ."""
    exact: bool = False
    """Whether every verdict is written to the letter."""


def read_verdict(text: str) -> Reading:
    """Read a judge's verdict.

    It stands in double brackets, as `[[A>>B]]`; blanks inside them, escapes, full-width signs and `[A>B]` are
    understood. Thoughts do not count. All verdicts of a text must be the same; one that is not known makes the text
    unreadable, as two that differ do.
    """
    own = without_thoughts(text)
    found = _labels(_loosened(own))
    if len(set(found)) != 1 or (verdict := found[0]) is None:
        return Reading(None)
    return Reading(verdict, exact=[_LABELS.get(label) for label in _EXACT.findall(own)].count(verdict) == len(found))


def read_rating(text: str) -> float | None:
    """Read a grade from 1 to 10 in double brackets, as `[[7]]` or `[[7.5]]`; of several the last one counts."""
    found = _RATING.findall(without_thoughts(text))
    last = found[-1].strip() if found else ""
    grade = float(last) if _NUMBER.fullmatch(last) else 0.0
    return grade if 1.0 <= grade <= 10.0 else None


def without_thoughts(text: str) -> str:
    """What a model says once it has thought."""
    return _THOUGHT_END.sub("", _THOUGHT.sub("", text))


def disarmed(text: str) -> str:
    """The same text, with round brackets in each line that shows a verdict or a grade: repeated, it is none."""
    return "\n".join(line.translate(_ROUND) if _armed(line) else line for line in text.split("\n"))


def _armed(line: str) -> bool:
    return bool(_labels(_loosened(line))) or any(_NUMBER.fullmatch(each.strip()) for each in _RATING.findall(line))


def _loosened(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.translate(_WIDE).replace("&gt;", ">"))


def _labels(loose: str) -> list[Verdict | None]:
    """Every label; `None` for one that looks like a verdict and is none."""
    labels = [re.sub(r"\s", "", label).upper() for label in (*_DOUBLE.findall(loose), *_SINGLE.findall(loose))]
    return [_LOOSE.get(label) for label in labels if label in _LOOSE or _LABEL_LIKE.fullmatch(label)]
