"""The contract of `ConversationLedger`."""

import asyncio
from uuid import UUID, uuid4

import pytest
from tests.contract.ledger import SIDES, STRANGER, Ledger, add_turn, ballot, new, ref

from agon.core.conversation import AnswerState, Conversation, ConversationState, Kind, Side
from agon.core.errors import Busy, Conflict, NotFound
from agon.core.ports import Change, NewConversation, NewTurn, Outcome, Regenerate
from agon.core.votes import Winner


@pytest.mark.parametrize("kind", list(Kind))
async def test_what_was_started_is_found_as_it_was(ledger: Ledger, kind: Kind) -> None:
    started, fresh = await ledger.conversations.start(new(kind, prompt="光 and 👩‍🚀?"))
    assert fresh
    assert started == await ledger.conversations.find(started.id)
    assert started.kind is kind
    assert started.state is ConversationState.STREAMING
    assert (started.last_turn.prompt, started.last_turn.seed, started.last_turn.max_tokens) == ("光 and 👩‍🚀?", 7, 100)
    assert {side: answer.state for side, answer in started.last_turn.answers.items()} == dict.fromkeys(
        started.contestants, AnswerState.PENDING
    )


async def test_a_repeated_key_starts_nothing_new(ledger: Ledger) -> None:
    person = uuid4()
    results = await asyncio.gather(*(ledger.conversations.start(new(person=person, key="k")) for _ in range(20)))
    assert len({started.id for started, _ in results}) == 1
    assert await ledger.conversations.started_with(person, "k") == results[0][0]
    assert await ledger.conversations.started_with(person, "another") is None
    assert await ledger.conversations.started_with(STRANGER, "k") is None
    assert sum(fresh for _, fresh in results) == 1
    assert len(await ledger.conversations.history(person, limit=100, before=None)) == 1


async def test_what_is_not_admitted_is_not_written(ledger: Ledger) -> None:
    async def refuse() -> None:
        raise Busy("Full.", retry_after_s=1)

    refused = new(key="k")
    with pytest.raises(Busy):
        await ledger.conversations.start(refused, admit=refuse)
    with pytest.raises(NotFound):
        await ledger.conversations.find(refused.id)
    started, fresh = await ledger.conversations.start(new(person=refused.person, key="k"))
    assert fresh
    repeated, fresh = await ledger.conversations.start(new(person=refused.person, key="k"), admit=refuse)
    assert (repeated.id, fresh) == (started.id, False)


async def test_of_one_id_only_one_is_admitted(ledger: Ledger) -> None:
    admitted = 0

    async def admit() -> None:
        nonlocal admitted
        admitted += 1
        await asyncio.sleep(0.01)

    same = new()
    results = await asyncio.gather(
        *(ledger.conversations.start(same, admit=admit) for _ in range(5)), return_exceptions=True
    )
    assert admitted == 1
    assert sum(isinstance(result, Conflict) for result in results) == 4


async def test_a_key_is_its_persons_own(ledger: Ledger) -> None:
    mine, _ = await ledger.conversations.start(new(key="k"))
    theirs, fresh = await ledger.conversations.start(new(key="k", person=STRANGER))
    assert fresh
    assert mine.id != theirs.id


async def test_what_is_not_there_is_not_found(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        await ledger.conversations.find(uuid4())
    with pytest.raises(NotFound):
        await ledger.conversations.amend(uuid4(), add_turn)


async def test_a_contestant_that_is_not_there_cannot_play(ledger: Ledger) -> None:
    stranger = NewConversation(uuid4(), Kind.CHAT, uuid4(), {Side.A: "nobody"}, NewTurn("Hi", 1, 10))
    with pytest.raises(Conflict) as refused:
        await ledger.conversations.start(stranger)
    assert refused.value.code == "missing_reference"
    with pytest.raises(NotFound):
        await ledger.conversations.find(stranger.id)


async def test_a_turn_is_added_for_the_same_contestants(ledger: Ledger) -> None:
    answered = await ledger.answered()
    changed = await ledger.conversations.amend(answered.id, add_turn)
    assert [turn.number for turn in changed.turns] == [1, 2]
    assert changed.contestants == SIDES
    assert changed.state is ConversationState.STREAMING
    assert changed.turns[0] == answered.turns[0]


async def test_a_refusal_changes_nothing(ledger: Ledger) -> None:
    started = await ledger.begin()
    with pytest.raises(Conflict):
        await ledger.conversations.amend(started.id, add_turn)
    assert await ledger.conversations.find(started.id) == started


async def test_a_decision_to_change_nothing_changes_nothing(ledger: Ledger) -> None:
    started = await ledger.begin()

    async def decide(_: Conversation) -> Change:
        return None

    assert await ledger.conversations.amend(started.id, decide) == started


async def test_changes_to_one_conversation_come_one_after_the_other(ledger: Ledger) -> None:
    answered = await ledger.answered()
    results = await asyncio.gather(
        *(ledger.conversations.amend(answered.id, add_turn) for _ in range(20)), return_exceptions=True
    )
    assert sum(isinstance(result, Conversation) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 19
    assert len((await ledger.conversations.find(answered.id)).turns) == 2


async def test_an_answer_to_be_generated_again_is_pending_as_a_new_attempt(ledger: Ledger) -> None:
    started = await ledger.begin()
    where = ref(started, Side.B)
    await ledger.answers.settle(Outcome(where, 1, AnswerState.STOPPED, "Be", "stopped"))

    async def decide(_: Conversation) -> Change:
        return Regenerate(1, Side.B)

    answer = (await ledger.conversations.amend(started.id, decide)).last_turn.answers[Side.B]
    assert (answer.state, answer.attempt, answer.text, answer.finish_reason) == (AnswerState.PENDING, 2, None, None)


async def test_history_is_ones_own_newest_first_page_by_page(ledger: Ledger) -> None:
    person = uuid4()
    mine = [(await ledger.begin(person=person, prompt=f"Question {number}")).id for number in range(5)]
    await ledger.begin(person=STRANGER)
    pages: list[UUID] = []
    before = None
    while page := await ledger.conversations.history(person, limit=2, before=before):
        pages += [summary.id for summary in page]
        before = page[-1].id
    assert pages == mine[::-1]


async def test_history_before_somebody_elses_conversation_shows_nothing(ledger: Ledger) -> None:
    theirs = await ledger.begin(person=STRANGER)
    mine = await ledger.begin()
    assert await ledger.conversations.history(mine.person, limit=10, before=theirs.id) == []


async def test_history_keeps_a_battles_names_until_the_vote(ledger: Ledger) -> None:
    battle = await ledger.answered()
    comparison = await ledger.begin(Kind.SIDE_BY_SIDE, person=battle.person)
    shown = {one.id: one for one in await ledger.conversations.history(battle.person, limit=10, before=None)}
    assert shown[battle.id].contestants is None
    assert shown[battle.id].winner is None
    assert shown[comparison.id].contestants == SIDES
    await ledger.votes.cast(ballot(battle, Winner.TIE))
    voted = (await ledger.conversations.history(battle.person, limit=10, before=comparison.id))[0]
    assert (voted.contestants, voted.winner) == (SIDES, Winner.TIE)
