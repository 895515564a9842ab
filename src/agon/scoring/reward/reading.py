"""A prompt and its answer, taken apart once for all features."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

_CJK: Final = "\u3040-\u30ff\u3400-\u9fff"
"""Written without spaces: each character counts as a word."""
_WORD: Final = re.compile(rf"[{_CJK}]|[^\W\d_{_CJK}]+(?:['\u2019][^\W\d_{_CJK}]+)*|\d+(?:[.,]\d+)*")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')\]”’]*\s+|(?<=[。！？])|\n+")  # noqa: RUF001  full-width marks are meant
_ITEM: Final = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,3}[.):]|[a-zA-Z][.)])\s+\S")
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_STEM_LETTERS: Final = 5

STOP: Final = frozenset(
    (
        "a",
        "about",
        "above",
        "after",
        "again",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "below",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "done",
        "down",
        "during",
        "each",
        "either",
        "else",
        "few",
        "for",
        "from",
        "further",
        "get",
        "give",
        "given",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "let",
        "like",
        "make",
        "may",
        "me",
        "might",
        "more",
        "most",
        "much",
        "must",
        "my",
        "need",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "please",
        "provide",
        "same",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "upon",
        "us",
        "use",
        "used",
        "using",
        "very",
        "want",
        "was",
        "way",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "write",
        "you",
        "your",
        "yours",
    )
)


@dataclass(frozen=True)
class Text:
    """One text; its parts are found when they are first asked for."""

    text: str

    @cached_property
    def words(self) -> Sequence[str]:
        return _WORD.findall(self.text.lower())

    @cached_property
    def content(self) -> Sequence[str]:
        """Stems of the words that carry meaning, in order."""
        return [word[:_STEM_LETTERS] for word in self.words if word not in STOP]

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(self.content)

    @cached_property
    def lines(self) -> Sequence[str]:
        return [line.strip() for line in self.text.split("\n") if line.strip()]

    @cached_property
    def sentences(self) -> Sequence[str]:
        return [part.strip() for part in _SENTENCE_END.split(self.text) if part and part.strip()]

    @cached_property
    def items(self) -> Sequence[str]:
        """Lines that are entries of a list."""
        return [line for line in self.lines if _ITEM.match(line)]

    @cached_property
    def prose(self) -> str:
        """The text without its fenced code."""
        return _FENCE.sub(" ", self.text)

    def grams(self, size: int) -> Sequence[tuple[str, ...]]:
        return list(zip(*(self.words[start:] for start in range(size)), strict=False))


@dataclass(frozen=True, slots=True)
class Pair:
    prompt: Text
    answer: Text


@lru_cache(maxsize=256)
def read(text: str) -> Text:
    """Return a text to be taken apart; the prompts of a round come again and again."""
    return Text(text)


def share(part: float, whole: float) -> float:
    """Return a share that is 0 of nothing."""
    return part / whole if whole else 0.0
