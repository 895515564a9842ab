"""Battles, side-by-side comparisons and chats, from the first prompt to the vote."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from uuid import UUID

from agon.arena.roster import Contestants
from agon.core.contestants import RosterEntry
from agon.core.conversation import (
    AnswerState,
    Conversation,
    Kind,
    Limits,
    Side,
    Turn,
    check_new_turn,
    check_regenerate,
)
from agon.core.errors import Busy, Conflict, InvalidInput, NotFound, Unavailable
from agon.core.events import Follower, Position, Sent, Settled
from agon.core.pairing import choose_pair
from agon.core.placement import AnswerRef, Job
from agon.core.ports import (
    AddTurn,
    AnswerLedger,
    Bus,
    CastVote,
    Change,
    ConversationLedger,
    ConversationSummary,
    Dispatch,
    NewConversation,
    NewTurn,
    Outcome,
    Regenerate,
    VoteLedger,
)
from agon.core.votes import Ballot, Winner
from agon.dispatch.costs import prefix_of, turn_cost

_BUSY_RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class Chance:
    """Where ids and random numbers come from."""

    uniform: Callable[[], float]
    """In [0, 1)."""
    new_id: Callable[[], UUID]

    def seed(self) -> int:
        return int(self.uniform() * 2**31)


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt as a person sends it."""

    person: UUID
    prompt: str
    idempotency_key: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Lineup:
    """Who answers on which side, and the chance that just they were drawn; `None` where the person chose."""

    contestants: Mapping[Side, str]
    propensity: float | None = None


class Arena:
    """Everything a person does, with the rules kept and the ledger written before anything is promised."""

    def __init__(
        self,
        *,
        conversations: ConversationLedger,
        answers: AnswerLedger,
        votes: VoteLedger,
        contestants: Contestants,
        bus: Bus,
        dispatch: Dispatch,
        limits: Limits,
        chance: Chance,
    ) -> None:
        self._conversations = conversations
        self._answers = answers
        self._votes = votes
        self._contestants = contestants
        self._bus = bus
        self._dispatch = dispatch
        self._limits = limits
        self._chance = chance

    async def start_battle(self, ask: Ask) -> Conversation:
        """Pair two contestants and put the prompt to both."""
        return await self._start(Kind.BATTLE, ask, self._draw)

    async def start_side_by_side(self, ask: Ask, a: str, b: str) -> Conversation:
        if a == b:
            raise InvalidInput("Choose two different models.", code="same_model", field="models.b")
        named = {Side.A: a, Side.B: b}

        async def choose() -> Lineup:
            for side, name in named.items():
                _check_room(await self._contestants.named(name, f"models.{side.value}"))
            return Lineup(named)

        return await self._start(Kind.SIDE_BY_SIDE, ask, choose, named=named)

    async def start_chat(self, ask: Ask, model: str | None, *, session: UUID | None = None) -> Conversation:
        """`model` may be left out: then the first one that is ready answers. `session` is the id to start it under."""

        async def choose() -> Lineup:
            entry = await self._first_ready() if model is None else await self._contestants.named(model, "model")
            _check_room(entry)
            return Lineup({Side.A: entry.contestant.name})

        return await self._start(Kind.CHAT, ask, choose, session=session)

    async def add_turn(self, conversation: UUID, ask: Ask) -> Conversation:
        turn = self._turn(ask)
        repeated = False

        async def decide(found: Conversation) -> Change:
            nonlocal repeated
            _check_owner(found, ask.person)
            repeated = _repeats(found, ask)
            if repeated:
                return None
            check_new_turn(found, self._limits)
            return AddTurn(turn)

        changed = await self._conversations.amend(conversation, decide)
        if not repeated:
            await self._dispatch_turn(changed, _refs(changed, changed.last_turn))
        return changed

    async def find(self, person: UUID, conversation: UUID) -> Conversation:
        found = await self._conversations.find(conversation)
        _check_owner(found, person)
        return found

    async def history(self, person: UUID, *, limit: int, before: UUID | None) -> Sequence[ConversationSummary]:
        return await self._conversations.history(person, limit=limit, before=before)

    async def follow(self, person: UUID, conversation: UUID, after: Position) -> AsyncGenerator[Sent | None]:
        """What the watcher is owed after a position, until the last turn is settled; `None` after a quiet second."""
        found = await self.find(person, conversation)
        follower = Follower(after)
        for sent in follower.see_ledger(found):
            yield sent
        if follower.finished(found):
            return
        async with aclosing(self._bus.watch(conversation)) as events:
            async for event in events:
                for sent in [] if event is None else follower.see(event):
                    yield sent
                if event is None or (follower.missing and isinstance(event, Settled)):
                    # Quiet, or something was lost: the ledger knows.
                    found = await self._conversations.find(conversation)
                    for sent in follower.see_ledger(found):
                        yield sent
                    yield None
                if follower.finished(found):
                    return

    async def stop(self, person: UUID, conversation: UUID) -> Conversation:
        """Stop what is being generated. A runner stops what it holds; what still waits in a queue is settled here."""
        found = await self.find(person, conversation)
        turn = found.last_turn
        pending = [ref for ref in _refs(found, turn) if turn.answers[ref.side].state is AnswerState.PENDING]
        await self._bus.stop(pending)
        for ref in pending:
            if await self._dispatch.seize(ref):
                outcome = Outcome(ref, turn.answers[ref.side].attempt, AnswerState.STOPPED, "", "stopped")
                settlement = await self._answers.settle(outcome)
                if settlement.written:
                    ended = Settled(ref.turn, ref.side, outcome.attempt, AnswerState.STOPPED, 0, "stopped")
                    await self._bus.append(conversation, ended)
                await self._dispatch.release([ref])
        return await self._conversations.find(conversation)

    async def regenerate(self, person: UUID, conversation: UUID, turn: int, side: Side) -> Conversation:
        async def decide(found: Conversation) -> Change:
            _check_owner(found, person)
            check_regenerate(found, turn, side)
            return Regenerate(turn, side)

        changed = await self._conversations.amend(conversation, decide)
        await self._dispatch_turn(changed, [ref for ref in _refs(changed, changed.last_turn) if ref.side is side])
        return changed

    async def vote(self, person: UUID, conversation: UUID, winner: Winner, key: str | None) -> CastVote:
        return await self._votes.cast(Ballot(conversation, person, winner, self._chance.new_id(), key))

    async def find_vote(self, receipt: UUID) -> CastVote:
        return await self._votes.find_vote(receipt)

    def _turn(self, ask: Ask) -> NewTurn:
        self._limits.check_prompt(ask.prompt)
        tokens = self._limits.tokens_for(ask.max_tokens)
        return NewTurn(ask.prompt, self._chance.seed(), tokens, ask.idempotency_key)

    async def _start(
        self,
        kind: Kind,
        ask: Ask,
        choose: Callable[[], Awaitable[Lineup]],
        *,
        named: Mapping[Side, str] | None = None,
        session: UUID | None = None,
    ) -> Conversation:
        """Start a conversation, or find the one that the same ask has started: then nobody needs to be ready."""
        turn = self._turn(ask)
        started = await self._earlier(ask)
        if started is None:
            lineup = await choose()
            new_id = session or self._chance.new_id()
            new = NewConversation(new_id, kind, ask.person, lineup.contestants, turn, lineup.propensity)
            started, fresh = await self._conversations.start(new)
            if fresh:
                await self._dispatch_turn(started, _refs(started, started.last_turn))
                return started
        _check_same_start(started, kind, ask, named)
        return started

    async def _earlier(self, ask: Ask) -> Conversation | None:
        if ask.idempotency_key is None:
            return None
        return await self._conversations.started_with(ask.person, ask.idempotency_key)

    async def _draw(self) -> Lineup:
        roster = await self._contestants.roster()
        weights = [(entry.contestant.name, entry.contestant.weight) for entry in roster.fighters]
        pairing = choose_pair(weights, self._chance.uniform(), self._chance.uniform())
        for entry in roster.fighters:
            if entry.contestant.name in (pairing.a, pairing.b):
                _check_room(entry)
        return Lineup({Side.A: pairing.a, Side.B: pairing.b}, pairing.propensity)

    async def _first_ready(self) -> RosterEntry:
        playable = (await self._contestants.roster()).playable
        if not playable:
            raise Unavailable("No model is ready.", code="no_model_ready")
        return playable[0]

    async def _dispatch_turn(self, conversation: Conversation, refs: Sequence[AnswerRef]) -> None:
        # The ledger has the turn already. If the bus is away, the runners find it there.
        with suppress(Unavailable):
            jobs = [_job(conversation, ref) for ref in refs]
            await self._dispatch.send(await self._dispatch.reserve(jobs))


def _check_same_start(started: Conversation, kind: Kind, ask: Ask, named: Mapping[Side, str] | None) -> None:
    same = (started.kind, started.turns[0].prompt) == (kind, ask.prompt)
    if not same or (named is not None and started.contestants != named):
        raise Conflict("This Idempotency-Key was used with another request.", code="idempotency_mismatch")


def _check_room(entry: RosterEntry) -> None:
    if entry.engine.crowded:
        raise Busy("The arena is busy; try again in a moment.", retry_after_s=_BUSY_RETRY_S)


def _check_owner(conversation: Conversation, person: UUID) -> None:
    if conversation.person != person:
        raise NotFound("There is no such conversation.", code="conversation_not_found")


def _repeats(conversation: Conversation, ask: Ask) -> bool:
    """Whether the ask is a turn that this conversation has already. Raises if its key was used for another prompt."""
    if ask.idempotency_key is None:
        return False
    for turn in conversation.turns:
        if turn.idempotency_key == ask.idempotency_key:
            if turn.prompt != ask.prompt:
                raise Conflict("This Idempotency-Key was used with another prompt.", code="idempotency_mismatch")
            return True
    return False


def _job(conversation: Conversation, ref: AnswerRef) -> Job:
    """The work of one side of the last turn, with what this side has said before."""
    *earlier, turn = conversation.turns
    history = [text for each in earlier for text in (each.prompt, each.answers[ref.side].text or "")]
    return Job(ref, turn_cost(turn.prompt, turn.max_tokens, history=history), prefix_of(ref))


def _refs(conversation: Conversation, turn: Turn) -> list[AnswerRef]:
    return [
        AnswerRef(conversation.id, turn.number, side, contestant)
        for side, contestant in conversation.contestants.items()
    ]
