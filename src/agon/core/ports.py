"""What the use cases need from the outside; what boards need is in `board_ports`.

One contract suite runs every adapter of a port.

Every method is one transaction and commits before it returns, unless it says otherwise. Adapters raise `Unavailable`
when their server cannot be reached, and no foreign error ever.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from agon.core.contestants import Contestant
from agon.core.conversation import AnswerState, Conversation, Kind, Side
from agon.core.events import Event, Said
from agon.core.generation import GenerationRequest
from agon.core.placement import AnswerRef, Beat, Job, Placement, ReplicaStatus
from agon.core.votes import Ballot, Vote, Winner


@dataclass(frozen=True, slots=True)
class NewTurn:
    prompt: str
    seed: int
    max_tokens: int
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class NewConversation:
    id: UUID
    kind: Kind
    person: UUID
    contestants: Mapping[Side, str]
    turn: NewTurn
    propensity: float | None = None
    """Chance of this pairing; `None` where the person chose."""


@dataclass(frozen=True, slots=True)
class AddTurn:
    turn: NewTurn


@dataclass(frozen=True, slots=True)
class Regenerate:
    turn: int
    side: Side


Change = AddTurn | Regenerate | None
"""What a decision about a conversation asks the ledger to write; `None` for nothing."""


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    id: UUID
    kind: Kind
    title: str
    """The start of the first prompt."""
    created_at: datetime
    void: bool
    winner: Winner | None
    contestants: Mapping[Side, str] | None
    """`None` while the person may not know them."""
    forfeited: bool = False


@dataclass(frozen=True, slots=True)
class CastVote:
    vote: Vote
    contestants: Mapping[Side, str]
    repeated: bool = False
    """Whether the ledger had it already when it was cast."""


class ConversationLedger(Protocol):
    async def start(
        self, new: NewConversation, *, admit: Callable[[], Awaitable[None]] | None = None
    ) -> tuple[Conversation, bool]:
        """Write a conversation and its first turn; a key that this person used before returns that one, and False.

        `admit` is awaited before the commit of a new one, when nobody else can write it; what it raises undoes all.
        """
        ...

    async def started_with(self, person: UUID, idempotency_key: str) -> Conversation | None:
        """The conversation that a person's key has started."""
        ...

    async def find(self, conversation: UUID) -> Conversation:
        """Raises `NotFound`."""
        ...

    async def amend(self, conversation: UUID, decide: Callable[[Conversation], Awaitable[Change]]) -> Conversation:
        """Lock the conversation, let `decide` judge it, write what it asks for, return it as it is then.

        What `decide` raises undoes everything. Raises `NotFound`.
        """
        ...

    async def history(self, person: UUID, *, limit: int, before: UUID | None) -> Sequence[ConversationSummary]:
        """A person's own conversations, newest first, from before the given one."""
        ...


class VoteLedger(Protocol):
    async def cast(self, ballot: Ballot) -> CastVote:
        """Judge the ballot with its battle locked and write it. Returns after the commit. Raises as `votes.judge`."""
        ...

    async def find_vote(self, receipt: UUID) -> CastVote:
        """Raises `NotFound`."""
        ...


class ContestantLedger(Protocol):
    async def contestants(self) -> Sequence[Contestant]:
        """All that are not removed, by name."""
        ...

    async def put_contestant(self, contestant: Contestant, *, replace: bool) -> None:
        """Write one; one that was removed comes back. Raises `Conflict` if it is there and not to be replaced."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """An answer as the runner loads it."""

    ref: AnswerRef
    kind: Kind
    attempt: int
    failures: int
    """Attempts that ended in an engine's error."""
    state: AnswerState
    request: GenerationRequest
    age_s: float
    """Seconds since the turn was asked, by the ledger's clock."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an answer ended."""

    ref: AnswerRef
    attempt: int
    state: AnswerState
    text: str
    finish_reason: str | None = None
    error: str | None = None
    """For the operator; never shown to a voter."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    ttft_ms: float | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of an outcome."""

    written: bool
    """False when the answer was over already, or a newer attempt has taken its place."""
    void_reason: str | None = None
    """Set when the battle is void."""


@dataclass(frozen=True, slots=True)
class StaleAnswer:
    """An answer that was asked for a while ago and is still pending."""

    ref: AnswerRef
    kind: Kind
    attempt: int
    age_s: float


class AnswerLedger(Protocol):
    async def load(self, ref: AnswerRef) -> Work:
        """Raises `NotFound`."""
        ...

    async def settle(self, outcome: Outcome) -> Settlement:
        """Write the end of an answer, once: a later or older attempt's changes nothing.

        In the same transaction a failed side makes a battle void, and a forfeited one loses it; two forfeits make it
        void. The loss counts from the moment at which nobody writes in the battle any more. Only battles are lost: in
        other conversations a forfeited answer is written as a failed one.
        """
        ...

    async def retry(self, ref: AnswerRef, attempt: int, *, failed: bool) -> int | None:
        """Begin a new attempt after `attempt`; returns its number, or `None` if that attempt is not the current one."""
        ...

    async def stale(self, older_than_s: float) -> Sequence[StaleAnswer]:
        """Pending answers that were asked for longer ago than this, oldest first."""
        ...


class Bus(Protocol):
    """Redis. Everything here may be lost at any moment; the ledger brings it back."""

    async def append(self, conversation: UUID, event: Event) -> None:
        """Append to the conversation's stream."""
        ...

    async def said(self, ref: AnswerRef) -> Said:
        """What the conversation's stream holds of an answer that is being written."""
        ...

    async def clear(self, conversation: UUID) -> None:
        """Drop what the stream holds: the ledger has it all. Whoever still watches is not disturbed."""
        ...

    def watch(self, conversation: UUID) -> AsyncGenerator[Event | None]:
        """Everything in the conversation's stream and what is appended from now on; `None` when a second was quiet."""
        ...

    async def stop(self, refs: Sequence[AnswerRef]) -> None:
        """Ask whoever runs these to stop."""
        ...

    def stops(self) -> AsyncIterator[AnswerRef]:
        """Requests to stop, from all gateways."""
        ...


class Dispatch(Protocol):
    """Which replica has which turn. Counted in Redis, exactly, by any number of gateways and runners at once.

    Every call is atomic and, where it changes a count, safe to repeat: a turn is counted once and taken off once.
    An executor that has not beaten for 1.5 s is dead, and what it holds is given out by `reap`.
    """

    async def reserve(self, jobs: Sequence[Job], *, client: str | None = None) -> Sequence[Placement]:
        """Choose a replica for each job and count it there, held by this executor; all of them or none.

        With a `client` (the person, or their key) the jobs must be admitted first: by the client's token bucket, by
        the arena's, and by the bound on waiting; raises `Busy` with an honest `retry_after_s` (codes `client_limit`,
        `arena_limit`, `busy`). Raises `Unavailable` (`model_not_ready`) where no replica of a contestant is ready.
        A turn that is counted already, for whomever, is not counted twice: it moves here.
        """
        ...

    async def send(self, placements: Sequence[Placement]) -> None:
        """Hand reserved turns to a runner of their replicas, which holds them from then on and is woken.

        One that another executor holds by now, or that `reap` has given out, is left to that one. Raises `Unavailable`
        (`model_not_ready`) where no runner of the contestant lives; those turns are held by nobody then.
        """
        ...

    async def take(self, wait_s: float) -> Sequence[Placement]:
        """What was sent to this executor, in order, waiting at most so long for the first."""
        ...

    async def speak(self, refs: Sequence[AnswerRef]) -> None:
        """The first token is there: the prompt's share is taken off."""
        ...

    async def release(self, refs: Sequence[AnswerRef], *, wrote: Mapping[AnswerRef, int] | None = None) -> None:
        """These turns are over here, however they ended: all that is left of them is taken off.

        `wrote` tells the answer's tokens of those that came to their own end; admission learns from it what estimates
        are worth.
        """
        ...

    async def beat(self, beat: Beat) -> None:
        """State that this executor lives, and the absolute figures of what it serves and holds."""
        ...

    async def leave(self) -> None:
        """This executor ends in good order: nothing more is sent to it. What it still holds stays counted."""
        ...

    async def reap(self) -> Sequence[Job]:
        """What dead executors held, each to one caller only, and no longer counted."""
        ...

    async def unheld(self, refs: Sequence[AnswerRef]) -> Sequence[AnswerRef]:
        """Those that nobody holds, neither an executor, alive or not yet reaped, nor whoever `reap` just gave them."""
        ...

    async def seize(self, ref: AnswerRef) -> bool:
        """Take a turn that no living executor holds, so that it can be settled here; `release` gives it up."""
        ...

    async def seed(self, conversation: UUID, turn: int, proposal: int) -> int:
        """The turn's one seed: the first proposal within 30 minutes."""
        ...

    async def replicas(self) -> Sequence[ReplicaStatus]:
        """Every replica that some living executor serves, by contestant and id."""
        ...


@dataclass(frozen=True, slots=True)
class TurnRef:
    """One turn of a conversation, with all its sides."""

    conversation: UUID
    number: int


class Watchers(Protocol):
    """Which turns somebody watches, over all gateways. What is lost is said again within seconds."""

    async def hold(self, leases: Mapping[TurnRef, float], holder: str) -> None:
        """Say for how many more seconds a holder has each of these turns watched, whatever it said of them before."""
        ...

    async def held(self, turn: TurnRef) -> bool:
        """Whether some holder has it watched now."""
        ...
