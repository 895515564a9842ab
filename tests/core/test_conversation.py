"""States of a conversation and the moves that each allows."""

from dataclasses import replace

import pytest
from tests.core.builders import answer, battle, turn, voided, voted

from agon.core.conversation import (
    AnswerState,
    Conversation,
    ConversationState,
    Fate,
    Kind,
    Limits,
    Side,
    check_new_turn,
    check_regenerate,
)
from agon.core.errors import AgonError, Conflict, InvalidInput, LimitExceeded

LIMITS = Limits(prompt_chars=10, turns=3, answer_tokens=50)

STREAMING = battle(turn(1, answer(Side.A), answer(Side.B, AnswerState.PENDING)))
STOPPED = battle(turn(1, answer(Side.A), answer(Side.B, AnswerState.STOPPED)))
FAILED = battle(turn(1, answer(Side.A), answer(Side.B, AnswerState.FAILED)))
FORFEITED = replace(battle(turn(1, answer(Side.A), answer(Side.B, AnswerState.FORFEITED))), forfeited_by=Side.B)
LOSING = replace(
    battle(turn(1, answer(Side.A, AnswerState.PENDING), answer(Side.B, AnswerState.FORFEITED))), forfeited_by=Side.B
)
FULL = battle(turn(1), turn(2), turn(3))


@pytest.mark.parametrize(
    ("conversation", "state"),
    [
        (STREAMING, ConversationState.STREAMING),
        (battle(), ConversationState.READY),
        (STOPPED, ConversationState.READY),
        (voided(battle()), ConversationState.VOID),
        (voided(STREAMING), ConversationState.VOID),
        (voted(battle()), ConversationState.VOTED),
        (FORFEITED, ConversationState.FORFEITED),
        (LOSING, ConversationState.STREAMING),
    ],
)
def test_the_state_follows_from_the_facts(conversation: Conversation, state: ConversationState) -> None:
    assert conversation.state is state


@pytest.mark.parametrize(
    ("conversation", "code"),
    [
        (voted(battle()), "battle_voted"),
        (voided(battle()), "battle_void"),
        (FORFEITED, "battle_forfeited"),
        (LOSING, "battle_forfeited"),
        (STREAMING, "turn_in_progress"),
        (STOPPED, "answers_incomplete"),
        (FAILED, "answers_incomplete"),
        (FULL, "too_many_turns"),
    ],
)
def test_a_further_turn_is_refused_with_the_reason(conversation: Conversation, code: str) -> None:
    with pytest.raises(AgonError) as refused:
        check_new_turn(conversation, LIMITS)
    assert refused.value.code == code


@pytest.mark.parametrize("conversation", [battle(), battle(turn(1), turn(2))])
def test_a_further_turn_is_allowed_once_every_answer_is_done(conversation: Conversation) -> None:
    check_new_turn(conversation, LIMITS)


@pytest.mark.parametrize(
    ("conversation", "number", "side", "code"),
    [
        (voted(STOPPED), 1, Side.B, "battle_voted"),
        (voided(FAILED), 1, Side.B, "battle_void"),
        (FORFEITED, 1, Side.B, "battle_forfeited"),
        (STOPPED, 2, Side.B, "not_last_turn"),
        (STOPPED, 1, Side.A, "answer_not_failed"),
        (STREAMING, 1, Side.B, "answer_not_failed"),
        (battle(turn(1, answer(Side.A, AnswerState.STOPPED))), 1, Side.B, "invalid_input"),
    ],
)
def test_generating_again_is_refused_with_the_reason(
    conversation: Conversation, number: int, side: Side, code: str
) -> None:
    with pytest.raises(AgonError) as refused:
        check_regenerate(conversation, number, side)
    assert refused.value.code == code


@pytest.mark.parametrize("conversation", [STOPPED, FAILED])
def test_a_stopped_or_failed_answer_may_be_generated_again(conversation: Conversation) -> None:
    check_regenerate(conversation, 1, Side.B)


def test_names_are_known_after_the_vote_or_where_the_person_chose_them() -> None:
    assert not battle().named
    assert not voided(battle()).named
    assert not FORFEITED.named
    assert voted(battle()).named
    assert replace(battle(), kind=Kind.SIDE_BY_SIDE).named
    assert replace(battle(), kind=Kind.CHAT).named


END = {"done": AnswerState.DONE, "stop": AnswerState.STOPPED, "fail": AnswerState.FAILED, "late": AnswerState.FORFEITED}


@pytest.mark.parametrize(
    ("a", "b", "void", "loser"),
    [
        ("done", "done", None, None),
        ("done", "stop", None, None),
        ("late", "done", None, Side.A),
        ("late", "stop", None, Side.A),
        ("done", "late", None, Side.B),
        ("fail", "done", "Model A", None),
        ("late", "fail", "Model B", None),
        ("fail", "late", "Model A", None),
        ("late", "late", "Neither model", None),
    ],
)
def test_what_becomes_of_a_battle_does_not_depend_on_who_ends_first(
    a: str, b: str, void: str | None, loser: Side | None
) -> None:
    for fate in (
        Fate().after(Side.A, END[a]).after(Side.B, END[b]),
        Fate().after(Side.B, END[b]).after(Side.A, END[a]),
    ):
        assert fate.forfeited_by is loser
        assert (fate.void_reason or "").startswith(void or "")
        assert (fate.void_reason is None) == (void is None)


def test_void_is_for_ever() -> None:
    void = Fate().after(Side.A, AnswerState.FAILED)
    assert void.after(Side.B, AnswerState.FAILED) == void.after(Side.B, AnswerState.FORFEITED) == void


@pytest.mark.parametrize(
    ("prompt", "kind", "code"),
    [
        ("", InvalidInput, "empty_prompt"),
        (" \n\t", InvalidInput, "empty_prompt"),
        ("a\x00b", InvalidInput, "invalid_input"),
        ("a\ud83db", InvalidInput, "invalid_input"),
        ("x" * 11, LimitExceeded, "limit_exceeded"),
    ],
)
def test_a_bad_prompt_is_refused_by_name(prompt: str, kind: type[AgonError], code: str) -> None:
    with pytest.raises(kind) as refused:
        LIMITS.check_prompt(prompt)
    assert (refused.value.code, refused.value.field) == (code, "prompt")


@pytest.mark.parametrize("prompt", ["x", "光" * 10, "👩‍🚀" * 3])
def test_a_prompt_counts_in_code_points(prompt: str) -> None:
    LIMITS.check_prompt(prompt)


@pytest.mark.parametrize(("requested", "granted"), [(None, 50), (1, 1), (50, 50)])
def test_the_answer_budget_is_what_was_asked_or_the_limit(requested: int | None, granted: int) -> None:
    assert LIMITS.tokens_for(requested) == granted


@pytest.mark.parametrize("requested", [0, -1, 51])
def test_an_answer_budget_out_of_bounds_is_refused(requested: int) -> None:
    with pytest.raises(LimitExceeded) as refused:
        LIMITS.tokens_for(requested)
    assert refused.value.field == "max_tokens"


def test_a_conflict_is_what_a_wrong_moment_raises() -> None:
    with pytest.raises(Conflict):
        check_new_turn(STREAMING, LIMITS)
