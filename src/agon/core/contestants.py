"""Contestants: the models that fight, and whether they can fight now."""

from dataclasses import dataclass
from enum import StrEnum


class ContestantKind(StrEnum):
    EMBEDDED = "embedded"
    """Runs inside the runner, from a weights file."""
    OPENAI = "openai"
    """Any server that speaks the OpenAI chat API."""


class ContestantState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    """Keeps its engine, gets no new conversations."""
    REMOVED = "removed"
    """Gone from the arena; its battles and votes stay."""


class Origin(StrEnum):
    """Who said that the contestant is there; the configuration only ever takes back its own."""

    DEFAULT = "default"
    CONFIG = "config"
    ADMIN = "admin"


NGRAM = "ngram"
"""Guessing ahead from what was said before, without a model."""


@dataclass(frozen=True, slots=True)
class Contestant:
    name: str
    kind: ContestantKind
    model: str
    """The model's name at its server, or the weights' name or path."""
    urls: tuple[str, ...] = ()
    """Servers that answer for it, each a replica; none for a model that runs inside the runner."""
    key_env: str | None = None
    """The environment variable that holds the key; the key itself is never stored."""
    sha256: str | None = None
    """What the weights' digest must be, where the person who configured them knows it."""
    draft: str | None = None
    """What guesses ahead for a model that runs inside the runner: `NGRAM`, or weights of a smaller one."""
    weight: float = 1.0
    """Chance to be paired, relative to the others."""
    max_concurrent: int = 64
    """Turns that may run at the same time on each replica."""
    prefill: bool = False
    """Whether its servers go on with an answer that is begun, given as the last message."""
    draining: tuple[str, ...] = ()
    """Replicas, by id, that finish what they have and get nothing new; an admin says so."""
    state: ContestantState = ContestantState.ACTIVE
    origin: Origin = Origin.ADMIN


class EngineState(StrEnum):
    LOADING = "loading"
    READY = "ready"
    COLD = "cold"
    """Not in memory; the first turn has it loaded."""
    DRAINING = "draining"
    """Finishes what it has and gets nothing new."""
    EJECTED = "ejected"
    """It failed too often lately; used only where there is no other, until a probe succeeds."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """No runner speaks for it."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """How the engine of a contestant is."""

    state: EngineState
    detail: str = ""
    """For the operator: progress or the error."""
    active: int = 0
    """Turns running now."""
    capacity: int = 0
    """Turns that can run at the same time."""
    waiting: int = 0
    """Turns that wait for others."""
