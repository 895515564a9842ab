"""Alive, ready, measured."""

from contextlib import suppress

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from agon.api.errors import documented
from agon.api.fleet import show_fleet
from agon.api.identity import Parts
from agon.core.errors import Unavailable

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process is alive."""
    return {"status": "alive"}


@router.get("/readyz", responses=documented(503))
async def readyz(gateway: Parts) -> dict[str, str]:
    """An engine has answered its warm-up, and the ledger and the bus can be reached."""
    roster = await gateway.contestants.roster()
    if not roster.playable:
        raise Unavailable("No engine has answered its warm-up yet.", code="not_ready")
    return {"status": "ready"}


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(gateway: Parts) -> Response:
    """Prometheus metrics of this gateway, and what it knows of the fleet."""
    with suppress(Unavailable):
        show_fleet(gateway.metrics, await gateway.contestants.roster())
    gateway.metrics.watchers.set(gateway.watching.count)
    return Response(generate_latest(gateway.metrics.registry), media_type=CONTENT_TYPE_LATEST)
