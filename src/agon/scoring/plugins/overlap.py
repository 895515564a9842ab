"""Scorer `overlap`: does an answer speak of what was asked, in its own words, and without saying things twice?

A yardstick and an example, no judge of quality: it knows words, not truth. A good answer in other words than the
question's scores low, and a wrong one on the subject scores high.
"""

import re
from collections.abc import Sequence

from agon.core.scoring import Sample
from agon.scoring.plain import PlainScorer

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_SHORT = 3
"""Words of fewer letters carry little meaning; in scripts without blanks a word is one sign."""
_STEM = 6
_RUN = 5
"""So many words in the same order are a copy."""


def scorer() -> PlainScorer:
    return PlainScorer("overlap", rate, revision="1")


def rate(sample: Sample) -> float | None:
    """Between 0 and 1: the share of the prompt's content words that the answer takes up, less copying and repetition.

    Nothing for a prompt without content words.
    """
    asked, said = _words(sample.prompt), _words(sample.answer)
    wanted = _content(asked)
    if not wanted:
        return None
    covered = len(wanted & _content(said)) / len(wanted)
    return covered * (1.0 - _copied(asked, said)) * (1.0 - _repeated(said))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _content(words: Sequence[str]) -> set[str]:
    return {word[:_STEM] for word in words if len(word) > _SHORT or not word.isascii()}


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]


def _copied(asked: Sequence[str], said: Sequence[str]) -> float:
    """The share of the answer's runs of words that stand in the prompt."""
    runs, theirs = _runs(said), set(_runs(asked))
    if not runs:
        return float(bool(said) and " ".join(said) in " ".join(asked))
    return sum(run in theirs for run in runs) / len(runs)


def _repeated(said: Sequence[str]) -> float:
    """The share of runs of words that have been said before."""
    runs = _runs(said)
    return 1.0 - len(set(runs)) / len(runs) if runs else 0.0
