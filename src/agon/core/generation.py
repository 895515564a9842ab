"""What an engine is asked and what it says back, whatever engine it is."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]


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


@dataclass(frozen=True, slots=True)
class Finish:
    """The last thing a good stream yields, exactly once. Token counts are `None` where the engine keeps silent."""

    reason: FinishReason
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


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
