"""Which round a command speaks of, and which questions of a bank it takes."""

from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from agon.core.errors import InvalidInput
from agon.core.rounds import Question
from agon.rounds.naming import bank_digest, round_id, selected

BANK = [Question(f"q{number}", (f"{number}?",), category="abc"[number % 3]) for number in range(12)]


def named(bank: list[Question] = BANK, **changed: Any) -> UUID:
    asked: dict[str, Any] = {"scorer": "reward", "seed": 0, "max_tokens": 160, "anchor": None, "name": "", **changed}
    return round_id(bank, **asked)


def test_the_same_command_speaks_of_the_same_round() -> None:
    assert named() == named(list(BANK))


@pytest.mark.parametrize("changed", [{"scorer": "x"}, {"seed": 1}, {"max_tokens": 9}, {"anchor": "m"}, {"name": "n"}])
def test_another_scorer_seed_budget_anchor_or_name_is_another_round(changed: dict[str, Any]) -> None:
    assert named(**changed) != named()


def test_another_bank_is_another_round() -> None:
    others = [
        BANK[:-1],
        BANK[::-1],
        [Question("q0", ("0?", "1?"), "a"), *BANK[1:]],
        [Question("q0", ("0?",), "b"), *BANK[1:]],
        [Question("q0", ("0?",), "a", "en"), *BANK[1:]],
        [Question("z", ("0?",), "a"), *BANK[1:]],
    ]
    assert len({bank_digest(bank) for bank in [BANK, *others]}) == 7
    assert len({named(bank) for bank in [BANK, *others]}) == 7


def test_a_limit_takes_as_many_of_each_category_in_their_order() -> None:
    chosen = selected(BANK, categories=[], limit=5)
    assert Counter(question.category for question in chosen) == {"a": 2, "b": 2, "c": 1}
    assert [question.key for question in chosen] == ["q0", "q1", "q2", "q3", "q4"]
    uneven = [Question(str(number), ("?",), "big" if number else "small") for number in range(5)]
    assert [question.key for question in selected(uneven[::-1], categories=[], limit=2)] == ["4", "0"]
    assert selected(BANK, categories=[], limit=99) == BANK
    assert selected(BANK, categories=[], limit=None) == BANK


def test_only_some_categories() -> None:
    chosen = selected(BANK, categories=["b", "c"], limit=3)
    assert [question.category for question in chosen] == ["b", "c", "b"]


def test_what_cannot_be_taken_is_refused() -> None:
    with pytest.raises(InvalidInput, match="there are: a, b, c"):
        selected(BANK, categories=["maths"], limit=None)
    with pytest.raises(InvalidInput) as refusal:
        selected(BANK, categories=[], limit=0)
    assert refusal.value.code == "empty_bank"
