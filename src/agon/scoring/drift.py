"""When the reduced engine's drift is looked at, on which answers, and what is kept of it. PURE."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Protocol

from agon.core.scoring import Sample
from agon.scoring.fidelity import Decision, Fidelity, Gates, Pairs


class Precision(StrEnum):
    FP32 = "fp32"
    INT8 = "int8"


@dataclass(frozen=True, slots=True)
class EngineName:
    """Names everything that decides a score: the model, and the artefact that runs it."""

    model: str
    """Revision of the reward model."""
    precision: Precision = Precision.FP32
    artefact: str = ""
    """Digest of a reduced engine's file; the full one is the model itself."""

    def __str__(self) -> str:
        return "/".join(part for part in (self.model, self.precision, self.artefact) if part)


@dataclass(frozen=True, slots=True)
class DriftSettings:
    every: timedelta = timedelta(hours=168)
    share: float = 0.01
    """Of the answers that the reduced engine has scored since the last look."""
    limit: int = 2_000
    """Answers looked at most, however many were scored."""
    gates: Gates = field(default_factory=Gates)


@dataclass(frozen=True, slots=True)
class Traffic:
    """An answer that the reduced engine has scored."""

    number: int
    sample: Sample
    score: float


@dataclass(frozen=True, slots=True)
class Row:
    """What each engine said of one answer."""

    number: int
    reduced: float
    full: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """One look at the drift: kept whatever it found."""

    engine: EngineName
    decision: Decision
    found: Fidelity | None
    noise: Fidelity | None
    """The full engine beside itself, in other batches."""
    rows: Sequence[Row]
    checked_at: datetime


class DriftLedger(Protocol):
    """Keeps evidence, and which engines have been rolled back. Reads as it writes: what is kept is committed."""

    async def traffic(
        self, engine: EngineName, *, since: datetime | None, share: float, limit: int
    ) -> Sequence[Traffic]:
        """A share of the answers whose score came from this engine, the same for the same answers, newest first."""
        ...

    async def keep(self, evidence: Evidence) -> None:
        """Write a look and, where its verdict says so, the roll-back, in one transaction."""
        ...

    async def latest(self, model: str) -> Evidence | None:
        """The last look at any engine of this model."""
        ...

    async def precision_in_force(self, engine: EngineName) -> Precision:
        """The engine's own precision, unless it was rolled back."""
        ...

    async def restore(self, model: str) -> int:
        """Put every engine of a model that was rolled back in force again; returns how many."""
        ...


def due(latest: Evidence | None, engine: EngineName, now: datetime, every: timedelta) -> bool:
    """Whether it is time to look. An engine that nobody has looked at yet is looked at as soon as it has traffic."""
    return latest is None or latest.engine != engine or now - latest.checked_at >= every


def pairs_of(prompts: Sequence[str], *, seed: str = "") -> Pairs:
    """Pair answers: those to the same prompt with each other, one after the other; then the rest, at random.

    Each answer stands in at most two pairs, so that no single one decides; a draw is the same for the same prompts.
    """
    by_prompt: dict[str, list[int]] = {}
    for place, prompt in enumerate(prompts):
        by_prompt.setdefault(prompt, []).append(place)
    found: list[tuple[int, int]] = [pair for places in by_prompt.values() for pair in pairwise(places)]
    alone = sorted(
        (places[0] for places in by_prompt.values() if len(places) == 1), key=lambda place: _draw(seed, place)
    )
    found.extend(pairwise(alone))
    return Pairs([first for first, _ in found], [second for _, second in found])


def figures(evidence: Evidence) -> Mapping[str, object]:
    """What a look found, as JSON, for the ledger and the page."""
    return {
        "precision": evidence.engine.precision.value,
        "reasons": list(evidence.decision.reasons),
        "found": _fidelity(evidence.found),
        "noise": _fidelity(evidence.noise),
    }


def _fidelity(found: Fidelity | None) -> dict[str, float] | None:
    return None if found is None else {name: getattr(found, name) for name in Fidelity.__dataclass_fields__}


def _draw(seed: str, place: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{place}".encode(), digest_size=8).digest()
