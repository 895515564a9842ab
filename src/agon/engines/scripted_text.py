"""Text whose every word can be checked: what the scripted engine says, and how to tell that none of it was lost.

An answer looks like `《1f9c03ab52d1》 river1.9e02 光2.41c7 🌊3.b1a0 … ∎63.07d5`: a key made from the model, the
messages and the seed, then numbered words, each with a checksum over the key and its number, then an end mark with its
own. Lost, doubled, swapped or foreign text is found from the text alone.
"""

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from statistics import NormalDist

from agon.core.generation import Message

_END = "∎"
_WORDS = ("river", "光", "stone", "🌊", "lantern", "naïve", "桥梁", "meadow", "👩‍🚀", "ember", "Straße", "drift")
_KEY = re.compile(r"《([0-9a-f]{12})》")
_LONGEST_TOKEN = 32


@dataclass(frozen=True, slots=True)
class CheckedText:
    key: str
    """Compare it with `text_key` to know that the text answers this request and no other."""
    tokens: int
    complete: bool
    """Whether the end mark is there; a text cut at its token limit has none."""


def text_key(model: str, messages: Sequence[Message], seed: int) -> str:
    """Return the key that an answer to this request carries."""
    canonical = json.dumps([model, [[message.role, message.content] for message in messages], seed])
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def token(key: str, number: int, *, last: bool = False) -> str:
    """Return one token of the text, numbered from 0; the 0th carries the key, the last one is the end mark."""
    if number == 0:
        return f"《{key}》"
    digest = hashlib.blake2s(f"{key}:{number}".encode(), digest_size=3).hexdigest()
    word = _END if last else _WORDS[int(digest[:2], 16) % len(_WORDS)]
    return f" {word}{number}.{digest[2:]}"


def full_text(key: str, tokens: int) -> str:
    """Return the whole text of that many tokens, the end mark counted as one."""
    return "".join(token(key, number, last=number == tokens - 1) for number in range(tokens))


def check_text(text: str) -> CheckedText:
    """Check a text word by word. Raises `ValueError` saying where it goes wrong; text cut at a token's end is right."""
    match = _KEY.match(text)
    if match is None:
        raise ValueError(f"The text does not begin with its key: {text[:40]!r}")
    key, position = match[1], match.end()
    for number in count(1):
        if text[position:] == token(key, number, last=True):
            return CheckedText(key, number + 1, complete=True)
        if position == len(text):
            return CheckedText(key, number, complete=False)
        expected = token(key, number)
        if not text.startswith(expected, position):
            found = text[position : position + len(expected) + 8]
            raise ValueError(f"At character {position}, token {number}: expected {expected!r}, found {found!r}")
        position += len(expected)
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text goes on that is begun: within the token `number`, of which `chars` characters are said."""

    number: int
    chars: int
    complete: bool
    """The end mark is said: nothing is left."""


def place_behind(key: str, said: str) -> Place:
    """Find where a begun text goes on, also one that was cut inside a token. Raises `ValueError` for another text."""
    position = 0
    for number in count():
        rest = said[position : position + _LONGEST_TOKEN]
        plain, mark = token(key, number), token(key, number, last=True)
        if number and rest == mark and position + len(mark) == len(said):
            return Place(number + 1, 0, complete=True)
        if (plain.startswith(rest) and rest != plain) or (number and mark.startswith(rest)):
            return Place(number, len(rest), complete=False)
        if not rest.startswith(plain):
            raise ValueError(f"At character {position}, token {number}: expected {plain!r}, found {rest!r}")
        position += len(plain)
    raise AssertionError("unreachable")


def chance(key: str, what: str) -> float:
    """Draw from [0, 1) for one purpose; the same key always draws the same."""
    return int.from_bytes(hashlib.blake2s(f"{key}:{what}".encode(), digest_size=4).digest()) / 2**32


def pareto(chance: float, *, low: float, high: float, alpha: float) -> float:
    """Turn an even chance into a draw from a bounded Pareto distribution."""
    return min(high, low / (1.0 - chance) ** (1.0 / alpha))


def heavy_tail(key: str, *, low: int, high: int, alpha: float) -> int:
    """Draw a length from a bounded Pareto distribution; the same key always draws the same."""
    return int(pareto(chance(key, "length"), low=low, high=high, alpha=alpha))


def log_normal(key: str, *, median: float, spread: float) -> float:
    """Draw a length around a median; the same key always draws the same."""
    return median * math.exp(spread * NormalDist().inv_cdf(max(1e-9, chance(key, "length"))))
