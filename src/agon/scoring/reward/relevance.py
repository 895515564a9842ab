"""How an answer's words relate to those of its prompt."""

import math
import unicodedata
from collections import Counter
from typing import Final

from agon.scoring.reward.reading import Pair, share

_SCRIPTS: Final = (
    "LATIN",
    "CJK",
    "HANGUL",
    "HIRAGANA",
    "KATAKANA",
    "CYRILLIC",
    "ARABIC",
    "GREEK",
    "THAI",
    "DEVANAGARI",
)
_READ: Final = 400
_OPENING_WORDS: Final = 25
_START_WORDS: Final = 6
_START_GRAMS: Final = 40


def relevance(pair: Pair) -> dict[str, float]:
    """Return features of prompt and answer together."""
    asked, said = pair.prompt, pair.answer
    task = frozenset(asked.content[:_OPENING_WORDS])
    own = [stem for stem in said.content if stem not in asked.stems]
    opening = frozenset(said.content[:_OPENING_WORDS])
    return {
        "covers": share(len(asked.stems & said.stems), len(asked.stems)),
        "covers_task": share(len(task & said.stems), len(task)),
        "covers_end": share(len(frozenset(asked.content[-12:]) & said.stems), len(frozenset(asked.content[-12:]))),
        "opening_on_topic": share(len(opening & asked.stems), len(opening)),
        "from_prompt": share(len(said.content) - len(own), len(said.content)),
        "copied": _copied(pair, 4),
        "copied_long": _copied(pair, 8),
        "mostly_copy": float(_copied(pair, 4) > 0.8),
        "repeats_start": _shared_start(pair),
        "no_news": float(bool(said.words) and len(set(own)) < 2),
        "another_script": _distance(_scripts(asked.text), _scripts(said.text)),
        "figures_kept": _figures_kept(pair),
    }


def _copied(pair: Pair, size: int) -> float:
    """How much of the answer is copied, or of its start, so that words after a copy do not thin it out."""
    theirs = set(pair.prompt.grams(size))
    copied = [gram in theirs for gram in pair.answer.grams(size)]
    start = copied[:_START_GRAMS]
    return max(share(sum(copied), len(copied)), share(sum(start), len(start)))


def _shared_start(pair: Pair) -> float:
    """Whether the answer begins with words of the prompt."""
    said = pair.answer.words[:_START_WORDS]
    return float(len(said) == _START_WORDS and " ".join(said) in " ".join(pair.prompt.words))


def _scripts(text: str) -> Counter[str]:
    letters = [each for each in text if each.isalpha()]
    step = max(1, len(letters) // _READ)
    found = Counter[str]()
    for letter in letters[::step]:
        name = "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
        found[name if name in _SCRIPTS else "OTHER"] += 1
    return found


def _distance(first: Counter[str], second: Counter[str]) -> float:
    if not first or not second:
        return 0.0
    sizes = first.total(), second.total()
    return sum(abs(first[key] / sizes[0] - second[key] / sizes[1]) for key in {*first, *second}) / 2


def _figures_kept(pair: Pair) -> float:
    asked = {word for word in pair.prompt.words if word[0].isdigit()}
    said = {word for word in pair.answer.words if word[0].isdigit()}
    return share(len(asked & said), len(asked)) * math.log1p(len(asked))
