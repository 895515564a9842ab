"""Where turns go: replicas of a contestant, what a turn costs them, and who runs it.

A replica is one engine that answers for a contestant: a server at a URL, whoever asks it, or a model inside one runner.
An executor is a process that has turns run: a runner, or a gateway that passes requests straight on to a server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from agon.core.contestants import EngineState
from agon.core.conversation import Side
from agon.core.generation import GenerationRequest


@dataclass(frozen=True, slots=True)
class AnswerRef:
    """One answer of one turn: the unit of work of the runner."""

    conversation: UUID
    turn: int
    side: Side
    contestant: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens that a turn takes of a replica."""

    prompt: int
    """Of the whole prompt, history included."""
    output: int
    """Expected answer."""
    cached: int = 0
    """Of the prompt, what the replica that had the turn before need not read again."""

    def on(self, *, holds_prefix: bool) -> int:
        """All tokens, on a replica that holds the prefix or one that does not."""
        return self.output + self.prompt - (self.cached if holds_prefix else 0)


@dataclass(frozen=True, slots=True)
class Job:
    """One side of one turn, as it is handed to a replica."""

    ref: AnswerRef
    cost: Cost
    prefix: str | None = None
    """Names what of the prompt a replica may hold already; the replica that gets the job is noted under it."""
    avoid: tuple[str, ...] = ()
    """Replicas to leave out as long as there is another one: they have just failed."""
    request: GenerationRequest | None = None
    """Set for a turn that the ledger does not know; then the job carries all there is."""
    reruns: int = 0
    """How often it was given to another replica because one had failed or died."""
    deaths: int = 0
    """How many executors have died with it."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A job that is counted on a replica. It belongs to `executor` until that one releases it, sends it on or dies."""

    job: Job
    replica: str
    executor: str
    holds_prefix: bool = False
    """Whether the job was counted without the tokens that the replica has read already."""


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """What one executor says of a replica with each of its beats."""

    id: str
    contestant: str
    state: EngineState
    detail: str = ""
    """For the operator: progress or the error."""
    url: str | None = None
    capacity: int = 0
    """Turns it can run at the same time."""
    active: int = 0
    """Turns of this executor that run now."""
    tokens: int = 0
    """Tokens that it wrote for this executor since the last report."""
    stream_s: float = 0.0
    """Seconds of writing in which it wrote them, summed over turns."""
    foreign: int = 0
    """Tokens that others have outstanding there, where the engine tells; they count in the balance."""


@dataclass(frozen=True, slots=True)
class Beat:
    """An executor's absolute statement of what it serves and holds. Whatever else is counted for it is dropped."""

    replicas: tuple[ReplicaReport, ...] = ()
    held: Mapping[AnswerRef, tuple[str, int, int]] = field(default_factory=dict[AnswerRef, tuple[str, int, int]])
    """By turn: its replica, and the tokens that remain of its prompt and of its answer."""


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """A replica as the whole fleet sees it now."""

    id: str
    contestant: str
    state: EngineState
    detail: str = ""
    url: str | None = None
    capacity: int = 0
    active: int = 0
    turns: int = 0
    """Turns counted on it, waiting or running."""
    outstanding_tokens: int = 0
    rate_tokens_per_s: float = 0.0
    """What it writes with all its places taken: measured speed of one stream times its capacity."""


def replica_id(contestant: str, where: str) -> str:
    """The id of the replica at a server's URL, or inside the runner of that name."""
    return f"{contestant}@{where}"


@dataclass(frozen=True, slots=True)
class Admission:
    """How much is let in. Every bound is off at 0."""

    client_tokens_per_s: float = 0.0
    """What one client may ask for in the long run."""
    client_burst_tokens: float = 10_000.0
    """What one client may ask for at once."""
    arena_share: float = 0.95
    """Of what the fleet writes at most by its own measure, the share that may be asked for in the long run."""
    arena_burst_s: float = 2.0
    """Seconds of that which may be asked for at once."""
    queue_s: float = 0.02
    """Longest expected wait for a place at a replica."""


@dataclass(frozen=True, slots=True)
class Balance:
    """How replicas are chosen."""

    gate_s: float = 2.0
    gate_ratio: float = 2.0
    """A replica that holds the prefix is left only if a turn waits longer there by both: these seconds, and
    so many times what it waits at the best."""
    prefix_s: int = 600
    """How long a replica is taken to hold a prefix."""
    cold_penalty_s: float = 8.0
    """Seconds of waiting that a replica counts for which must load its model first."""
    default_tokens_per_s: float = 50.0
    """Speed of one stream where none has been measured yet."""
    window_s: float = 20.0
    """Seconds of writing over which a measured speed fades."""
