"""Battles, side-by-side comparisons and chats, from the first prompt to the vote."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from uuid import UUID

from agon.arena.asks import Ask, Asked, Lineup, check_owner, check_same_start, first_job, later_job, refs, turn_of
from agon.arena.executor import Executor, Reservation
from agon.arena.roster import Contestants
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
from agon.core.errors import Busy, InvalidInput, Unavailable
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
    NewConversation,
    NewTurn,
    Outcome,
    Regenerate,
    TurnRef,
    VoteLedger,
)
from agon.core.roster import RosterEntry
from agon.core.votes import Ballot, Winner


@dataclass(frozen=True, slots=True)
class Chance:
    """Where ids and random numbers come from."""

    uniform: Callable[[], float]
    """In [0, 1)."""
    new_id: Callable[[], UUID]

    def seed(self) -> int:
        return int(self.uniform() * 2**31)


@dataclass(frozen=True, slots=True)
class Ledgers:
    """The parts of the ledger that conversations need."""

    conversations: ConversationLedger
    answers: AnswerLedger
    votes: VoteLedger


class Arena:
    """Everything a person does, with the rules kept and the ledger written before anything is promised.

    A turn is reserved on its replicas before the ledger has it, so that one who is refused leaves no trace, and it is
    sent to them after.
    """

    def __init__(
        self,
        ledgers: Ledgers,
        *,
        contestants: Contestants,
        executor: Executor,
        bus: Bus,
        limits: Limits,
        chance: Chance,
    ) -> None:
        self._conversations = ledgers.conversations
        self._answers = ledgers.answers
        self._votes = ledgers.votes
        self._contestants = contestants
        self._executor = executor
        self._bus = bus
        self._limits = limits
        self._chance = chance

    async def start_battle(self, ask: Ask) -> Asked:
        """Pair two contestants and put the prompt to both."""
        return await self._start(Kind.BATTLE, ask, self._draw)

    async def start_side_by_side(self, ask: Ask, a: str, b: str) -> Asked:
        if a == b:
            raise InvalidInput("Choose two different models.", code="same_model", field="models.b")
        named = {Side.A: a, Side.B: b}

        async def choose() -> Lineup:
            for side, name in named.items():
                await self._contestants.named(name, f"models.{side.value}")
            return Lineup(named)

        return await self._start(Kind.SIDE_BY_SIDE, ask, choose, named=named)

    async def start_chat(self, ask: Ask, model: str | None, *, session: UUID | None = None) -> Asked:
        """`model` may be left out: then the first one that is ready answers. `session` is the id to start it under."""

        async def choose() -> Lineup:
            entry = await self._first_ready() if model is None else await self._contestants.named(model, "model")
            return Lineup({Side.A: entry.contestant.name})

        return await self._start(Kind.CHAT, ask, choose, session=session)

    async def add_turn(self, conversation: UUID, ask: Ask) -> Asked:
        self._limits.check_prompt(ask.prompt)
        tokens = self._limits.tokens_for(ask.max_tokens)
        async with self._executor.reservation() as reservation:

            async def decide(found: Conversation) -> Change:
                check_owner(found, ask.person)
                if turn_of(found, ask) is not None:
                    return None
                check_new_turn(found, self._limits)
                number = found.last_turn.number + 1
                jobs = [later_job(found, number, side, ask.prompt, tokens) for side in found.contestants]
                # While the conversation is locked nobody else can reserve this turn.
                await _reserve(reservation, found.kind, jobs, ask.person)
                # The ledger has every earlier answer, whole, and nobody writes a later one yet.
                await self._bus.clear(conversation)
                return AddTurn(await self._new_turn(conversation, number, ask, tokens))

            changed = await self._conversations.amend(conversation, decide)
            fresh = await reservation.send()
        return Asked(changed, turn_of(changed, ask) or changed.last_turn, fresh)

    async def find(self, person: UUID, conversation: UUID) -> Conversation:
        found = await self._conversations.find(conversation)
        check_owner(found, person)
        return found

    async def history(self, person: UUID, *, limit: int, before: UUID | None) -> Sequence[ConversationSummary]:
        return await self._conversations.history(person, limit=limit, before=before)

    async def follow(
        self, person: UUID, conversation: UUID, after: Position, *, until: int | None = None
    ) -> AsyncGenerator[Sent | None]:
        """What the watcher is owed after a position, until the last turn is settled; `None` after a quiet second.

        With `until` it ends with the turn of that number, whatever comes after it.
        """
        found = _up_to(await self.find(person, conversation), until)
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
                    found = _up_to(await self._conversations.find(conversation), until)
                    for sent in follower.see_ledger(found):
                        yield sent
                    yield None
                if follower.finished(found):
                    return

    async def said(self, ref: AnswerRef) -> str:
        """What of a pending answer has been sent so far, as far as the bus still has it."""
        with suppress(Unavailable):
            return (await self._bus.said(ref)).text
        return ""

    async def stop(self, person: UUID, conversation: UUID) -> Conversation:
        """Stop what is being generated. A runner stops what it holds; what nobody holds is settled here."""
        await self._stop(await self.find(person, conversation))
        return await self._conversations.find(conversation)

    async def abandon(self, turn: TurnRef) -> None:
        """Stop a turn that nobody watches any more, unless the conversation has gone on."""
        found = await self._conversations.find(turn.conversation)
        if found.last_turn.number == turn.number:
            await self._stop(found)

    async def regenerate(self, person: UUID, conversation: UUID, turn: int, side: Side) -> Asked:
        async with self._executor.reservation() as reservation:

            async def decide(found: Conversation) -> Change:
                check_owner(found, person)
                check_regenerate(found, turn, side)
                asked = found.last_turn
                job = later_job(found, turn, side, asked.prompt, asked.max_tokens)
                await _reserve(reservation, found.kind, [job], person)
                return Regenerate(turn, side)

            changed = await self._conversations.amend(conversation, decide)
            await reservation.send()
        return Asked(changed, changed.last_turn, fresh=True)

    async def vote(self, person: UUID, conversation: UUID, winner: Winner, key: str | None) -> CastVote:
        return await self._votes.cast(Ballot(conversation, person, winner, self._chance.new_id(), key))

    async def find_vote(self, receipt: UUID) -> CastVote:
        return await self._votes.find_vote(receipt)

    async def _start(
        self,
        kind: Kind,
        ask: Ask,
        choose: Callable[[], Awaitable[Lineup]],
        *,
        named: Mapping[Side, str] | None = None,
        session: UUID | None = None,
    ) -> Asked:
        """Start a conversation, or find the one that the same ask has started: then nobody needs to be ready."""
        self._limits.check_prompt(ask.prompt)
        tokens = self._limits.tokens_for(ask.max_tokens)
        started, fresh = await self._earlier(ask), False
        if started is None:
            started, fresh = await self._begin(kind, ask, tokens, await choose(), session)
        if not fresh:
            check_same_start(started, kind, ask, named)
        return Asked(started, started.turns[0], fresh)

    async def _begin(
        self, kind: Kind, ask: Ask, tokens: int, lineup: Lineup, session: UUID | None
    ) -> tuple[Conversation, bool]:
        new_id = session or self._chance.new_id()
        sides = [AnswerRef(new_id, 1, side, name) for side, name in lineup.contestants.items()]
        jobs = [first_job(ref, ask.prompt, tokens) for ref in sides]
        async with self._executor.reservation() as reservation:

            async def admit() -> None:
                await _reserve(reservation, kind, jobs, ask.person)

            # Nobody else knows an id that was just made, so a refusal need not cost the ledger anything.
            if session is None:
                await admit()
            turn = await self._new_turn(new_id, 1, ask, tokens)
            new = NewConversation(new_id, kind, ask.person, lineup.contestants, turn, lineup.propensity)
            started, fresh = await self._conversations.start(new, admit=None if session is None else admit)
            if fresh:
                await reservation.send()
        return started, fresh

    async def _new_turn(self, conversation: UUID, number: int, ask: Ask, tokens: int) -> NewTurn:
        seed = await self._executor.dispatch.seed(conversation, number, self._chance.seed())
        return NewTurn(ask.prompt, seed, tokens, ask.idempotency_key)

    async def _earlier(self, ask: Ask) -> Conversation | None:
        if ask.idempotency_key is None:
            return None
        return await self._conversations.started_with(ask.person, ask.idempotency_key)

    async def _draw(self) -> Lineup:
        # By weight alone: one that is drawn and has no room refuses the battle, or load would choose who fights.
        roster = await self._contestants.roster()
        weights = [(entry.contestant.name, entry.contestant.weight) for entry in roster.fighters]
        pairing = choose_pair(weights, self._chance.uniform(), self._chance.uniform())
        return Lineup({Side.A: pairing.a, Side.B: pairing.b}, pairing.propensity)

    async def _first_ready(self) -> RosterEntry:
        playable = (await self._contestants.roster()).playable
        if not playable:
            raise Unavailable("No model is ready.", code="no_model_ready")
        return playable[0]

    async def _stop(self, found: Conversation) -> None:
        turn = found.last_turn
        pending = [ref for ref in refs(found, turn) if turn.answers[ref.side].state is AnswerState.PENDING]
        await self._bus.stop(pending)
        for ref in pending:
            if await self._executor.dispatch.seize(ref):
                await self._settle_stopped(ref, turn)

    async def _settle_stopped(self, ref: AnswerRef, turn: Turn) -> None:
        try:
            text = await self.said(ref)
            outcome = Outcome(ref, turn.answers[ref.side].attempt, AnswerState.STOPPED, text, "stopped")
            settlement = await self._answers.settle(outcome)
            if settlement.written:
                ended = Settled(ref.turn, ref.side, outcome.attempt, AnswerState.STOPPED, len(text), "stopped")
                with suppress(Unavailable):  # Without the bus the watchers find it in the ledger.
                    await self._bus.append(ref.conversation, ended)
        finally:
            self._executor.release([ref])


async def _reserve(reservation: Reservation, kind: Kind, jobs: Sequence[Job], person: UUID) -> None:
    with _nameless(kind):
        await reservation.reserve(jobs, client=str(person))


@contextmanager
def _nameless(kind: Kind) -> Generator[None]:
    """Of a battle nobody is told which model was drawn and is not ready."""
    try:
        yield
    except Busy:
        raise
    except Unavailable as error:
        if kind is Kind.BATTLE and error.code == "model_not_ready":
            raise Unavailable("A model of this battle is not ready; try again in a moment.", code=error.code) from None
        raise


def _up_to(conversation: Conversation, turn: int | None) -> Conversation:
    return conversation if turn is None else replace(conversation, turns=conversation.turns[:turn])
