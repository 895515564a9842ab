"""Demands of a prompt that a program can check: words to contain or avoid, counts, endings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from agon.scoring.reward.reading import Pair, Text

_QUOTED: Final = r"['\"\u201c\u2018`](.{1,40}?)['\"\u201d\u2019`]"
_CONTAIN: Final = re.compile(
    r"(?P<or>\bor )?(?P<not>\b(?:not|without|never|don't|do not|avoid)\b[^.'\"\n]{0,25}?)?"
    r"\b(?:contain(?:ing|s)?|includ(?:e|es|ing)|us(?:e|es|ing)|with)\b (?:the |a )?"
    r"(?:exact )?(?P<kind>character|letter|word|phrase|symbol|string)s? "
    r"['\"\u201c\u2018`](?P<wanted>.{1,40}?)['\"\u201d\u2019`]",
    re.IGNORECASE,
)
_LAST_WORD: Final = re.compile(rf"\blast word\b.{{0,12}}?{_QUOTED}", re.IGNORECASE)
_PLACES: Final = re.compile(
    r"\b((?:\d+(?:st|nd|rd|th)(?:,| and|, and)? ){1,9})words?\b"
    r".{0,12}?((?:['\"][^'\"]{1,30}['\"](?:,| and|, and)? ?){1,9})",
    re.IGNORECASE,
)
_NUMBERS: Final[Mapping[str, int]] = dict(
    zip(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        range(1, 13),
        strict=True,
    )
)
_COUNT: Final = re.compile(
    rf"\b(?P<how>exactly|at least|at most|no more than|fewer than|less than|more than|under|only|in|about|around|with)?"
    rf" ?\b(?P<number>\d{{1,4}}|{'|'.join(_NUMBERS)})[ -](?P<what>(?:bullet |short |simple |complete |concise )?"
    r"(?:words?|sentences?|paragraphs?|lines?|bullets?|points?|items?|characters?|letters?))\b",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(
    r"\b(?:list|name|give|suggest|provide|write|brainstorm|generate|what are|tell me|share|recommend)\b"
    r"(?: me| us| a list of| the| of| some| about| top| up)*?"
    rf" (?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?!\d|%|words?|sentences?|paragraphs?)[a-z]",
    re.IGNORECASE,
)


def constraints(pair: Pair) -> dict[str, float]:
    """Return whether what was demanded is there: 1 met, -1 not met, 0 nothing demanded that can be checked."""
    verdicts = [*_contained(pair), *_endings(pair), *_placed(pair)]
    counted = list(_counted(pair))
    return {
        "demands_met": _mean([1.0 if each else -1.0 for each in verdicts]),
        "counts_met": _mean(counted),
        "items_met": _items_met(pair),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _contained(pair: Pair) -> Iterator[bool]:
    """Demands joined by "or" are one demand."""
    met: bool | None = None
    for found in _CONTAIN.finditer(pair.prompt.text):
        wanted = found["wanted"]
        there = _holds(pair.answer, wanted, found["kind"].lower())
        if found["or"] and met is not None:
            met = met or there != bool(found["not"])
            continue
        if met is not None:
            yield met
        met = there != bool(found["not"])
    if met is not None:
        yield met


def _holds(answer: Text, wanted: str, kind: str) -> bool:
    text = answer.text.lower()
    if kind == "word":
        return re.search(rf"(?<!\w){re.escape(wanted.lower())}(?!\w)", text) is not None
    return wanted.lower() in text


def _endings(pair: Pair) -> Iterator[bool]:
    for found in _LAST_WORD.finditer(pair.prompt.text):
        last = pair.answer.text[: _last_letter(pair.answer.text) + 1].lower()
        yield last.endswith(found[1].lower()) and not last[: -len(found[1])][-1:].isalnum()


def _placed(pair: Pair) -> Iterator[bool]:
    said = [_bare(word).lower() for word in pair.answer.text.split()]
    for found in _PLACES.finditer(pair.prompt.text):
        places = [int(each) for each in re.findall(r"\d+", found[1])]
        words = re.findall(r"['\"]([^'\"]+)['\"]", found[2])
        if len(places) == len(words):
            yield all(
                place <= len(said) and said[place - 1] == word.lower()
                for place, word in zip(places, words, strict=True)
            )


def _last_letter(text: str) -> int:
    """Place of the last letter or digit; -1 where there is none."""
    return next((place for place in range(len(text) - 1, -1, -1) if text[place].isalnum()), -1)


def _bare(word: str) -> str:
    """A word without the signs around it."""
    first = next((place for place, sign in enumerate(word) if sign.isalnum()), len(word))
    return word[first : _last_letter(word) + 1]


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


def _counted(pair: Pair) -> Iterator[float]:
    for found in _COUNT.finditer(pair.prompt.text):
        wanted, how = _number(found["number"]), (found["how"] or "").lower()
        what = found["what"].lower().split()[-1].rstrip("s")
        sure = how not in {"", "in", "with", "only"} or "respon" in pair.prompt.text[: found.start()][-60:].lower()
        if not sure and wanted < 2:
            continue
        yield _closeness(_amount(pair.answer, what), wanted, how)


def _amount(answer: Text, what: str) -> int:
    match what:
        case "word":
            return len(answer.text.split())
        case "sentence":
            return len(answer.sentences)
        case "paragraph":
            return len([part for part in re.split(r"\n\s*\n", answer.text) if part.strip()])
        case "character" | "letter":
            return len(answer.text.strip())
        case "line":
            return len(answer.lines)
        case _:
            return len(answer.items) or len(answer.lines)


def _closeness(amount: int, wanted: int, how: str) -> float:
    if how == "exactly":
        return 1.0 if amount == wanted else -1.0
    if how in {"at most", "no more than", "fewer than", "less than", "under"}:
        return 1.0 if amount <= wanted else -1.0
    if how in {"at least", "more than"}:
        return 1.0 if amount >= wanted else -1.0
    return max(-1.0, 1 - 2 * abs(amount - wanted) / wanted) if wanted else 0.0


def _items_met(pair: Pair) -> float:
    found = _LISTED.search(pair.prompt.text)
    if found is None or not 2 <= (wanted := _number(found["number"])) <= 50:
        return 0.0
    amount = len(pair.answer.items) or len(pair.answer.lines)
    return max(-1.0, 1 - 2 * abs(amount - wanted) / wanted)
