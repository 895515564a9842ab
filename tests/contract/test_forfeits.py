"""The contract of forfeits: what they make of a battle, and how they are counted and read."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.contract.ledger import Ledger, add_turn, ballot, done, failed, forfeited, ref

from agon.core.board_ports import RankedVote
from agon.core.conversation import AnswerState, Conversation, ConversationState, Kind, Side, check_regenerate
from agon.core.errors import AgonError, Conflict
from agon.core.ports import CastVote, Change, Outcome, Regenerate
from agon.core.traits import Style, Traits
from agon.core.votes import Winner
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.database import Database

NO_STYLE = Style(0, 0, 0, 0)


async def refusal(work: object) -> str:
    with pytest.raises(AgonError) as refused:
        await work  # pyright: ignore[reportGeneralTypeIssues]
    return refused.value.code


async def fought(ledger: Ledger, first: Outcome, *rest: Outcome) -> Conversation:
    """The battle after these ends, one after the other."""
    for outcome in (first, *rest):
        assert (await ledger.answers.settle(outcome)).written
    return await ledger.conversations.find(first.ref.conversation)


class Follower:
    """Reads votes and forfeits as a worker does."""

    def __init__(self, ledger: Ledger, cursor: str | None = None) -> None:
        self._source = ledger.source
        self._cursor = cursor
        self.seen: list[RankedVote] = []

    @classmethod
    async def from_now(cls, ledger: Ledger) -> "Follower":
        follower = cls(ledger)
        await follower.read()
        follower.seen.clear()
        return follower

    async def read(self) -> Sequence[RankedVote]:
        while True:
            page = await self._source.votes_after(self._cursor)
            self._cursor = page.cursor
            self.seen += page.votes
            if not page.more:
                return self.seen


async def test_a_side_that_runs_out_of_time_loses_its_battle(ledger: Ledger) -> None:
    follower = await Follower.from_now(ledger)
    started = await ledger.begin()
    await ledger.answers.settle(forfeited(ref(started, Side.A), "Becau"))
    lost = await ledger.conversations.find(started.id)
    assert (lost.state, lost.forfeited_by, lost.void_reason) == (ConversationState.STREAMING, Side.A, None)
    assert not lost.named
    assert await follower.read() == [], "the other side may still make it void"

    over = await fought(ledger, done(ref(started, Side.B)))
    assert (over.state, over.forfeited_by) == (ConversationState.FORFEITED, Side.A)
    assert over.last_turn.answers[Side.A].state is AnswerState.FORFEITED
    assert over.last_turn.answers[Side.A].text == "Becau"
    assert over.last_turn.answers[Side.B].text == "Because."
    assert not over.named
    [counted] = await follower.read()
    assert (counted.winner, counted.forfeit) == (Winner.B, True)
    assert (counted.contestant_a, counted.contestant_b) == ("north", "south")
    assert (await ledger.conversations.history(over.person, limit=1, before=None))[0].forfeited


async def test_it_does_not_matter_which_side_ends_first(ledger: Ledger) -> None:
    follower = await Follower.from_now(ledger)
    started = await ledger.begin()
    over = await fought(ledger, done(ref(started, Side.A)), forfeited(ref(started, Side.B)))
    assert (over.state, over.forfeited_by) == (ConversationState.FORFEITED, Side.B)
    assert [(vote.winner, vote.forfeit) for vote in await follower.read()] == [(Winner.A, True)]


async def test_two_forfeits_make_a_battle_void(ledger: Ledger) -> None:
    follower = await Follower.from_now(ledger)
    one_by_one, at_once = await ledger.begin(), await ledger.begin()
    first = await ledger.answers.settle(forfeited(ref(one_by_one, Side.A)))
    second = await ledger.answers.settle(forfeited(ref(one_by_one, Side.B)))
    assert first.void_reason is None
    assert second.void_reason is not None
    both = await asyncio.gather(*(ledger.answers.settle(forfeited(ref(at_once, side))) for side in Side))
    assert second.void_reason in {settlement.void_reason for settlement in both}
    for battle in (one_by_one, at_once):
        found = await ledger.conversations.find(battle.id)
        assert (found.state, found.forfeited_by) == (ConversationState.VOID, None)
        assert found.void_reason == second.void_reason
    assert await follower.read() == []


@pytest.mark.parametrize("order", [(Side.A, Side.B), (Side.B, Side.A)])
async def test_a_void_battle_is_no_forfeit(ledger: Ledger, order: tuple[Side, Side]) -> None:
    follower = await Follower.from_now(ledger)
    started = await ledger.begin()
    ends = {Side.A: forfeited(ref(started, Side.A)), Side.B: failed(ref(started, Side.B))}
    found = await fought(ledger, *(ends[side] for side in order))
    assert (found.state, found.forfeited_by) == (ConversationState.VOID, None)
    assert found.void_reason is not None
    assert "Model B" in found.void_reason
    assert await follower.read() == []


async def test_a_stopped_side_has_not_lost(ledger: Ledger) -> None:
    """Whoever stops the other side has seen enough; the forfeit stands."""
    follower = await Follower.from_now(ledger)
    started = await ledger.begin()
    stopped = Outcome(ref(started, Side.B), 1, AnswerState.STOPPED, "", "stopped")
    over = await fought(ledger, forfeited(ref(started, Side.A)), stopped)
    assert over.state is ConversationState.FORFEITED
    assert [vote.winner for vote in await follower.read()] == [Winner.B]


async def test_a_forfeited_battle_has_no_vote_and_does_not_go_on(ledger: Ledger) -> None:
    started = await ledger.begin()
    await ledger.answers.settle(forfeited(ref(started, Side.A)))
    assert await refusal(ledger.votes.cast(ballot(started))) == "battle_forfeited"
    await ledger.answers.settle(Outcome(ref(started, Side.B), 1, AnswerState.STOPPED, "", "stopped"))
    assert await refusal(ledger.votes.cast(ballot(started))) == "battle_forfeited"
    assert await refusal(ledger.conversations.amend(started.id, add_turn)) == "battle_forfeited"

    async def again(conversation: Conversation) -> Change:
        check_regenerate(conversation, 1, Side.B)
        return Regenerate(1, Side.B)

    assert await refusal(ledger.conversations.amend(started.id, again)) == "battle_forfeited"


async def test_a_later_turn_is_lost_like_the_first(ledger: Ledger) -> None:
    follower = await Follower.from_now(ledger)
    changed = await ledger.conversations.amend((await ledger.answered()).id, add_turn)
    over = await fought(ledger, done(ref(changed, Side.A, turn=2)), forfeited(ref(changed, Side.B, turn=2)))
    assert over.state is ConversationState.FORFEITED
    assert [vote.winner for vote in await follower.read()] == [Winner.A]


@pytest.mark.parametrize("kind", [Kind.CHAT, Kind.SIDE_BY_SIDE])
async def test_nothing_but_battles_is_lost(ledger: Ledger, kind: Kind) -> None:
    follower = await Follower.from_now(ledger)
    started = await ledger.begin(kind)
    ends = [forfeited(ref(started, Side.A)), *(done(ref(started, side)) for side in list(started.contestants)[1:])]
    found = await fought(ledger, *ends)
    assert found.last_turn.answers[Side.A].state is AnswerState.FAILED
    assert (found.state, found.forfeited_by, found.void_reason) == (ConversationState.READY, None, None)
    assert await follower.read() == []


async def test_an_answer_that_is_over_is_not_forfeited(ledger: Ledger) -> None:
    answered = await ledger.answered()
    assert not (await ledger.answers.settle(forfeited(ref(answered, Side.A)))).written
    assert (await ledger.conversations.find(answered.id)).forfeited_by is None
    assert (await ledger.votes.cast(ballot(answered))).vote.winner is Winner.A


async def test_what_is_settled_twice_is_counted_once(ledger: Ledger) -> None:
    """A connection that breaks in the commit leaves open whether it went through, so the batch is sent again."""
    follower = await Follower.from_now(ledger)
    started = await ledger.begin()
    ends = [forfeited(ref(started, Side.A)), done(ref(started, Side.B))]
    written = [(await ledger.answers.settle(end)).written for end in (*ends, *ends)]
    assert written == [True, True, False, False]
    assert len(await follower.read()) == 1


async def test_texts_of_forfeited_battles_are_told_and_kept(ledger: Ledger) -> None:
    follower = await Follower.from_now(ledger)
    started = await ledger.begin(prompt="Who is late?")
    await fought(ledger, forfeited(ref(started, Side.B), "I"), done(ref(started, Side.A), "Not me."))
    voted = await ledger.voted()
    forfeit, vote = await follower.read()
    assert (forfeit.forfeit, vote.forfeit, vote.created_at) == (True, False, voted.vote.created_at)
    assert forfeit.id != vote.id
    turns = await ledger.source.dialogues([forfeit.id, vote.id])
    assert [(turn.prompt, dict(turn.answers)) for turn in turns[forfeit.id]] == [
        ("Who is late?", {Side.A: "Not me.", Side.B: "I"})
    ]
    assert len(turns[vote.id]) == 1
    traits = Traits(frozenset(), NO_STYLE, NO_STYLE)
    await ledger.source.keep_traits({forfeit.id: traits})
    again = {one.id: one.traits for one in await Follower(ledger).read()}
    assert (again[forfeit.id], again[vote.id]) == (traits, None)


async def test_sides_that_end_at_once_decide_each_battle_once(ledger: Ledger, database: Database) -> None:
    """Two runners, each with one side of every battle, their batches in different orders; a reader all the while."""
    follower = await Follower.from_now(ledger)
    runners = [PostgresAnswers(database), PostgresAnswers(database)]
    battles = [await ledger.begin() for _ in range(120)]
    reading = asyncio.Event()

    async def read_on() -> None:
        while not reading.is_set():
            await follower.read()
            await asyncio.sleep(0.001)

    def end(battle: Conversation, side: Side, place: int) -> Outcome:
        kinds = {Side.A: (forfeited, done, failed, forfeited), Side.B: (done, forfeited, forfeited, forfeited)}
        return kinds[side][place % 4](ref(battle, side))

    reader = asyncio.create_task(read_on())
    jobs = [(place, battle) for place, battle in enumerate(battles)]
    settled = await asyncio.gather(
        *(runners[0].settle(end(battle, Side.A, place)) for place, battle in jobs),
        *(runners[1].settle(end(battle, Side.B, place)) for place, battle in reversed(jobs)),
        *(runners[1].settle(end(battle, Side.A, place)) for place, battle in reversed(jobs)),
    )
    reading.set()
    await reader
    for runner in runners:
        await runner.close()
    assert sum(one.written for one in settled) == 2 * len(battles)
    found = [await ledger.conversations.find(battle.id) for battle in battles]
    won = {0: Winner.B, 1: Winner.A}
    for place, battle in enumerate(found):
        expected = ConversationState.FORFEITED if place % 4 in won else ConversationState.VOID
        assert battle.state is expected, place
    seen = await follower.read()
    assert sorted(vote.winner for vote in seen) == sorted(won[place % 4] for place in range(120) if place % 4 in won)
    assert len({vote.id for vote in seen}) == len(seen)


async def test_a_forfeit_and_a_further_turn_never_both_win(ledger: Ledger) -> None:
    """Somebody stops side b and has it generated again just when side a runs out of time."""
    battles = [await ledger.begin() for _ in range(30)]
    for battle in battles:
        await ledger.answers.settle(Outcome(ref(battle, Side.B), 1, AnswerState.STOPPED, "", "stopped"))

    async def again(conversation: Conversation) -> Change:
        check_regenerate(conversation, 1, Side.B)
        return Regenerate(1, Side.B)

    results = await asyncio.gather(
        *(ledger.conversations.amend(battle.id, again) for battle in battles),
        *(ledger.answers.settle(forfeited(ref(battle, Side.A))) for battle in battles),
        return_exceptions=True,
    )
    for battle, amended in zip(battles, results, strict=False):
        found = await ledger.conversations.find(battle.id)
        assert found.forfeited_by is Side.A
        if isinstance(amended, Conflict):
            assert amended.code == "battle_forfeited"
            assert found.state is ConversationState.FORFEITED
        else:
            assert found.state is ConversationState.STREAMING, repr(amended)


async def test_votes_and_forfeits_are_read_without_gaps(
    ledger: Ledger, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pages of three, one transaction staying open in the middle, and again from the start."""
    monkeypatch.setattr("agon.stores.postgres.votes._PAGE", 3)
    follower = await Follower.from_now(ledger)
    late = await ledger.begin()
    await ledger.answers.settle(forfeited(ref(late, Side.A)))
    expected: list[tuple[Winner, bool]] = []
    async with database.transaction() as connection:
        await connection.execute(
            "insert into forfeits (conversation, winner, contestant_a, contestant_b) "
            "values ($1, 'b', 'north', 'south')",
            late.id,
        )
        for number in range(10):
            if number % 3:
                assert isinstance(await ledger.voted(Winner.TIE), CastVote)
                expected.append((Winner.TIE, False))
            else:
                started = await ledger.begin()
                await fought(ledger, done(ref(started, Side.A)), forfeited(ref(started, Side.B)))
                expected.append((Winner.A, True))
            await follower.read()
        assert all(vote.winner is not Winner.B for vote in follower.seen)
    seen = await follower.read()
    assert sorted((vote.winner, vote.forfeit) for vote in seen) == sorted([*expected, (Winner.B, True)])
    ids = {vote.id for vote in seen}
    anew = [vote for vote in await Follower(ledger).read() if vote.id in ids]
    assert len(anew) == len(ids) == 11
