"""Contestants and their replicas, changed while the arena runs."""

from dataclasses import replace

from fastapi import APIRouter

from agon.api.admin_schemas import ContestantOut, ContestantPatch, ContestantsOut, ReplicaOut, ReplicaPatch, ReplicasOut
from agon.api.errors import documented
from agon.api.identity import Admin, Parts
from agon.bootstrap.contestants import contestant_of, with_urls
from agon.bootstrap.gateway import Gateway
from agon.config import ContestantSettings
from agon.core.contestants import Contestant, ContestantState, Origin
from agon.core.errors import NotFound

router = APIRouter(prefix="/admin", tags=["admin"], dependencies=[Admin], responses=documented(401))


@router.get("/contestants")
async def contestants(gateway: Parts) -> ContestantsOut:
    """Every contestant, with how its engine is."""
    roster = await gateway.contestants.roster()
    return ContestantsOut(contestants=[ContestantOut.of(entry) for entry in roster.entries])


@router.post("/contestants", status_code=201, responses=documented(409, 422))
async def add(body: ContestantSettings, gateway: Parts) -> ContestantOut:
    """Add a contestant. It plays as soon as its engine has answered a warm-up."""
    await gateway.contestants.add(contestant_of(body, gateway.settings, Origin.ADMIN))
    return await _shown(gateway, body.name)


@router.patch("/contestants/{name}", responses=documented(404, 422))
async def change(name: str, body: ContestantPatch, gateway: Parts) -> ContestantOut:
    """Re-weight, pause or resume a contestant, or give it other servers."""

    def changed(contestant: Contestant) -> Contestant:
        weight = contestant.weight if body.weight is None else body.weight
        state = contestant.state if body.state is None else ContestantState(body.state)
        served = contestant if body.urls is None else with_urls(contestant, body.urls)
        return replace(served, weight=weight, state=state)

    await gateway.contestants.change(name, changed)
    return await _shown(gateway, name)


@router.delete("/contestants/{name}", status_code=204, responses=documented(404))
async def remove(name: str, gateway: Parts) -> None:
    """Remove a contestant. What it is answering it finishes; its battles and votes stay."""
    await gateway.contestants.change(name, lambda contestant: replace(contestant, state=ContestantState.REMOVED))


@router.get("/replicas")
async def replicas(gateway: Parts) -> ReplicasOut:
    """Every replica that a living runner serves, with what it has to do."""
    found = await gateway.contestants.replicas()
    return ReplicasOut(replicas=[ReplicaOut.of(replica) for replica in found])


@router.patch("/replicas/{id:path}", responses=documented(404, 422))
async def change_replica(id: str, body: ReplicaPatch, gateway: Parts) -> ReplicaOut:  # noqa: A002 - its public name
    """Drain a replica, or use it again. It is kept in the ledger, and a drained one finishes what it has."""
    return ReplicaOut.of(await gateway.contestants.drain(id, draining=body.state == "draining"))


async def _shown(gateway: Gateway, name: str) -> ContestantOut:
    entry = (await gateway.contestants.roster()).get(name)
    if entry is None:
        raise NotFound(f"There is no contestant named {name!r}.", code="contestant_not_found", field="name")
    return ContestantOut.of(entry)
