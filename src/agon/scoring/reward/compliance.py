"""What kind of answer a prompt wants, and whether this is one."""

import json
import math
import re
from collections.abc import Sequence
from typing import Final

from agon.scoring.reward.reading import Pair, share
from agon.scoring.reward.wishes import wishes_of

_CODE: Final = re.compile(
    r"[{};][ \t]*$"
    r"|^[ \t]*(?:def|class|import|from|return|for|if|while|function|const|let|var|#include|public)\b.*[:({;]?$",
    re.MULTILINE,
)
_WARM: Final = re.compile(r"^(?:sure|certainly|of course|absolutely|here(?:'s| is| are)|great|thank)", re.IGNORECASE)
_SUMS_UP: Final = re.compile(
    r"\b(?:in conclusion|overall|in summary|to summarize|i hope this helps|let me know)\b", re.IGNORECASE
)
_REASONS: Final = re.compile(
    r"\b(?:because|therefore|since|thus|so that|for example|for instance|such as|however|while|although|first|second|"
    r"finally|then|which means|as a result|due to)\b",
    re.IGNORECASE,
)
_FRENCH: Final = frozenset(
    (
        "le",
        "la",
        "les",
        "des",
        "une",
        "et",
        "du",
        "est",
        "dans",
        "que",
        "pour",
        "au",
        "aux",
        "sur",
        "avec",
        "qui",
        "nous",
        "ce",
        "sa",
        "son",
        "se",
        "ne",
        "pas",
    )
)
_SPANISH: Final = frozenset(
    (
        "el",
        "los",
        "las",
        "una",
        "y",
        "de",
        "que",
        "en",
        "por",
        "con",
        "para",
        "es",
        "del",
        "se",
        "al",
        "su",
        "como",
        "más",
        "pero",
    )
)
_GERMAN: Final = frozenset(
    (
        "der",
        "die",
        "das",
        "und",
        "ist",
        "ein",
        "eine",
        "nicht",
        "mit",
        "von",
        "zu",
        "den",
        "im",
        "auf",
        "für",
        "sich",
        "des",
        "dem",
    )
)
_LANGUAGES: Final = {"french": _FRENCH, "spanish": _SPANISH, "german": _GERMAN}
_FEW_WORDS: Final = 12


def compliance(pair: Pair) -> dict[str, float]:
    """Return features that compare the kind of answer asked for with the kind given."""
    prompt, answer, text = pair.prompt.text, pair.answer, pair.answer.text
    wants = wishes_of(prompt)
    listed = share(len(answer.items), len(answer.lines))
    coded = share(len(_CODE.findall(text)), len(answer.lines)) + float("```" in text)
    size = math.log1p(len(answer.words)) - math.log1p(_FEW_WORDS)
    reasons = math.log1p(10 * share(len(_REASONS.findall(text)), len(answer.sentences)))
    return {
        "list_wanted": wants.list * min(1.0, len(answer.items) / 3),
        "list_unwanted": (1 - wants.list) * listed,
        "only_broken": wants.only * max(0.0, size),
        "brief_broken": wants.brief * (1 - wants.long) * max(0.0, size - 1),
        "terse_broken": wants.terse * max(0.0, size - 1.5),
        "completion_broken": wants.completion * max(0.0, size),
        "code_wanted": wants.code * min(1.0, coded),
        "code_fenced": wants.code * float("```" in text),
        "code_unwanted": (1 - wants.code) * min(1.0, coded),
        "json_right": wants.json * _json_right(text),
        "table_wanted": wants.table * float(text.count("|") > 5),
        "not_shorter": wants.shorter * float(len(answer.words) > 0.8 * len(pair.prompt.words)),
        "rewrite_size": wants.rewrite
        * min(3.0, abs(math.log(share(len(answer.words) + 5, len(pair.prompt.words) + 5)))),
        "language_right": _language_right(prompt, answer.words),
        "opens_warmly": float(bool(_WARM.match(text.strip()))),
        "sums_up": float(bool(_SUMS_UP.search(text))),
        "reasons": reasons,
        "reasons_wanted": wants.long * reasons,
        "headers": min(3.0, len(re.findall(r"^#{1,4} \S", text, re.MULTILINE))),
        "bold": min(3.0, math.log1p(text.count("**") / 2)),
        "paragraphs": float(len({part.strip() for part in text.split("\n\n") if part.strip()}) > 1),
        "names": _names(pair),
    }


def _json_right(text: str) -> float:
    """Return 1 for JSON and nothing else, 0.5 for JSON among words, -1 for none."""
    plain = text.strip().removeprefix("```").removeprefix("json").removesuffix("```")
    if _is_json(plain):
        return 1.0
    start = min((place for place in (text.find("["), text.find("{")) if place >= 0), default=len(text))
    return 0.5 if _is_json(text[start : max(text.rfind("]"), text.rfind("}")) + 1]) else -1.0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _language_right(prompt: str, words: Sequence[str]) -> float:
    asked = re.search(r"\b(?:in|to|into) (french|spanish|german)\b", prompt, re.IGNORECASE)
    if asked is None:
        return 0.0
    usual = _LANGUAGES[asked[1].lower()]
    return min(1.0, 6 * share(sum(word in usual for word in words), len(words)))


def _names(pair: Pair) -> float:
    """Return how often the answer names things: capitals inside sentences, not taken from the prompt."""
    found = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{2,}", pair.answer.prose)
    theirs = pair.prompt.text
    return share(sum(name not in theirs for name in found), len(pair.answer.words))
