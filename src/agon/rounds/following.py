"""Watching a round until it is done, from its ledger alone."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from agon.core.contestants import ContestantState, EngineState
from agon.core.errors import Unavailable
from agon.core.roster import Roster
from agon.core.round_ports import Progress, RoundLedger, StandingsSource
from agon.core.rounds import AnswerStage, Round

_LOOK_S = 0.5
STILL_S = 60.0
"""After so long without any change it is said what the round waits for."""
OPEN = (AnswerStage.PENDING, AnswerStage.ANSWERED)
_TROUBLE = (AnswerStage.FAILED, AnswerStage.PARKED)
_CANNOT = {EngineState.FAILED, EngineState.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Snapshot:
    round: Round
    progress: tuple[Progress, ...]
    merged: int
    """Scores that boards are made from."""

    def count(self, *stages: AnswerStage) -> int:
        return sum(one.stages.get(stage, 0) for one in self.progress for stage in stages)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes by itself, and the board has all of it."""
        return not self.count(*OPEN) and self.merged >= self.count(AnswerStage.SCORED)

    @property
    def troubled(self) -> int:
        return self.count(*_TROUBLE)


@dataclass(frozen=True, slots=True)
class Standstill:
    """A round in which nothing has happened for a while."""

    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why, by contestant, as far as that is known."""
    is_hopeless: bool = False
    """Whether all that is left waits for models that cannot answer."""


class RoundFollowing:
    """Looks at one round again and again."""

    def __init__(
        self, ledger: RoundLedger, source: StandingsSource, roster: Callable[[], Awaitable[Roster]], round_id: UUID
    ) -> None:
        self._ledger = ledger
        self._source = source
        self._roster = roster
        self._round_id = round_id

    async def look(self) -> Snapshot:
        """Raises `NotFound`."""
        found = await self._ledger.find(self._round_id)
        progress = tuple(await self._ledger.progress(self._round_id))
        merged = sum(total.scored for total in await self._source.totals(self._round_id))
        return Snapshot(found, progress, merged)

    async def until_over(
        self, seen: Callable[[Snapshot], None], stands: Callable[[Standstill], None], *, still_s: float = STILL_S
    ) -> Snapshot:
        """Watch until the round is over, or hopeless; a store that is away for a moment is waited for."""
        last: Snapshot | None = None
        changed_s = time.monotonic()
        told = False
        while True:
            now = await self._look_patiently(last)
            if now is not None and now != last:
                last, changed_s, told = now, time.monotonic(), False
                seen(now)
                if now.is_over:
                    return now
            if last is not None and not told and time.monotonic() - changed_s > still_s:
                told = True
                still = await self._standstill(last)
                stands(still)
                if still.is_hopeless:
                    return last
            await asyncio.sleep(_LOOK_S)

    async def _look_patiently(self, last: Snapshot | None) -> Snapshot | None:
        try:
            return await self.look()
        except Unavailable:
            if last is None:
                raise
            return None

    async def _standstill(self, now: Snapshot) -> Standstill:
        try:
            roster = await self._roster()
        except Unavailable as error:
            return Standstill({"": error.message})
        waiting = [one.contestant for one in now.progress if one.stages.get(AnswerStage.PENDING)]
        reasons = {name: reason for name in waiting if (reason := _reason(roster, name)) is not None}
        hopeless = bool(waiting) and len(reasons) == len(waiting) and not now.count(AnswerStage.ANSWERED)
        return Standstill(reasons, hopeless)


def _reason(roster: Roster, name: str) -> str | None:
    """Why a contestant cannot answer, if so."""
    entry = roster.get(name)
    if entry is None:
        return "it is no contestant of this arena any more"
    if entry.contestant.state is ContestantState.PAUSED:
        return "it is paused"
    engine = entry.engine
    return f"it is {engine.state.value}. {engine.detail}".strip() if engine.state in _CANNOT else None
