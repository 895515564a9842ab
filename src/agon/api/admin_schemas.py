"""What goes over HTTP between the arena and its admins."""

import hashlib
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from agon.api.schemas import Body
from agon.config import HttpUrl
from agon.core.contestants import ContestantKind, ContestantState, EngineState
from agon.core.placement import ReplicaStatus
from agon.core.roster import RosterEntry


class ContestantOut(BaseModel):
    """A contestant as an admin sees it."""

    name: str
    kind: ContestantKind
    model: str
    urls: list[str]
    key_env: str | None
    weight: float
    max_concurrent: int
    state: ContestantState
    engine: EngineState
    detail: str
    active: int
    waiting: int
    replicas: list["ReplicaOut"]

    @classmethod
    def of(cls, entry: RosterEntry) -> "ContestantOut":
        contestant, engine = entry.contestant, entry.engine
        return cls(
            name=contestant.name,
            kind=contestant.kind,
            model=contestant.model,
            urls=list(contestant.urls),
            key_env=contestant.key_env,
            weight=contestant.weight,
            max_concurrent=contestant.max_concurrent,
            state=contestant.state,
            engine=engine.state,
            detail=engine.detail,
            active=engine.active,
            waiting=engine.waiting,
            replicas=[ReplicaOut.of(replica) for replica in entry.replicas],
        )


class ReplicaOut(BaseModel):
    """One engine that answers for a contestant, as the whole fleet sees it."""

    id: str
    contestant: str
    label: str
    """Stands for it in metrics, which name no model."""
    state: EngineState
    detail: str
    url: str | None
    capacity: int
    """Turns it can run at the same time."""
    active: int
    """Turns that run."""
    turns: int
    """Turns that run or wait."""
    outstanding_tokens: int
    rate_tokens_per_s: float
    """What it writes with all its places taken, as measured."""

    @classmethod
    def of(cls, replica: ReplicaStatus) -> "ReplicaOut":
        return cls(
            id=replica.id,
            contestant=replica.contestant,
            label=replica_label(replica.id),
            state=replica.state,
            detail=replica.detail,
            url=replica.url,
            capacity=replica.capacity,
            active=replica.active,
            turns=replica.turns,
            outstanding_tokens=replica.outstanding_tokens,
            rate_tokens_per_s=replica.rate_tokens_per_s,
        )


class ReplicasOut(BaseModel):
    replicas: list[ReplicaOut]


class ReplicaPatch(Body):
    """What is to become of a replica: `draining` finishes what it has and gets nothing new, `ready` is used again."""

    state: Literal["draining", "ready"] = Field(examples=["draining"])


class ContestantsOut(BaseModel):
    contestants: list[ContestantOut]


class ContestantPatch(Body):
    """What of a contestant is to change; what is left out stays."""

    weight: Annotated[float, Field(ge=0)] | None = None
    state: Literal["active", "paused"] | None = None
    urls: tuple[HttpUrl, ...] | None = Field(default=None, min_length=1)
    """Its servers, in place of those it has; not for a model that runs inside the runner."""


def replica_label(replica: str) -> str:
    """A short name that tells nothing of the model."""
    return hashlib.blake2b(replica.encode(), digest_size=4).hexdigest()
