from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.scoring import Sample
from agon.engines.encoder.tokeniser import WordPieces
from agon.engines.encoder.weights import VOCABULARY
from agon.scoring.reward.encoding import Encoded, cut, encode_each, join, pad
from agon.scoring.reward.scales import CLIP, FeatureScale, standardised


@dataclass(frozen=True)
class Limits:
    max_tokens: int = 20
    prompt_tokens: int = 8


class Letters:
    """A tokeniser to whom each letter is a token."""

    start, separator = 1, 2

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[ord(letter) for letter in text] for text in texts]


def test_head_and_tail_stay() -> None:
    assert cut([1, 2, 3, 4, 5, 6], 3) == [1, 2, 6]
    assert cut([1, 2, 3], 3) == [1, 2, 3]
    assert cut([1, 2, 3], 1) == [1]
    assert cut([1, 2, 3], 0) == []


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_sequence_keeps_to_its_room_and_wastes_none(prompt: int, answer: int) -> None:
    found = join([7] * prompt, [8] * answer, Limits(), Letters())
    assert len(found.ids) == len(found.types) == min(20, prompt + answer + 3)
    assert found.ids[0] == 1
    assert found.ids.count(2) == 2
    assert found.types == sorted(found.types)
    assert found.types.count(0) >= min(prompt + 2, 8)


def test_samples_become_prompt_and_answer() -> None:
    (found,) = encode_each(Limits(), Letters(), [Sample("ab", "c")])
    assert found == Encoded([1, ord("a"), ord("b"), 2, ord("c"), 2], [0, 0, 0, 0, 1, 1])


def test_padding_fills_to_the_longest() -> None:
    batch = pad([Encoded([5, 6, 7], [0, 0, 1]), Encoded([8], [0])], np.zeros((2, 0), np.float32))
    assert batch.input_ids.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert batch.attention_mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch.token_type_ids.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert "features" not in batch.feed()


def test_features_are_scaled_bounded_and_turned_round() -> None:
    scales = [FeatureScale("a", 1.0, 2.0), FeatureScale("b", 0.0, 1e-3)]
    found = standardised(np.array([[3.0, 1.0], [3.0, 1.0]]), scales, np.array([1.0, -1.0]))
    assert found.tolist() == [[1.0, CLIP], [-1.0, -CLIP]]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Héllo, unbelievable!", ["hello", ",", "unbelievable", "!"]),
        ("tokenizers", ["token", "##izer", "##s"]),
        ("北京", ["北", "京"]),
        ("", []),
    ],
)
def test_words_are_cut_as_the_encoder_learnt_them(text: str, pieces: list[str]) -> None:
    words = VOCABULARY.read_text("utf-8").split("\n")
    assert [words[piece] for piece in WordPieces(VOCABULARY).ids([text])[0]] == pieces
