"""What an engine is asked and what it says back, whatever engine it is."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant"]

BUSY_CODE = "engine_busy"
"""Of an `EngineError`: the engine has too much to do. Backpressure, not a failure."""
EMPTY_CODE = "engine_empty"
"""Of an `EngineError`: the engine ended its answer without a word, so there is nothing to vote on."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; `None` leaves the engine's own default. The same values go to both sides."""

    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int
    """Per-turn seed, the same for both sides, in [0, 2**31)."""
    budget_s: float | None = None
    """Seconds there are for the answer. An engine of our own ends it there, as at its token budget."""
    patient: bool = False
    """Nobody watches it being written: no engine of our own cuts it sooner than its budgets, however slow it is."""
    said: str = ""
    """What of the answer is written already. The engine goes on behind it and does not repeat it."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of an OpenAI request, passed on as they are."""


class FinishReason(StrEnum):
    STOP = "stop"
    """The model ended its answer."""
    LENGTH = "length"
    """The answer reached its token or time budget."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of answer text; never empty."""

    text: str
    tokens: int = 1
    logprobs: tuple[Mapping[str, Any], ...] | None = None
    """As OpenAI's API shows them, where they were asked for and the engine has them."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The last thing a good stream yields, exactly once. Token counts are `None` where the engine keeps silent."""

    reason: FinishReason
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the prompt, what the engine had in its cache."""
    drafted_tokens: int | None = None
    """Tokens that speculation proposed, where it is on."""
    accepted_tokens: int | None = None
    """Of those, the ones that the model agreed with."""


class Engine(Protocol):
    """One model that answers.

    `generate` yields `Piece`s and then one `Finish`, or raises an `EngineError`; it raises nothing else of its own.
    Closing the iterator early cancels the work in the engine within 0.3 s. Calls may run concurrently.
    """

    async def warm_up(self) -> None:
        """Make the engine ready and prove it with one short generation. Raises `EngineError`."""
        ...

    def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish]: ...

    async def close(self) -> None:
        """Free everything. Later calls to `generate` raise `EngineUnreachable`."""
        ...


@runtime_checkable
class Pooled(Protocol):
    """An engine that may have to make room for others: then it is in order, but a turn has to load it first.

    `generate` loads it where needed and keeps it loaded for as long as it writes.
    """

    @property
    def resident(self) -> bool:
        """Whether the model is in memory now."""
        ...


@runtime_checkable
class Shared(Protocol):
    """An engine whose server others may ask, too."""

    async def others(self) -> int | None:
        """Requests that run or wait at the server, ours among them; `None` if it does not tell."""
        ...


def is_resident(engine: Engine) -> bool:
    """Whether a turn can begin at once. An engine that does not say is always there."""
    return not isinstance(engine, Pooled) or engine.resident
