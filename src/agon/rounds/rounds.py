"""Asking for rounds, and changing them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from agon.core.errors import InvalidInput, LimitExceeded
from agon.core.round_ports import RoundLedger
from agon.core.rounds import Question, Round, RoundContestant
from agon.core.text import storable
from agon.rounds.banks import check_bank
from agon.scoring.grader import PREFIX as GRADE_PREFIX
from agon.scoring.judge import PREFIX as JUDGE_PREFIX

MAX_NAME_CHARS = 200
MAX_CONTESTANT_CHARS = 100
MAX_CONTESTANTS = 1_000
MAX_ANSWERS = 1_000_000
"""That one round may ask for."""
MAX_TOKENS = 100_000
_SEEDS = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class NewRound:
    """What is asked for."""

    name: str
    scorer: str
    contestants: Sequence[RoundContestant]
    bank: Sequence[Question]
    id: UUID | None = None
    """Makes asking again the same round; one is drawn without it."""
    strict: bool = True
    seed: int = 0
    max_tokens: int = 160
    anchor: str | None = None
    """For scorers that compare; the first contestant without it."""


class Rounds:
    """The use cases of those who run rounds."""

    def __init__(
        self,
        ledger: RoundLedger,
        *,
        models: Callable[[], Awaitable[Collection[str]]],
        compares: Callable[[str], bool],
        answers_due: Callable[[], None] = lambda: None,
        new_id: Callable[[], UUID] = uuid4,
    ) -> None:
        """`models` are those that can be asked here. `compares` says of a scorer's name whether it needs an anchor,
        and raises `InvalidInput` where there is no such scorer. `answers_due` is told when there is work."""
        self._ledger = ledger
        self._models = models
        self._compares = compares
        self._answers_due = answers_due
        self._new_id = new_id

    async def create(self, asked: NewRound) -> Round:
        """Raises `InvalidInput` naming the field, and `Conflict` (`round_exists`)."""
        # In a thread, since a large bank takes a while.
        anchor = await asyncio.to_thread(self._check, asked)
        await self._check_models(asked)
        made = await self._ledger.create(
            Round(
                id=asked.id or self._new_id(),
                name=asked.name.strip(),
                scorer=asked.scorer,
                contestants=tuple(asked.contestants),
                questions=len(asked.bank),
                strict=asked.strict,
                seed=asked.seed,
                max_tokens=asked.max_tokens,
                anchor=anchor,
            ),
            asked.bank,
        )
        self._answers_due()
        return made

    async def add(self, round_id: UUID, contestant: RoundContestant) -> Round:
        """Raises `InvalidInput`, `NotFound`, and `Conflict` (`contestant_exists`)."""
        check_contestant(contestant.name, "name")
        there = await self._ledger.find(round_id)
        known = {one.name for one in there.contestants}
        if contestant.name not in known:
            if len(known) >= MAX_CONTESTANTS:
                raise LimitExceeded(f"A round has at most {MAX_CONTESTANTS} contestants.", field="name")
            made_here = sum(one.made_here for one in there.contestants) + contestant.made_here
            _check_size(made_here, there.questions, "name")
            if contestant.made_here and contestant.name not in await self._models():
                raise unknown_contestant(contestant.name, "name")
        changed = await self._ledger.add_contestant(round_id, contestant)
        self._answers_due()
        return changed

    async def rerun(self, round_id: UUID) -> int:
        """Have all that failed or was parked done once more; how many answers that are."""
        again = await self._ledger.rerun(round_id)
        if again:
            self._answers_due()
        return again

    def _check(self, asked: NewRound) -> str | None:
        """Raises `InvalidInput`; the anchor."""
        if not asked.name.strip() or len(asked.name) > MAX_NAME_CHARS or storable(asked.name) != asked.name:
            raise InvalidInput(f"name: it must have 1 to {MAX_NAME_CHARS} characters, none of them NUL.", field="name")
        if asked.seed not in _SEEDS:
            raise InvalidInput("seed: it must be a whole number of 32 bits.", field="seed")
        if not 1 <= asked.max_tokens <= MAX_TOKENS:
            raise InvalidInput(f"max_tokens: it must be from 1 to {MAX_TOKENS}.", field="max_tokens")
        names = _names(asked.contestants)
        check_bank(asked.bank, [f"questions.{row}" for row in range(len(asked.bank))])
        _check_size(sum(one.made_here for one in asked.contestants), len(asked.bank), "contestants")
        compares = self._compares(asked.scorer)
        if asked.anchor is not None and asked.anchor not in names:
            raise InvalidInput(f"anchor: {asked.anchor!r} is no contestant of this round.", field="anchor")
        if not compares or asked.anchor is not None:
            return asked.anchor
        if not names:
            raise InvalidInput(
                f"anchor: {asked.scorer!r} compares answers with a contestant's; name the contestant.",
                code="anchor_needed",
                field="anchor",
            )
        return names[0]

    async def _check_models(self, asked: NewRound) -> None:
        wanted = {f"contestants.{place}": one.name for place, one in enumerate(asked.contestants) if one.made_here}
        for prefix in (JUDGE_PREFIX, GRADE_PREFIX):
            if asked.scorer.startswith(prefix):
                wanted["scorer"] = asked.scorer.removeprefix(prefix)
        models = await self._models() if wanted else ()
        for field, name in wanted.items():
            if name not in models:
                raise unknown_contestant(name, field)


def _names(contestants: Sequence[RoundContestant]) -> list[str]:
    """Raises `InvalidInput` unless they are names, each there once."""
    if len(contestants) > MAX_CONTESTANTS:
        raise LimitExceeded(f"contestants: at most {MAX_CONTESTANTS} make a round.", field="contestants")
    names = [one.name for one in contestants]
    for place, name in enumerate(names):
        check_contestant(name, f"contestants.{place}")
        if names.index(name) < place:
            words = f"contestants.{place}: {name!r} stands there twice."
            raise InvalidInput(words, code="duplicate_contestant", field=f"contestants.{place}")
    return names


def _check_size(made_here: int, questions: int, field: str) -> None:
    if made_here * questions > MAX_ANSWERS:
        raise LimitExceeded(f"{field}: a round may ask for {MAX_ANSWERS} answers at most.", field=field)


def check_contestant(name: str, field: str) -> None:
    """Raises `InvalidInput` unless it may name a contestant, of this arena or from elsewhere."""
    if not 1 <= len(name) <= MAX_CONTESTANT_CHARS or name.strip() != name or not name.isprintable():
        rule = f"must have 1 to {MAX_CONTESTANT_CHARS} printable characters, with no space at its ends"
        raise InvalidInput(f"{field}: a contestant's name {rule}.", field=field)


def unknown_contestant(name: str, field: str) -> InvalidInput:
    return InvalidInput(
        f"{field}: there is no contestant named {name!r} in this arena.", code="contestant_unknown", field=field
    )
