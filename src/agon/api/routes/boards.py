"""Boards, and who can be asked."""

from collections.abc import AsyncGenerator
from typing import Literal

from fastapi import APIRouter, Response
from starlette.responses import StreamingResponse

from agon.api.errors import documented
from agon.api.identity import Parts
from agon.api.schemas import BoardOut, LimitsOut, ModelOut, ModelsOut, StatusOut, shown_state
from agon.api.streams import encode, event_stream
from agon.arena.notices import notices
from agon.boards.names import MAIN
from agon.bootstrap.gateway import Gateway
from agon.core.errors import NotFound

router = APIRouter(prefix="/arena", tags=["boards"])


@router.get("/boards/{name}", responses=documented(404, 503))
async def board(name: str, gateway: Parts) -> BoardOut:
    """A board as it is now. The live one is `main`."""
    _check(name)
    found = await gateway.boards.board(name)
    return _empty(gateway) if found is None else BoardOut.of(found)


@router.get(
    "/boards/{name}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **documented(404)},
)
async def board_events(name: str, gateway: Parts) -> Response:
    """The whole board, at once and whenever it changes."""
    _check(name)
    return event_stream(_frames(name, gateway), gateway.metrics)


@router.get("/models")
async def models(gateway: Parts) -> ModelsOut:
    """The models that can be named in a side-by-side comparison or a chat."""
    roster = await gateway.contestants.roster()
    return ModelsOut(models=[ModelOut.of(entry) for entry in roster.entries])


@router.get("/status")
async def status(gateway: Parts) -> StatusOut:
    """Whether a battle can start, and what bounds it."""
    roster = await gateway.contestants.roster()
    counts: dict[Literal["ready", "loading", "failed", "paused"], int] = {
        "ready": 0,
        "loading": 0,
        "failed": 0,
        "paused": 0,
    }
    for entry in roster.entries:
        counts[shown_state(entry)] += 1
    limits = gateway.limits
    return StatusOut(
        name=gateway.settings.name,
        ready=len(roster.fighters) >= 2,
        contestants=counts,
        notices=notices(roster),
        limits=LimitsOut(prompt_chars=limits.prompt_chars, turns=limits.turns, answer_tokens=limits.answer_tokens),
    )


def _check(name: str) -> None:
    if name != MAIN:
        raise NotFound(f"There is no board named {name!r}.", code="board_not_found", field="name")


def _empty(gateway: Gateway) -> BoardOut:
    return BoardOut(name=MAIN, votes=0, updated_at=None, min_battles=gateway.settings.board.min_battles, rows=[])


async def _frames(name: str, gateway: Gateway) -> AsyncGenerator[bytes]:
    if await gateway.boards.board(name) is None:
        yield encode("board", _empty(gateway).model_dump(mode="json"))
    async for found in gateway.boards.boards(name):
        yield encode("board", BoardOut.of(found).model_dump(mode="json"))
