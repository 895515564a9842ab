"""Costs are estimates; these are the properties that the balance relies on."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.conversation import Side
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.placement import AnswerRef
from agon.dispatch.costs import job_for, request_cost, tokens_of, turn_cost


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("Why?", 1, 3),
        ("The quick brown fox jumps over the lazy dog.", 9, 14),
        ("敏捷的棕色狐狸跳过懒狗", 10, 14),
        ("Съешь же ещё этих мягких французских булок", 22, 32),
        ("🌊🌊🌊", 3, 6),
    ],
)
def test_a_text_has_about_as_many_tokens_as_tokenizers_find(text: str, low: int, high: int) -> None:
    assert low <= tokens_of(text) <= high


@given(st.text(), st.text())
def test_two_texts_have_together_what_each_has(first: str, second: str) -> None:
    assert abs(tokens_of(first + second) - tokens_of(first) - tokens_of(second)) <= 2


@given(st.text(), st.lists(st.text(), max_size=6), st.integers(1, 5000))
def test_a_cost_keeps_within_its_bounds(prompt: str, history: list[str], max_tokens: int) -> None:
    cost = turn_cost(prompt, max_tokens, history=history)
    assert 0 < cost.output <= max_tokens
    assert 0 <= cost.cached < cost.prompt
    assert cost.on(holds_prefix=True) == cost.on(holds_prefix=False) - cost.cached


def test_an_answer_is_one_and_a_half_prompts_within_its_budget() -> None:
    assert turn_cost("word " * 160, 5000).output == pytest.approx(300, rel=0.1)
    assert turn_cost("word " * 160, 100).output == 100
    assert turn_cost("Why?", 5000).output == 32
    assert turn_cost("word " * 8000, 5000).output == 1024


def test_what_was_said_before_is_what_a_replica_may_hold() -> None:
    said = Message("user", "Hello there, how are you?"), Message("assistant", "Well, thank you.")
    request = GenerationRequest((*said, Message("user", "Why?")), Sampling(100), 1)
    cost = request_cost(request)
    assert cost.prompt - cost.cached == turn_cost("Why?", 100).prompt
    ref = AnswerRef(UUID(int=1), 2, Side.B, "north")
    assert job_for(ref, request).prefix == job_for(AnswerRef(UUID(int=1), 3, Side.B, "north"), request).prefix
    assert job_for(ref, request).prefix != job_for(AnswerRef(UUID(int=1), 2, Side.A, "north"), request).prefix
