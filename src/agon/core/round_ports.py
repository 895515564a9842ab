"""What rounds need from the outside. The contract of `ports` holds for these, too."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from agon.core.errors import AgonError
from agon.core.rounds import AnswerStage, Question, Round, RoundAnswer, RoundContestant
from agon.core.scoring import Sample, Scored

# --- asking and reading -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submission:
    """An answer that was made elsewhere. The question is named by its key, or by its text where `question` is empty."""

    round: UUID
    contestant: str
    texts: tuple[str, ...]
    question: str = ""
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submitted:
    answer: UUID
    repeated: bool = False
    """Whether the ledger had the same answer already."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many answers of a contestant are at which stage."""

    contestant: str
    stages: Mapping[AnswerStage, int]


class RoundLedger(Protocol):
    async def create(self, new: Round, bank: Sequence[Question]) -> Round:
        """Write a round with its questions, contestants and pending answers. The same id again returns what is there.

        Raises `Conflict` (`round_exists`) where the round of that id is another one.
        """
        ...

    async def find(self, round_id: UUID) -> Round:
        """Raises `NotFound` (`round_not_found`)."""
        ...

    async def latest(self, *, limit: int, before: UUID | None = None) -> Sequence[Round]:
        """Newest first."""
        ...

    async def questions(self, round_id: UUID, *, skip: int = 0, limit: int | None = None) -> Sequence[Question]:
        """In the order of the bank; those that came with an answer behind it. Raises `NotFound`."""
        ...

    async def add_contestant(self, round_id: UUID, contestant: RoundContestant) -> Round:
        """Its answers are pending from here on, if they are made here. One that is there already stays as it is.

        Raises `NotFound`, and `Conflict` (`contestant_exists`) where its answers come the other way.
        """
        ...

    async def submit(self, submissions: Sequence[Submission]) -> Sequence[Submitted | AgonError]:
        """Write answers, one commit for all that wait; a result or the refusal for each, in order.

        Refusals: `NotFound` (`round_not_found`, or `question_unknown` in a strict round), `Conflict` (`answer_exists`
        where another text is there, `contestant_made_here`). A contestant is added by its first answer; in a round
        that is not strict so is a question, named by its text's digest.
        """
        ...

    async def progress(self, round_id: UUID) -> Sequence[Progress]:
        """By contestant, in the round's order. Raises `NotFound`."""
        ...

    async def answers(self, round_id: UUID, question: str) -> Sequence[RoundAnswer]:
        """All contestants' answers to one question, in the round's order. Raises `NotFound`."""
        ...

    async def troubled(self, round_id: UUID, *, limit: int) -> Sequence[RoundAnswer]:
        """Answers that failed or are parked, with their errors. Raises `NotFound`."""
        ...

    async def rerun(self, round_id: UUID) -> int:
        """Have failed answers made, and parked ones scored, once more; returns how many. Raises `NotFound`."""
        ...


# --- making answers ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PendingAnswer:
    """An answer that somebody has taken on to have made."""

    number: int
    round: UUID
    question: Question
    contestant: str
    seed: int
    max_tokens: int
    failures: int


class GenerationLedger(Protocol):
    async def claim(self, holder: str, places: Mapping[str, int], lease_s: float) -> Sequence[PendingAnswer]:
        """Take on pending answers that nobody holds, oldest first.

        No more of a contestant than fill its places, whoever holds those that are held already.
        """
        ...

    async def renew(self, holder: str, numbers: Sequence[int], lease_s: float) -> None:
        """Go on holding these of all that this holder has taken on."""
        ...

    async def let_go(self, holder: str) -> None:
        """Hold nothing any more."""
        ...

    async def put_back(self, number: int, pause_s: float) -> None:
        """Hold this one no longer; it may be taken on again after the pause."""
        ...

    async def wanted(self) -> Sequence[str]:
        """Contestants with pending answers that nobody holds."""
        ...

    async def made(self, number: int, texts: Sequence[str], *, request_key: bytes | None) -> bool:
        """Write an answer, once; False if it was there or is no longer pending.

        Without a key it serves no other request: the same one might be answered otherwise.
        """
        ...

    async def failed(self, number: int, error: str, *, final: bool) -> None:
        """Count a failure; a final one ends the answer, any other leaves it to be taken on again after a while."""
        ...


# --- scoring ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToScore:
    """An answer of a batch that is still to be scored."""

    number: int
    scorer: str
    sample: Sample
    failures: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of scoring one answer."""

    number: int
    scored: Scored
    revision: str
    score_key: bytes | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """What the pipeline has before it and in hand, by the ledger's clock."""

    waiting: int
    """Answers that are to be scored and are in no batch."""
    oldest_s: float
    """Age of the oldest of all that are to be scored; 0 where there is none."""
    parked: int
    open_batches: int


class ScoringLedger(Protocol):
    """The outbox. Every step may be repeated, by anyone, at any time, in any order: its effect is there once.

    A batch goes from `score` over `merge` to `board`, and is gone when it is closed. All times are the ledger's own.
    """

    async def open_batches(self, *, in_flight: int, size: int, lease_s: float) -> Sequence[UUID]:
        """Bind answers that are to be scored into new batches, oldest first, so that no more than so many are open.

        An answer of a round with an anchor waits until the anchor's is made, or has failed.
        """
        ...

    async def overdue(self, lease_s: float) -> Sequence[tuple[UUID, str]]:
        """Open batches whose lease is over, with the step they are at; they are leased anew."""
        ...

    async def begin(self, batch: UUID, lease_s: float) -> int:
        """Somebody begins to score it; returns how often that has happened, or 0 where there is nothing to score."""
        ...

    async def broke_off(self, batch: UUID) -> None:
        """Something was away, so that the last beginning does not count."""
        ...

    async def renew(self, batch: UUID, lease_s: float) -> None:
        """Somebody is at it."""
        ...

    async def load(self, batch: UUID) -> Sequence[ToScore]:
        """What of a batch is still to be scored."""
        ...

    async def judged(self, batch: UUID, verdicts: Sequence[Verdict], *, max_failures: int, pause_s: float) -> bool:
        """Write scores; True if with that the batch has none left to score, and goes on to `merge`.

        A poisoned answer counts a failure, and is parked when it has had so many; until then it leaves the batch, and
        may be bound anew after a pause.
        """
        ...

    async def set_aside(self, batch: UUID, numbers: Sequence[int], *, pause_s: float) -> None:
        """Answers that cannot be scored just now leave the batch, and may be bound anew after a pause."""
        ...

    async def merge(self, batch: UUID) -> Sequence[UUID]:
        """Move what of a batch is scored into the totals, once; returns the rounds that a board is due for.

        Does nothing, and returns none, while some of it is still to be scored.
        """
        ...

    async def close_batch(self, batch: UUID) -> None:
        """The boards are there; nothing happens while it is not merged."""
        ...

    async def backlog(self) -> Backlog: ...

    async def wanted_scorers(self) -> Sequence[str]:
        """Scorers of the rounds that have answers to be made or scored."""
        ...

    async def recount(self, round_id: UUID) -> Mapping[str, tuple[int, int]]:
        """Merged answers and the sum of their scores in millionths, by contestant, counted from the answers."""
        ...


# --- boards -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Total:
    contestant: str
    scored: int
    score: int
    """Sum in millionths."""


@dataclass(frozen=True, slots=True)
class QuestionScores:
    """All scores that contestants got on one question."""

    question: str
    category: str
    scores: Mapping[str, int]
    """In millionths, by contestant."""


class StandingsSource(Protocol):
    async def totals(self, round_id: UUID) -> Sequence[Total]: ...

    async def scores(self, round_id: UUID) -> Sequence[QuestionScores]:
        """Every question that has a score, in the bank's order."""
        ...

    async def scored_rounds(self) -> Mapping[UUID, int]:
        """Rounds with a merged score, which are those that have boards, with the number of merged answers."""
        ...


class RoundBoards(Protocol):
    """Redis: sorted sets by mean score, each in its round's slot, and the page beside it. All of it may vanish."""

    async def publish(self, round_id: UUID, means: Mapping[str, float], page: str, version: int) -> bool:
        """Put board and page in place and tell watchers, unless one of a later version is there.

        The version is the number of answers that are merged.
        """
        ...

    async def page(self, round_id: UUID) -> str | None: ...

    async def ranked(self, round_id: UUID) -> Sequence[tuple[str, float]]:
        """Contestants by mean score, the best first."""
        ...

    async def there(self, rounds: Sequence[UUID]) -> Mapping[UUID, int]:
        """The versions of the boards that are there."""
        ...

    def changes(self, round_id: UUID) -> AsyncIterator[None]:
        """At once, each time the board changes, and now and then without a change."""
        ...


# --- caches -----------------------------------------------------------------------------------------------------------


class Cache(Protocol):
    """Values that cost much to make, by the digest of everything that decides them. May lose anything, never lies."""

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """What is known of these keys (32 bytes each), over all levels."""
        ...

    async def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values that the ledger has, or is about to have. Never waits for a server that is away."""
        ...


class Shelf(Protocol):
    """The ledger as the last level of a cache: it is never written through here."""

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]: ...

    def every_key(self) -> AsyncIterator[Sequence[bytes]]:
        """All keys that have a value, in pages."""
        ...
