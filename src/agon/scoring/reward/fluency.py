"""Signs that a model lost its thread: loops, leaked markers, endings cut short, words of no language."""

import math
import re
from collections.abc import Sequence
from typing import Final

from agon.scoring.reward.reading import STOP, Pair, Text, share

_MARKERS: Final = re.compile(
    r"</?s>|<\|[^|>]{0,40}\|>|<(?:bot|human|user|assistant|unk|pad|end)>|\[/?INST\]|<</?SYS>>|\[PAD\]|�", re.IGNORECASE
)
_ROLES: Final = re.compile(
    r"^\W{0,4}(?:user|human|assistant|bot|ai|system|instructions?|response|input|output|prompt|question|q|answer|a|"
    r"comment|solution|student|teacher|customer)\W{0,3}:|^#{2,}\s",
    re.IGNORECASE | re.MULTILINE,
)
_BLANK: Final = re.compile(r"_{3,}|\[(?:insert|your|name|company)[^\]]{0,40}\]|\.{4,}|lorem ipsum", re.IGNORECASE)
_REFUSAL: Final = re.compile(
    r"\b(?:i(?:'m| am)? (?:sorry|unable|not able|not sure|afraid)"
    r"|i (?:can(?:not|'t)|do(?: not|n't) (?:know|have|understand|think))"
    r"|as an ai|as a language model|unfortunately|it is not possible|not enough information)",
    re.IGNORECASE,
)
_ASKING_BACK: Final = re.compile(
    r"(?:could|can|would) you (?:please )?(?:provide|clarify|tell|specify|give)|please (?:provide|clarify|specify)"
    r"|how can i (?:help|assist)|what (?:is|are) you(?:r)? (?:looking|question)",
    re.IGNORECASE,
)
_ENDINGS: Final = frozenset(".!?…。！？\"')]}”’`>|*;:")  # noqa: RUF001  full-width marks are meant
_WINDOW: Final = 50


def fluency(pair: Pair) -> dict[str, float]:
    """Return features of the answer by itself."""
    answer = pair.answer
    text = answer.text.strip()
    return {
        "repeated_lines": _repeated([line.lower() for line in answer.lines if len(line) > 3]),
        "repeated_sentences": _repeated([part.lower() for part in answer.sentences if len(part) > 8]),
        "repeated_words": _repeated(answer.grams(3)),
        "repeated_phrases": _repeated(answer.grams(6)),
        "variety": _variety(answer),
        "looping_end": _looping(text),
        "loops": max(0.0, _repeated(answer.grams(6)) - 0.2),
        "no_ending": float(_breaks_off(answer)),
        "ends_early": float((bool(text) and text[-1] in ",(-") or text.endswith((" and", " the", " of", " to", " a"))),
        "drift": _drift(answer),
        "tongue_shift": _tongue_shift(answer),
        "ends_open": float(text.endswith(":")),
        "markers": math.log1p(len(_MARKERS.findall(text))),
        "roles": math.log1p(max(0, len(_ROLES.findall(text)))),
        "roles_late": math.log1p(len(_ROLES.findall(text[60:]))),
        "blanks": math.log1p(len(_BLANK.findall(text))),
        "odd_start": float(bool(text) and (text[0] in ".,;:!?)]}/\\&%" or text[0].islower())),
        "refuses": float(bool(_REFUSAL.search(text[:400]))),
        "asks_back": float(bool(_ASKING_BACK.search(text))),
        "questions": share(text.count("?"), len(answer.sentences)),
        "ends_asking": float(text.endswith("?")),
        "no_words": float(not answer.words),
        "symbols": share(sum(not (each.isalnum() or each.isspace()) for each in text), len(text)),
        "capitals": share(sum(each.isupper() for each in text), sum(each.isalpha() for each in text)),
        "word_letters": share(sum(map(len, answer.words)), len(answer.words)),
        "sentence_words": math.log1p(share(len(answer.words), len(answer.sentences))),
        "first_person": share(sum(word in {"i", "my", "me", "i'm"} for word in answer.words), len(answer.words)),
        "second_person": share(sum(word in {"you", "your"} for word in answer.words), len(answer.words)),
        "figures": share(sum(word[0].isdigit() for word in answer.words), len(answer.words)),
        "links": float("http" in text or "www." in text),
    }


def _repeated(parts: Sequence[object]) -> float:
    return 1 - len(set(parts)) / len(parts) if parts else 0.0


def _breaks_off(answer: Text) -> bool:
    """Whether the last line is prose that stops without an ending; titles, list entries and code may."""
    last = answer.lines[-1] if answer.lines else ""
    return len(last.split()) > 6 and last[-1] not in _ENDINGS


def _drift(answer: Text) -> float:
    """How little of the last third was spoken of before."""
    content = answer.content
    third = len(content) // 3
    if third < 10:
        return 0.0
    before = set(content[: 2 * third])
    return sum(stem not in before for stem in content[2 * third :]) / (len(content) - 2 * third)


def _tongue_shift(answer: Text) -> float:
    """How much the share of English function words falls from the first half to the second."""
    words = answer.words
    half = len(words) // 2
    if half < 20:
        return 0.0
    shares = [sum(word in STOP for word in part) / len(part) for part in (words[:half], words[half:])]
    return max(0.0, shares[0] - shares[1] - 0.1)


def _variety(answer: Text) -> float:
    """Distinct words in windows of equal size, so that longer texts are not poorer for it."""
    words = answer.words
    if not words:
        return 0.0
    if len(words) <= _WINDOW:
        # What a short text lacks to a window is taken as varied as texts usually are.
        return (len(set(words)) + 0.75 * (_WINDOW - len(words))) / _WINDOW
    windows = [words[start : start + _WINDOW] for start in range(0, len(words) - _WINDOW + 1, _WINDOW // 2)]
    return sum(len(set(each)) for each in windows) / (_WINDOW * len(windows))


def _looping(text: str) -> float:
    """Whether the end repeats what came right before it."""
    tail = text[-600:]
    for size in range(8, len(tail) // 3 + 1):
        last = tail[-size:]
        if tail[-2 * size : -size] == last and tail[-3 * size : -2 * size] == last and last.strip():
            return 1.0
    return 0.0
