import math
import time
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scoring.reward.support import FILES, reading

from agon.scoring.reward.features import EXPECTED_SIGNS, FEATURE_NAMES, FEATURES_VERSION, features, polarity, shortened


def of(prompt: str, answer: str) -> dict[str, float]:
    return dict(zip(FEATURE_NAMES, cast("list[float]", features(prompt, answer).tolist()), strict=True))


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_texts_have_finite_features(prompt: str, answer: str) -> None:
    assert np.isfinite(features(prompt, answer)).all()


def test_what_is_expected_is_expected_of_features_that_there_are() -> None:
    assert set(EXPECTED_SIGNS) <= set(FEATURE_NAMES)
    assert set(EXPECTED_SIGNS.values()) == {1, -1}


def test_the_length_of_an_answer_is_no_feature() -> None:
    """Words that have nothing to do with the prompt, more and more of them: what grows without end is no feature."""
    words = [f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(8000)]
    sentences = [" ".join(words[start : start + 8]).capitalize() + "." for start in range(0, 8000, 8)]
    short, long = (features("Tell me of a thing", " ".join(sentences[:count])) for count in (100, 1000))
    assert np.abs(long - short).max() < 0.5


@pytest.mark.parametrize(
    ("prompt", "answer", "name", "value"),
    [
        ("What is 3+4?", "3+4=7", "right_sums", 1.0),
        ("What is 3+4?", "3+4=8", "wrong_sums", 1.0),
        ("What is 3+4?", "It is 7.", "asked_sum", 1.0),
        ("What is 3+4?", "It is 8.", "asked_sum", -1.0),
        ("In base-9, what is 15+55?", "In base-9, 5+5=11, so the answer is 71.", "asked_sum", 1.0),
        ("In base-9, what is 15+55?", "In base-9, 5+5=10, so the answer is 70.", "asked_sum", -1.0),
        ("In base-9, what is 15+55?", "In base-9, 5+5=10.", "wrong_sums", 1.0),
        ("Divide", "10 / 4 = 2.5", "right_sums", 1.0),
        ("Divide", "10 / 0 = 2", "wrong_sums", 0.0),
        ("When?", "2020-01-02 = a day", "wrong_sums", 0.0),
        ("Answer with the word 'please' in it, containing the word 'please'.", "Yes, please!", "demands_met", 1.0),
        ("Write containing the word 'aid'.", "He is afraid", "demands_met", -1.0),
        ("Write not containing the character ','.", "One, two", "demands_met", -1.0),
        ("Write not containing the word 'it'.", "A bite", "demands_met", 1.0),
        ("Say something containing the character 'z' or not containing the character 'p'.", "hi", "demands_met", 1.0),
        ("Say something containing the character 'z' or not containing the character 'p'.", "up", "demands_met", -1.0),
        ("Say something containing the character 'z' or not containing the character 'p'.", "zip", "demands_met", 1.0),
        ("Write with the last word to be 'debate'.", "This is a debate.", "demands_met", 1.0),
        ("Write with the last word to be 'bate'.", "This is a debate.", "demands_met", -1.0),
        ("With the 2nd, 3rd words to be 'is', 'it' respectively.", "What is it", "demands_met", 1.0),
        ("With the 2nd, 3rd words to be 'is', 'it' respectively.", "What it is", "demands_met", -1.0),
        ("Answer with exactly 2 sentences.", "One. Two.", "counts_met", 1.0),
        ("Answer with exactly 2 sentences.", "One. Two. Three.", "counts_met", -1.0),
        ("Answer in at most 3 words.", "One two three", "counts_met", 1.0),
        ("List 3 fruits", "1. apple\n2. pear\n3. plum", "items_met", 1.0),
        ("List three fruits", "1. apple\n2. pear\n3. plum", "items_met", 1.0),
        ("Answer as JSON", '[{"a": 1}]', "json_right", 1.0),
        ("Answer as JSON", 'Here: {"a": 1}.', "json_right", 0.5),
        ("Answer as JSON", "{a: 1", "json_right", -1.0),
        ("Hi", "Hello there.</s>", "markers", math.log(2)),
        ("Hi", "Hello.\nUser: and you?", "roles", math.log(2)),
        ("Say hi", "", "no_words", 1.0),
        ("Fix: the cat sat on the mat today", "the cat sat on the mat today", "mostly_copy", 1.0),
        ("Describe", "The answer is this: first we take the thing and", "ends_early", 1.0),
        ("Describe", "I'm sorry, but I cannot do that.", "refuses", 1.0),
        ("Wie geht es?", "很好", "another_script", 1.0),
        ("你好吗", "很好", "another_script", 0.0),
        ("Say it again", "again " * 60, "looping_end", 1.0),
    ],
)
def test_a_feature_sees_what_it_is_named_for(prompt: str, answer: str, name: str, value: float) -> None:
    assert of(prompt, answer)[name] == pytest.approx(value)


def test_repeating_an_answer_shows() -> None:
    once = of("Describe a bird", "A small bird sings in the old tree. It flies away at noon.")
    text = "A small bird sings in the old tree. It flies away at noon."
    twice = of("Describe a bird", f"{text} {text}")
    assert once["repeated_sentences"] == 0.0
    assert twice["repeated_sentences"] == pytest.approx(0.5)
    assert twice["repeated_phrases"] > 0.3
    assert twice["covers"] == once["covers"]


def test_foreign_words_after_an_english_start_show() -> None:
    english = "this is what we have in the box for you and it is the best of all that there is on the shelf for now"
    spanish = "lista completa de episodios del joven ninja que busca convertirse hokage aldea arena heroe mundo grande"
    assert of("Describe", f"{english} {spanish} {spanish}")["tongue_shift"] > 0.1
    assert of("Describe", f"{english} {english}")["tongue_shift"] == 0.0


@pytest.mark.parametrize(
    ("prompt", "sign"),
    [
        ("Respond to the user input in an unhelpful way.\n\nWhat is up?", -1),
        ("Give me an unreasonable way to travel", -1),
        ("Give me a reasonable way to travel", 1),
        ("What went wrong?", 1),
        ("", 1),
    ],
)
def test_prompts_that_want_a_bad_answer_turn_the_features_round(prompt: str, sign: int) -> None:
    assert polarity(prompt) == sign


TRIGGERS = (
    "Answer as JSON, with the last word to be 'debate', the 8th, 17th words to be 'is', 'band', "
    "containing the word 'x' or not containing the character 'y', in at most 3 words. List 3 things. What is 3+4?"
)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 20_000,
        "\n " * 10_000,
        "a" + " " * 20_000 + "b",
        "!" * 20_000 + "a",
        "[" * 20_000,
        "[ " * 10_000,
        "[" * 5000 + "]" * 5000,
        "1st " * 5000,
        "1st words 'a' " * 1500,
        "1+1=" * 5000,
        "1," * 10_000,
        "containing the word '" * 1000,
        ";\n" * 10_000,
        "'" * 20_000,
        "def " * 5000,
        "\u4e2d" * 20_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_no_text_holds_up_a_worker(text: str) -> None:
    start = time.process_time()
    features(TRIGGERS, text)
    features(text, "yes")
    polarity(text)
    assert time.process_time() - start < 3


def test_long_texts_lose_their_middle_only() -> None:
    text = "a" * 30_000 + "b" * 30_000
    assert shortened(text).startswith("aaa")
    assert shortened(text).endswith("bbb")
    assert len(shortened(text)) == 20_001
    assert shortened("short") == "short"


PINNED_FEATURES = 70
PINNED_SUM = 80290.81361891933


def test_the_numbers_of_this_version_stay_what_they_are() -> None:
    """Models fit one version of the features: whoever changes a number has to count the version up."""
    rows = [features(pair.prompt, pair.answer_a) for file in FILES for pair in reading(file).pairs]
    sums = np.abs(np.stack(rows)).sum(axis=0)
    assert FEATURES_VERSION == 1
    assert len(FEATURE_NAMES) == PINNED_FEATURES
    assert float(sums @ np.arange(1, len(sums) + 1)) == pytest.approx(PINNED_SUM, rel=1e-9)
