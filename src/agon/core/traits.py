"""What a vote was about, and how its answers were written: told from the texts alone, by plain rules.

The rules are guesses that anybody can check, and they look only at what people wrote, so that no model can choose the
category it is judged in. The style of answers is counted, not judged.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

TRAITS_VERSION = 1
"""Rises with every change of the rules; what was told by older ones is told anew."""
SHORT_TOKENS = 25
LONG_TOKENS = 250
_LETTERS_PER_TOKEN = 4.0
_SECOND_SCRIPT = 0.1
"""Share of the letters from which kana make a text Japanese; it writes most of its letters in Chinese characters."""


class Category(StrEnum):
    """What a vote can be filtered by. The first eight are the script that most letters of the prompts are in."""

    CHINESE = "chinese"
    """Chinese characters without kana."""
    JAPANESE = "japanese"
    KOREAN = "korean"
    LATIN = "latin"
    """English and every other language in Latin letters."""
    CYRILLIC = "cyrillic"
    ARABIC = "arabic"
    DEVANAGARI = "devanagari"
    OTHER_SCRIPT = "other_script"
    CODE = "code"
    """The prompts hold a block of code, or speak of programming by name."""
    SHORT = "short"
    """The first prompt has fewer than `SHORT_TOKENS` tokens, as `tokens` counts them."""
    LONG = "long"
    """The first prompt has at least `LONG_TOKENS` tokens."""
    MULTI_TURN = "multi_turn"
    """Two turns or more."""


@dataclass(frozen=True, slots=True)
class Style:
    """What is counted of one side's answers, all turns together; code blocks count for `tokens` alone."""

    tokens: int
    headers: int
    lists: int
    """Items of lists."""
    bold: int
    """Words or phrases in bold."""


@dataclass(frozen=True, slots=True)
class Traits:
    categories: frozenset[Category]
    a: Style
    b: Style


def traits_of(prompts: Sequence[str], answers_a: Sequence[str], answers_b: Sequence[str]) -> Traits:
    """The traits of a battle, turn by turn; one without turns belongs to no category."""
    return Traits(frozenset(_categories(prompts)), style_of(answers_a), style_of(answers_b))


def tokens(text: str) -> int:
    """About how many tokens a text has: a Chinese, Japanese or Korean letter is one, any other a quarter of one."""
    wide = len(_WIDE.findall(text))
    return wide + round((len(text) - wide) / _LETTERS_PER_TOKEN)


def style_of(answers: Sequence[str]) -> Style:
    prose = "\n".join("\n".join(_prose(answer)) for answer in answers)
    return Style(
        tokens=sum(tokens(answer) for answer in answers),
        headers=len(_HEADER.findall(prose)),
        lists=len(_ITEM.findall(prose)),
        bold=len(_BOLD.findall(prose)),
    )


_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_WIDE = re.compile(f"[{_KANA}{_HAN}{_HANGUL}]")
_SCRIPTS: Sequence[tuple[Category, re.Pattern[str]]] = (
    (Category.JAPANESE, re.compile(f"[{_KANA}]")),
    (Category.CHINESE, re.compile(f"[{_HAN}]")),
    (Category.KOREAN, re.compile(f"[{_HANGUL}]")),
    (Category.LATIN, re.compile("[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")),
    (Category.CYRILLIC, re.compile("[\u0400-\u052f]")),
    (Category.ARABIC, re.compile("[\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f]")),
    (Category.DEVANAGARI, re.compile("[\u0900-\u097f]")),
)
_ANY_LETTER = re.compile(r"[^\W\d_]")

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADER = re.compile(r"^ {0,3}#{1,6}[ \t]", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_BOLD = re.compile(r"\*\*(?=\S)[^*\n]+\*\*|__(?=\S)[^_\n]+__")
_LANGUAGES = (
    r"python|javascript|typescript|java|kotlin|golang|ruby on rails|php|perl|haskell|scala|c\+\+|c#|css|html|sql|bash"
    r"|powershell|regexp?|json|yaml|dockerfile|numpy|pandas|pytorch|django|react|node\.js|makefile|latex"
)
_CRAFT = (
    r"source code|code snippet|write (?:some |the )?code|programming|compiler|debug|stack trace|unit tests?|refactor"
)
_SPOKEN = re.compile(
    rf"(?<![a-z])(?:{_LANGUAGES}|{_CRAFT})(?![a-z])|代码|编程|程序代码|プログラミング|ソースコード|코딩|코드"
)
_DEFINITIONS = r"def \w+\(|class \w+[:({]|import \w+|from \w+ import |#include ?<|function \w+\(|SELECT\s.+\sFROM\s"
_WRITTEN = re.compile(rf"^ {{0,3}}(?:`{{3}}|~{{3}})|^[ \t]*(?:{_DEFINITIONS})", re.MULTILINE)


def _categories(prompts: Sequence[str]) -> Iterable[Category]:
    whole = "\n".join(prompts)
    if (script := script_of(whole)) is not None:
        yield script
    if _WRITTEN.search(whole) or _SPOKEN.search(whole.lower()):
        yield Category.CODE
    first = tokens(prompts[0]) if prompts else SHORT_TOKENS
    if first < SHORT_TOKENS:
        yield Category.SHORT
    if first >= LONG_TOKENS:
        yield Category.LONG
    if len(prompts) > 1:
        yield Category.MULTI_TURN


def script_of(text: str) -> Category | None:
    """The script of most letters; `None` if there are no letters."""
    letters = len(_ANY_LETTER.findall(text))
    if not letters:
        return None
    found = {script: len(pattern.findall(text)) for script, pattern in _SCRIPTS}
    if found[Category.JAPANESE] >= _SECOND_SCRIPT * (found[Category.JAPANESE] + found[Category.CHINESE]) > 0:
        found[Category.JAPANESE] += found.pop(Category.CHINESE)
    most = max(found, key=found.__getitem__)
    return most if 2 * found[most] >= letters else Category.OTHER_SCRIPT


def _prose(answer: str) -> Iterable[str]:
    """The lines outside of code blocks."""
    fence: str | None = None
    for line in answer.splitlines():
        mark = _FENCE.match(line)
        if fence is None:
            if mark is None:
                yield line
            else:
                fence = mark[1]
        elif mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = None
