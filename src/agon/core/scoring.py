"""What an answer is worth, as scorers say it, and what they need from the outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agon.core.generation import GenerationRequest

SCORE_UNIT = 1_000_000
"""Scores are kept in whole millionths, so that sums of them do not depend on their order."""

MAX_SCORE = 1e6
"""Bound on the absolute value of a score; millions of such scores still have a sum that the ledger can hold."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer to be scored."""

    prompt: str
    """All turns of the question, with an empty line between them."""
    answer: str
    reference: str | None = None
    """The anchor's answer to the same question, for scorers that compare."""
    contestant: str | None = None
    """Who wrote it. Only a judge looks, to tell whether it is asked about an answer of its own."""


@dataclass(frozen=True, slots=True)
class Score:
    value: float
    """Finite; higher is better."""
    detail: Mapping[str, Any] | None = None
    """What else is worth keeping, as JSON: a judge's verdicts, for one."""


@dataclass(frozen=True, slots=True)
class Abstained:
    """The scorer has looked and gives no score; it counts neither for nor against."""

    reason: str
    """A code: `unparseable`, `orders_disagree`, `judge_abstained` …"""
    detail: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Poison:
    """This sample makes the scorer fail, whatever else is in the batch."""

    error: str
    """For the operator."""


Scored = Score | Abstained | Poison


class Scorer(Protocol):
    """Gives answers scores. Calls may run concurrently; one scorer of a kind lives in a process."""

    @property
    def name(self) -> str:
        """As rounds name it: `reward`, `judge:MODEL`, or a plug-in's name."""
        ...

    @property
    def revision(self) -> str:
        """Names everything that decides a score, precision included; equal revisions give equal scores."""
        ...

    @property
    def compares(self) -> bool:
        """Whether it needs `Sample.reference`."""
        ...

    @property
    def cacheable(self) -> bool:
        """Whether the same sample gets the same score again."""
        ...

    async def warm_up(self) -> None:
        """Load what is needed and prove it with one score. Raises `Unavailable`."""
        ...

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        """One result for each sample, in order. Raises `Unavailable` where it cannot score at all just now."""
        ...

    async def close(self) -> None: ...


class Scorers(Protocol):
    async def named(self, name: str) -> Scorer:
        """The one scorer of that name in this process, warm and ready.

        Raises `InvalidInput` (`scorer_unknown`, `scorer_broken`), and `Unavailable` where it cannot be made ready now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """What a contestant said when it was asked outside of any conversation."""

    text: str
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Asks(Protocol):
    async def ask(self, contestant: str, request: GenerationRequest, *, prefix: str | None = None) -> Reply:
        """Have a contestant answer through dispatch, as background work that leaves room for people.

        Waits for a place. Raises `EngineError` where the model could not answer, and `Unavailable` where nobody can be
        asked just now.
        """
        ...
