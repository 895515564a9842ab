"""Scorer `format`: does an answer have the form that the prompt asks for in so many words?

It checks what a program can check, and nothing of what is said: JSON, lists and their length, numbers of words,
sentences and paragraphs, one word, yes or no, capitals, fenced code. It reads English instructions, and keeps silent
about prompts without one.
"""

import json
import re
from collections.abc import Iterator

from agon.core.scoring import Sample
from agon.scoring.plain import PlainScorer

_NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER = rf"(?P<number>\d{{1,4}}|{'|'.join(_NAMES)})"
_COUNT = re.compile(
    rf"\b(?P<how>exactly|at least|at most|no more than|fewer than|less than|more than|under|in|with)\s+{_NUMBER}[ -]"
    r"(?:short |simple |complete )?(?P<what>word|sentence|paragraph|line|bullet point|bullet|item)s?\b",
    re.IGNORECASE,
)
_LIST = re.compile(rf"\b(?:list|bullet(?:ed)? list|numbered list) of {_NUMBER}\b", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,3}[.):])\s+\S", re.MULTILINE)
_BULLET = re.compile(r"^\s*[-*•+]\s+\S", re.MULTILINE)
_NUMBERED = re.compile(r"^\s*\(?\d{1,3}[.):]\s+\S", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
_FENCE = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
_YES_NO = re.compile(r"\b(?:answer|reply|respond)\b[^.\n]{0,30}\byes or no\b", re.IGNORECASE)
_ONE_WORD = re.compile(
    r"\b(?:in|with|using) (?:a single|just one|only one|one) word\b|\bone[- ]word answer\b", re.IGNORECASE
)
_JSON = re.compile(
    r"\b(?:as|in|into|to|return|output|valid|only)\s+(?:a |an |valid |only )?json\b|\bjson (?:object|array|format)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b(?:in|as|inside|within) (?:a |one )?(?:fenced |markdown )?code block\b", re.IGNORECASE)
_UPPER = re.compile(r"\b(?:in|use|using) (?:all )?(?:capital letters|upper ?case|all caps)\b", re.IGNORECASE)
_LOWER = re.compile(r"\b(?:in|use|using) (?:all |only )?(?:lower ?case)\b", re.IGNORECASE)
_AT_MOST = {"at most", "no more than"}
_BELOW = {"fewer than", "less than", "under"}


def scorer() -> PlainScorer:
    return PlainScorer("format", rate, revision="1")


def rate(sample: Sample) -> float | None:
    """The share of the prompt's demands that the answer meets; nothing for a prompt without a demand it knows."""
    answer = sample.answer.strip()
    met = [*_kinds(sample.prompt, answer), *_counts(sample.prompt, answer)]
    return sum(met) / len(met) if met else None


def _kinds(prompt: str, answer: str) -> Iterator[bool]:
    asked = prompt.lower()
    if _JSON.search(prompt):
        yield _is_json(answer)
    if _CODE.search(prompt):
        yield answer.count("```") >= 2
    if "bullet" in asked:
        yield bool(_BULLET.search(answer))
    if "numbered list" in asked:
        yield bool(_NUMBERED.search(answer))
    if _YES_NO.search(prompt):
        yield re.sub(r"\W", "", answer).lower() in {"yes", "no"}
    if _ONE_WORD.search(prompt):
        yield len(answer.split()) == 1
    if _UPPER.search(prompt):
        yield answer.isupper()
    if _LOWER.search(prompt):
        yield answer.islower()


def _counts(prompt: str, answer: str) -> Iterator[bool]:
    for found in _COUNT.finditer(prompt):
        number = _number(found["number"])
        yield _holds(found["how"].lower(), _amount(found["what"].lower(), answer), number)
    for found in _LIST.finditer(prompt):
        yield len(_ITEM.findall(answer)) == _number(found["number"])


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NAMES.index(text.lower()) + 1


def _amount(what: str, answer: str) -> int:
    match what:
        case "word":
            return len(answer.split())
        case "sentence":
            return sum(bool(part.strip()) for part in _SENTENCE_END.split(answer))
        case "paragraph":
            return sum(bool(part.strip()) for part in re.split(r"\n\s*\n", answer))
        case "line":
            return sum(bool(line.strip()) for line in answer.split("\n"))
        case _:
            return len(_ITEM.findall(answer))


def _holds(how: str, amount: int, number: int) -> bool:
    if how in _AT_MOST:
        return amount <= number
    if how in _BELOW:
        return amount < number
    if how == "at least":
        return amount >= number
    return amount > number if how == "more than" else amount == number


def _is_json(answer: str) -> bool:
    fenced = _FENCE.match(answer)
    try:
        json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError):
        return False
    return True
