"""What a vote was about and how its answers were written."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.traits import LONG_TOKENS, SHORT_TOKENS, Category, Style, script_of, style_of, tokens, traits_of

MIDDLE = "word " * 40


def categories(*prompts: str) -> set[Category]:
    return set(traits_of(prompts, ["x"] * len(prompts), ["y"] * len(prompts)).categories)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Why is the sky blue?", Category.LATIN),
        ("Où est la bibliothèque ?", Category.LATIN),
        ("天空为什么是蓝色的", Category.CHINESE),
        ("空はなぜ青いのですか", Category.JAPANESE),
        ("東京都の人口を教えて", Category.JAPANESE),
        ("하늘은 왜 파란가요?", Category.KOREAN),
        ("Почему небо голубое?", Category.CYRILLIC),
        ("لماذا السماء زرقاء؟", Category.ARABIC),
        ("आकाश नीला क्यों है?", Category.DEVANAGARI),
        ("Γιατί είναι μπλε;", Category.OTHER_SCRIPT),
        ("请翻译 the quick brown fox", Category.LATIN),
        ("12 + 30 = ?", None),
        ("", None),
    ],
)
def test_the_script_is_that_of_most_letters(text: str, script: Category | None) -> None:
    assert script_of(text) is script


@pytest.mark.parametrize(
    "prompt",
    [
        "Write a Python function that merges intervals.",
        "用Python写一个合并重叠区间的函数",
        "What does this do?\n```\nx = 1\n```",
        "def add(a, b):\n    return a + b\nIs it right?",
        "SELECT name FROM people WHERE age > 3 is slow",
        "How do I centre a box with CSS?",
        "请帮我改一下这段代码",
    ],
)
def test_programming_is_told_by_what_is_written_or_named(prompt: str) -> None:
    assert Category.CODE in categories(prompt)


@pytest.mark.parametrize("prompt", ["Tell me about pythons in Florida.", "Is javanese coffee good?", "写一首诗"])
def test_words_that_only_look_like_it_are_not_it(prompt: str) -> None:
    assert Category.CODE not in categories(prompt)


def test_lengths_go_by_the_first_prompt() -> None:
    assert Category.SHORT in categories("Why?")
    assert Category.SHORT not in categories(MIDDLE, "Why?")
    assert Category.LONG not in categories(MIDDLE)
    assert Category.LONG in categories("word " * LONG_TOKENS)
    assert Category.LONG in categories("字" * LONG_TOKENS)
    assert {Category.SHORT, Category.LONG} & categories("字" * SHORT_TOKENS) == set()


def test_turns_are_told() -> None:
    assert Category.MULTI_TURN not in categories("one")
    assert Category.MULTI_TURN in categories("one", "two")


def test_what_models_say_decides_no_category() -> None:
    answers = ["```python\ndef f(): ...\n```" * 50, "天空" * 500]
    assert traits_of(["Why?"], answers[:1], answers[1:]).categories == {Category.LATIN, Category.SHORT}


def test_a_battle_without_turns_belongs_nowhere() -> None:
    nothing = traits_of([], [], [])
    assert nothing.categories == frozenset()
    assert nothing.a == nothing.b == Style(0, 0, 0, 0)


ANSWER = """# Title

Some **bold words** and __more__ of *it*.

- one
* two
  1. three
2) four
-not one

## Part
```md
# not
- not
**not**
```
2 * 3 ** 2
"""


def test_formatting_is_counted_outside_of_code() -> None:
    found = style_of([ANSWER])
    assert (found.headers, found.lists, found.bold) == (2, 4, 2)
    assert found.tokens == tokens(ANSWER)


def test_turns_are_added_up_and_an_open_block_ends_with_its_answer() -> None:
    first, second = "```\n# in", "# out"
    assert style_of([first, second]) == Style(tokens(first) + tokens(second), headers=1, lists=0, bold=0)


@given(st.text(max_size=300))
def test_any_text_has_traits(text: str) -> None:
    found = traits_of([text], [text], [text])
    assert found.a == found.b
    assert min(found.a.tokens, found.a.headers, found.a.lists, found.a.bold) >= 0
    assert {Category.SHORT, Category.LONG} - found.categories


@pytest.mark.parametrize("text", ["\n" * 60_000, "**" * 30_000, "- " * 30_000, "`" * 60_000, "SELECT a " * 7_000])
def test_no_text_takes_long(text: str) -> None:
    begun = time.perf_counter()
    traits_of([text], [text], [text])
    assert time.perf_counter() - begun < 2.0
