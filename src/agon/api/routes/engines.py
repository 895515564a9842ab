"""Reduced engines of the reward model: what the last looks at them found."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from agon.api.errors import documented
from agon.api.identity import Parts
from agon.rounds.engine_checks import EngineCheck

router = APIRouter(prefix="/arena", tags=["rounds"])

_CHECKS = 20


class EngineFiguresOut(BaseModel):
    """How far an engine's scores are from the full-precision one's, on the same answers."""

    samples: int
    pairs: int
    kl_mean: float
    """Divergence of preferences, in nats."""
    kl_p99: float
    top1: float
    """Share of the pairs in which both prefer the same answer."""


class EngineCheckOut(BaseModel):
    """The last look at one engine."""

    model: str
    """Revision of the reward model."""
    engine: str
    verdict: str
    """`promote`, `roll_back` or `hold`."""
    checked_at: datetime
    rolled_back_since: datetime | None
    """Since when the full-precision engine scores in its place."""
    reasons: list[str]
    """Which gates were missed, or why nothing can be said."""
    found: EngineFiguresOut | None
    noise: EngineFiguresOut | None
    """The full-precision engine beside itself."""

    @classmethod
    def of(cls, check: EngineCheck) -> "EngineCheckOut":
        seen: dict[str, Any] = {name: check.figures.get(name) for name in ("found", "noise")}
        return cls(
            model=check.model,
            engine=check.engine,
            verdict=check.verdict,
            checked_at=check.checked_at,
            rolled_back_since=check.rolled_back_since,
            reasons=list(check.figures.get("reasons", ())),
            **seen,
        )


class EngineChecksOut(BaseModel):
    """The last look at each engine, the newest first; none where no reduced engine has scored anything yet."""

    engines: list[EngineCheckOut]


@router.get("/engines", responses=documented(503))
async def engines(gateway: Parts) -> EngineChecksOut:
    """Whether a reduced engine of the reward model has drifted from the full-precision one, and was rolled back."""
    found = await gateway.engine_checks.latest(limit=_CHECKS)
    return EngineChecksOut(engines=[EngineCheckOut.of(check) for check in found])
