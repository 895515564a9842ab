"""Looks now and then at what the reduced engine has scored, and takes it out of force when it has drifted."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np

from agon.core.scoring import Sample
from agon.scoring.drift import (
    DriftLedger,
    DriftSettings,
    EngineName,
    Evidence,
    Precision,
    Row,
    Traffic,
    due,
    pairs_of,
)
from agon.scoring.fidelity import Decision, Fidelity, Scores, Verdict, compare, decide
from agon.scoring.measures import DriftMeasures

log = logging.getLogger(__name__)


class FullEngine(Protocol):
    """The full-precision engine, as the guard uses it."""

    async def scores(self, samples: Sequence[Sample], *, together: bool) -> Scores:
        """Score all samples, or raise `Unavailable`; one by one, or several to a run, which changes the rounding."""
        ...


class DriftGuard:
    """Checks one model's reduced engine. Any number of workers may run it: a look too many harms nobody."""

    def __init__(
        self,
        *,
        full: FullEngine,
        ledger: DriftLedger,
        measures: DriftMeasures,
        now: Callable[[], datetime],
        settings: DriftSettings,
        temperature: float = 1.0,
    ) -> None:
        self._full = full
        self._ledger = ledger
        self._measures = measures
        self._now = now
        self._settings = settings
        self._temperature = temperature

    async def check_if_due(self, engine: EngineName) -> Evidence | None:
        """Look, if it is time to, and the engine is in force. Raises `Unavailable` where it cannot."""
        if engine.precision is Precision.FP32 or await self._ledger.precision_in_force(engine) is Precision.FP32:
            return None
        latest = await self._ledger.latest(engine.model)
        if not due(latest, engine, self._now(), self._settings.every):
            return None
        since = latest.checked_at if latest is not None and latest.engine == engine else None
        return await self.check(engine, since=since)

    async def check(self, engine: EngineName, *, since: datetime | None = None) -> Evidence | None:
        """Compare a share of the traffic with the full engine; keep the evidence; roll back if it says so.

        None where there was no traffic to look at: then the next chance is soon, not in a week.
        """
        share, limit = self._settings.share, self._settings.limit
        traffic = await self._ledger.traffic(engine, since=since, share=share, limit=limit)
        if not traffic:
            return None
        evidence = await self._compare(engine, traffic)
        await self._ledger.keep(evidence)
        self._tell(evidence)
        return evidence

    async def _compare(self, engine: EngineName, traffic: Sequence[Traffic]) -> Evidence:
        samples = [each.sample for each in traffic]
        reduced = np.array([each.score for each in traffic])
        # The full engine is measured against itself first: what batches alone change is no drift.
        full = await self._full.scores(samples, together=False)
        again = await self._full.scores(samples, together=True)
        pairs = pairs_of([sample.prompt for sample in samples], seed=str(engine))
        rows = [Row(each.number, each.score, float(score)) for each, score in zip(traffic, full, strict=True)]
        found: Fidelity | None = None
        noise: Fidelity | None = None
        decision = Decision(Verdict.HOLD, ("there are no two answers to compare",))
        if len(pairs):
            noise = compare(full, again, pairs, temperature=self._temperature)
            found = compare(full, reduced, pairs, temperature=self._temperature)
            decision = decide(found, noise, self._settings.gates)
        return Evidence(engine, decision, found, noise, rows, self._now())

    def _tell(self, evidence: Evidence) -> None:
        decision = evidence.decision
        self._measures.checked(decision, evidence.found)
        why = "; ".join(decision.reasons)
        if decision.verdict is Verdict.ROLL_BACK:
            log.error("engine %s is rolled back to full precision: %s", evidence.engine, why)
            self._measures.in_force(Precision.FP32)
        else:
            log.info("engine %s was looked at (%s) %s", evidence.engine, decision.verdict, why)
