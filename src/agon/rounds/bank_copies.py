"""Exact copies of rounds' banks in this process, so that what a strict round cannot take never reaches the ledger."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from agon.core.round_ports import RoundLedger
from agon.core.rounds import prompt_digest

_PAGE = 5_000
"""Questions read at once; their digests take some milliseconds."""


@dataclass(frozen=True, slots=True)
class BankCopy:
    """A strict round's questions, which never change; of any other round just that it is not strict."""

    strict: bool
    by_prompt: Mapping[bytes, str] = field(default_factory=dict[bytes, str])
    """The first question of each prompt, by digest."""
    keys: frozenset[str] = frozenset()

    def find(self, key: str, turns: tuple[str, ...]) -> str | None:
        """The question of that key or, without one, of that prompt."""
        if key:
            return key if key in self.keys else None
        return self.by_prompt.get(prompt_digest(turns))


class BankCopies:
    """Keeps the copies that were used last. A bank is read once, however many wait for it. For one event loop."""

    def __init__(self, ledger: RoundLedger, *, most_rounds: int = 64, most_questions: int = 200_000) -> None:
        """A question takes some 200 bytes; one bank that is larger than all together is kept alone."""
        self._ledger = ledger
        self._most_rounds = most_rounds
        self._most_questions = most_questions
        self._copies: OrderedDict[UUID, BankCopy] = OrderedDict()
        self._reading: dict[UUID, asyncio.Task[BankCopy]] = {}

    async def of(self, round_id: UUID) -> BankCopy:
        """Raises `NotFound` (`round_not_found`)."""
        copy = self._copies.get(round_id)
        if copy is not None:
            self._copies.move_to_end(round_id)
            return copy
        reading = self._reading.get(round_id)
        if reading is None:
            reading = self._reading[round_id] = asyncio.create_task(self._read(round_id))
            reading.add_done_callback(lambda done: self._done(round_id, done))
        # Whoever gives up leaves the others their answer.
        return await asyncio.shield(reading)

    def _done(self, round_id: UUID, reading: asyncio.Task[BankCopy]) -> None:
        del self._reading[round_id]
        if not reading.cancelled():
            reading.exception()  # Looked at here too, since all who waited may have gone.

    async def _read(self, round_id: UUID) -> BankCopy:
        found = await self._ledger.find(round_id)
        copy = BankCopy(strict=False)
        if found.strict:
            by_prompt: dict[bytes, str] = {}
            keys: set[str] = set()
            while len(keys) < found.questions:
                page = await self._ledger.questions(round_id, skip=len(keys), limit=_PAGE)
                if not page:
                    break
                for question in page:
                    keys.add(question.key)
                    by_prompt.setdefault(prompt_digest(question.turns), question.key)
            copy = BankCopy(strict=True, by_prompt=by_prompt, keys=frozenset(keys))
        self._keep(round_id, copy)
        return copy

    def _keep(self, round_id: UUID, copy: BankCopy) -> None:
        self._copies[round_id] = copy
        while len(self._copies) > 1 and (
            len(self._copies) > self._most_rounds
            or sum(len(each.keys) for each in self._copies.values()) > self._most_questions
        ):
            self._copies.popitem(last=False)
