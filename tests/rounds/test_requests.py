"""What contestants of rounds are asked, and when two requests are the same."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import pytest

from agon.core.contestants import Contestant, ContestantKind
from agon.core.generation import Message, Sampling
from agon.core.round_ports import PendingAnswer
from agon.core.rounds import Question
from agon.rounds.requests import dialogue_name, model_revision, request_key, request_of

SAMPLING = Sampling(160, 0.7)
PENDING = PendingAnswer(3, uuid4(), Question("q", ("One?", "Two?")), "x", seed=5, max_tokens=160, failures=0)
MODEL = Contestant("x", ContestantKind.OPENAI, "m", ("http://a", "http://b"))


def key(pending: PendingAnswer = PENDING, sampling: Sampling = SAMPLING, model: Contestant = MODEL) -> bytes:
    return request_key(pending, sampling, model_revision(model))


def test_each_turn_follows_what_was_said() -> None:
    first = request_of(PENDING, [], SAMPLING)
    assert first.messages == (Message("user", "One?"),)
    assert (first.seed, first.sampling) == (5, SAMPLING)
    second = request_of(PENDING, ["1."], SAMPLING)
    assert second.messages == (Message("user", "One?"), Message("assistant", "1."), Message("user", "Two?"))


def test_a_seed_of_a_round_is_one_that_engines_take() -> None:
    for seed in (-1, 2**31 - 1):
        assert request_of(replace(PENDING, seed=seed), [], SAMPLING).seed == 2**31 - 1


def test_later_turns_look_for_the_replica_of_the_first() -> None:
    assert dialogue_name(PENDING) == "r:3"
    assert dialogue_name(replace(PENDING, question=Question("q", ("One?",)))) is None


def test_the_same_request_has_the_same_key_in_every_round() -> None:
    other = replace(
        PENDING, number=9, round=uuid4(), failures=2, question=replace(PENDING.question, key="z", category="c")
    )
    assert key(other) == key()
    assert len(key()) == 32
    turned = replace(MODEL, urls=("http://b", "http://a"), weight=0.5, max_concurrent=2)
    assert key(model=turned) == key()


@pytest.mark.parametrize(
    "changed",
    [
        lambda: key(replace(PENDING, seed=6)),
        lambda: key(replace(PENDING, question=Question("q", ("One?Two?",)))),
        lambda: key(replace(PENDING, question=Question("q", ('One?", "Two?',)))),
        lambda: key(replace(PENDING, question=Question("q", ("Two?", "One?")))),
        lambda: key(sampling=Sampling(161, 0.7)),
        lambda: key(sampling=Sampling(160, 0.7, 0.9)),
        lambda: key(sampling=Sampling(160)),
        lambda: key(model=replace(MODEL, name="y")),
        lambda: key(model=replace(MODEL, model="n")),
        lambda: key(model=replace(MODEL, urls=("http://a",))),
        lambda: key(model=replace(MODEL, sha256="0" * 64)),
        lambda: key(model=replace(MODEL, draft="ngram")),
        lambda: request_key(PENDING, SAMPLING, model_revision(MODEL, "weights")),
    ],
)
def test_whatever_may_change_an_answer_changes_its_key(changed: Callable[[], bytes]) -> None:
    assert changed() != key()
