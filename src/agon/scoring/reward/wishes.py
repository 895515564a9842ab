"""What kind of answer a prompt asks for."""

import re
from dataclasses import dataclass
from typing import Final


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join('/'.join(parts).split('/'))})\b", re.IGNORECASE)


_LIST: Final = _words(
    r"list/bullet/steps/ways/tips/ideas/examples/suggest/recommend/names?/outline/top \d/reasons/itinerary/recipe"
)
_BRIEF: Final = _words(
    "only/just/concise(?:ly)?/brief(?:ly)?/short/one word/single/title/headline/category/classify/categorize/name for",
    "motto/slogan/tagline/which of/correct option/yes or no/true or false/how many/extract/bio/tweet/hook",
)
_ONLY: Final = _words(
    "(?:reply|respond|answer|return|output) with only/only the/only output/only reply/only answer/only a valid",
    "nothing else/don't explain",
)
_TERSE: Final = re.compile(
    r"\b(?:short|brief|concise|quick|one|single) (?:\w+ )?(?:paragraph|sentence|answer|summary|word|line|phrase|bullet|"
    r"explanation|response|reply)|\bconcise\b|\bbriefly\b|\bhaiku\b",
    re.IGNORECASE,
)
_COMPLETION: Final = re.compile(r"[ \t]*\w[\w ]{0,20}:")
_LONG: Final = _words(
    "essay/detail(?:ed|s)?/article/story/elaborate/comprehensive/thorough/explain/describe/discuss/blog/compare",
    "in[- ]depth",
)
_CODE: Final = re.compile(
    r"\b(?:code|function|script|program|python|javascript|java|c\+\+|rust|golang|sql|html|css|class|regex|algorithm|"
    r"implement|pytorch|bash|api)\b",
    re.IGNORECASE,
)
_JSON: Final = _words("json")
_TABLE: Final = _words("table/markdown")
_SHORTER: Final = _words("summari[sz]e/summary/extract/shorten/title/headline/tl;?dr/retrieve/abstract")
_REWRITE: Final = _words("rewrite/paraphrase/correct/capitali[sz]e/translate/edit/change/convert/proofread/fix")
_BAD: Final = re.compile(
    r"\b(?:unhelpful|unreasonable|inappropriate|incorrect|wrong|worst|bad|unhealthy|untrue|false|nonsens\w*|useless)\b"
    r"[^.\n]{0,40}\b(?:way|manner|answer|response|options?|reply|advice|ideas?|statement|fashion)|in an? \w+ly wrong",
    re.IGNORECASE,
)
_READ: Final = 600
"""Characters at the start of a prompt in which it says that it wants a bad answer."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """1 for what the prompt asks for, 0 for what it does not."""

    list: float
    brief: float
    only: float
    terse: float
    completion: float
    """It ends where somebody is to go on, as after "A:"."""
    long: float
    code: float
    json: float
    table: float
    shorter: float
    rewrite: float


def wishes_of(prompt: str) -> Wishes:
    def asks(pattern: re.Pattern[str]) -> float:
        return float(bool(pattern.search(prompt)))

    last_line = prompt.rstrip().rpartition("\n")[2]
    return Wishes(
        list=asks(_LIST),
        brief=asks(_BRIEF),
        only=asks(_ONLY),
        terse=asks(_TERSE),
        completion=float(bool(_COMPLETION.fullmatch(last_line))),
        long=asks(_LONG),
        code=asks(_CODE),
        json=asks(_JSON),
        table=asks(_TABLE),
        shorter=asks(_SHORTER),
        rewrite=asks(_REWRITE),
    )


def wants_bad(prompt: str) -> bool:
    """Return whether the prompt asks for a bad answer, whose signs of quality then count the other way."""
    return bool(_BAD.search(prompt[:_READ]))
