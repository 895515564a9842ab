"""Score, merge, board: what is done with a batch of answers. Each step may come again, at any time, from anywhere."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from agon.core.errors import AgonError, Unavailable
from agon.core.round_ports import ScoringLedger, ToScore, Verdict
from agon.core.scoring import Abstained, Poison, Score, Scored, Scorer, Scorers
from agon.rounds.verdicts import Judging, ScoreFlight

log = logging.getLogger(__name__)

LEASE_S = 6.0
"""How long nobody has been at a batch when others take it up."""
MAX_FAILURES = 3
"""A first try and two more."""
RETRY_S = 1.0
LONGEST_TASK_S = 300.0
"""No step takes longer; brokers must wait longer than that before they believe that a task is lost."""

_FIRST_PART = 8
_PART_S = 20.0
"""About so long may one call of a scorer take: what it said is then written, and the rest goes on."""
_BEGIN_PARTS_S = 60.0
_SCORE_S = LONGEST_TASK_S - _BEGIN_PARTS_S
"""A scorer that takes longer for one call fails."""
_CAREFUL_AFTER = 1
_PARK_AFTER = 3
"""So often a batch may break off, the last times with one answer at a time, before the next answer in line is it."""
_AWAY_S = 5.0
_AWAY_MOST_S = 60.0


class Boards(Protocol):
    async def publish(self, round_id: UUID) -> None:
        """Bring the round's board up to date. Raises `Unavailable`."""
        ...


class PipelineMeasures(Protocol):
    def scored(self, scorer: str, outcome: str, answers: int) -> None:
        """`outcome` is `scored`, `abstained` or `poison`."""
        ...

    def took(self, scorer: str, samples: int, seconds: float) -> None:
        """A scorer was asked for samples that no cache knew."""
        ...


@dataclass(frozen=True, slots=True)
class PipelineParts:
    ledger: ScoringLedger
    scorers: Scorers
    boards: Boards
    measures: PipelineMeasures
    clock: Callable[[], float]
    """Monotonic seconds."""
    flight: ScoreFlight | None = None
    closed: Callable[[], None] = lambda: None
    """Called when a batch is done, so that the next one need not wait."""


class Pipeline:
    """Bound to one event loop, as its cache is."""

    def __init__(self, parts: PipelineParts) -> None:
        self._parts = parts
        self._ledger = parts.ledger
        self._judging = Judging(parts.flight, clock=parts.clock, timed=self._timed)
        self._pace_s: dict[str, float] = {}
        """Seconds that a scorer takes for a sample."""
        self._away: dict[str, int] = {}
        """How often a scorer was away in a row."""
        self._begun: set[UUID] = set()
        self._gone_on: set[UUID] = set()
        """Of those, the ones that have nothing left to score."""

    async def score(self, batch: UUID, *, last_try: bool) -> None:
        """Score what of a batch is to be scored.

        Raises `Unavailable` where it cannot go on; but on the last try answers whose scorer is away are set aside.
        """
        if batch in self._begun:
            return
        self._begun.add(batch)
        try:
            if begun := await self._ledger.begin(batch, LEASE_S):
                async with self._held(batch):
                    await self._score(batch, begun, last_try=last_try)
        except Unavailable:
            # Only what ends its process is to be found by how often a batch was begun.
            with suppress(Unavailable):
                await self._ledger.broke_off(batch)
            raise
        finally:
            self._begun.discard(batch)
            self._gone_on.discard(batch)

    async def merge(self, batch: UUID) -> None:
        await self._ledger.merge(batch)

    async def board(self, batch: UUID) -> None:
        """Bring the boards of the batch's rounds up to date; then it is done."""
        # Merged long since: it only says again which rounds they are.
        for round_id in await self._ledger.merge(batch):
            await self._parts.boards.publish(round_id)
        await self._ledger.close_batch(batch)
        self._parts.closed()

    async def _score(self, batch: UUID, begun: int, *, last_try: bool) -> None:
        answers = await self._ledger.load(batch)
        if begun > _PARK_AFTER and answers:
            await self._park(batch, answers[0])
            answers = answers[1:]
        until = self._parts.clock() + _BEGIN_PARTS_S
        away: Unavailable | None = None
        for name, group in _by_scorer(answers).items():
            queue = _Queue(list(group), largest=1 if begun > _CAREFUL_AFTER else len(group))
            try:
                await self._score_group(batch, await self._parts.scorers.named(name), queue, until)
            except Unavailable as error:
                away = error
                if last_try:
                    log.warning("scorer %s is away: %s", name, error.message)
                    await self._set_aside(batch, name, queue)
            except AgonError as error:
                await self._write(batch, name, [Verdict(each.number, Poison(error.message), "") for each in queue.left])
            else:
                self._away.pop(name, None)
        if away is not None and not last_try:
            raise away
        if batch not in self._gone_on:
            await self._ledger.judged(batch, (), max_failures=MAX_FAILURES, pause_s=RETRY_S)

    async def _score_group(self, batch: UUID, scorer: Scorer, queue: "_Queue", until: float) -> None:
        while queue.left:
            if self._parts.clock() > until:
                numbers = [each.number for each in queue.left]
                await self._ledger.set_aside(batch, numbers, pause_s=0.0)
                return
            part = queue.first(self._fitting(scorer.name))
            await self._write(batch, scorer.name, await self._verdicts(scorer, part))
            queue.drop(len(part))

    def _fitting(self, scorer: str) -> int:
        pace_s = self._pace_s.get(scorer)
        return _FIRST_PART if pace_s is None else max(1, int(_PART_S / max(pace_s, 1e-6)))

    async def _verdicts(self, scorer: Scorer, part: Sequence[ToScore]) -> Sequence[Verdict]:
        try:
            async with asyncio.timeout(_SCORE_S):
                return await self._judging.verdicts(scorer, part)
        except TimeoutError:
            self._pace_s[scorer.name] = _SCORE_S / len(part)
            late = Poison(f"There was no score within {_SCORE_S:g} s.")
            return [Verdict(each.number, late, scorer.revision) for each in part]

    async def _write(self, batch: UUID, scorer: str, verdicts: Sequence[Verdict], *, most: int = MAX_FAILURES) -> None:
        if await self._ledger.judged(batch, verdicts, max_failures=most, pause_s=RETRY_S):
            self._gone_on.add(batch)
        for outcome, answers in _outcomes(verdicts).items():
            self._parts.measures.scored(scorer, outcome, answers)

    async def _park(self, batch: UUID, suspect: ToScore) -> None:
        words = f"Scoring it has ended its process {_PARK_AFTER} times, at last while it was scored alone."
        log.error("answer %d is parked: %s", suspect.number, words)
        await self._write(batch, suspect.scorer, [Verdict(suspect.number, Poison(words), "")], most=1)

    async def _set_aside(self, batch: UUID, scorer: str, queue: "_Queue") -> None:
        times = self._away[scorer] = self._away.get(scorer, 0) + 1
        pause_s = min(_AWAY_MOST_S, _AWAY_S * 2.0 ** min(times - 1, 10))
        await self._ledger.set_aside(batch, [each.number for each in queue.left], pause_s=pause_s)

    def _timed(self, scorer: str, samples: int, seconds: float) -> None:
        if samples:
            self._pace_s[scorer] = seconds / samples
        self._parts.measures.took(scorer, samples, seconds)

    @asynccontextmanager
    async def _held(self, batch: UUID) -> AsyncGenerator[None]:
        """Nobody else takes the batch up while the block runs."""

        async def hold() -> None:
            while True:
                await asyncio.sleep(LEASE_S / 4)
                with suppress(Unavailable):
                    await self._ledger.renew(batch, LEASE_S)

        holding = asyncio.create_task(hold())
        try:
            yield
        finally:
            holding.cancel()
            with suppress(asyncio.CancelledError):
                await holding


class _Queue:
    """Answers that a scorer has before it."""

    def __init__(self, left: list[ToScore], *, largest: int) -> None:
        self.left = left
        self._largest = largest

    def first(self, count: int) -> Sequence[ToScore]:
        return self.left[: min(count, self._largest)]

    def drop(self, count: int) -> None:
        del self.left[:count]


def _by_scorer(answers: Sequence[ToScore]) -> Mapping[str, Sequence[ToScore]]:
    groups: dict[str, list[ToScore]] = {}
    for answer in answers:
        groups.setdefault(answer.scorer, []).append(answer)
    return groups


def _outcomes(verdicts: Sequence[Verdict]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for verdict in verdicts:
        outcome = _outcome(verdict.scored)
        counts[outcome] = counts.get(outcome, 0) + 1
    return counts


def _outcome(scored: Scored) -> str:
    match scored:
        case Score():
            return "scored"
        case Abstained():
            return "abstained"
        case Poison():
            return "poison"
