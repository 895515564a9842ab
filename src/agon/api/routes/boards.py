"""Boards, and who can be asked."""

from collections.abc import AsyncGenerator
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from starlette.responses import StreamingResponse

from agon.api.board_schemas import BoardOut, MatrixOut, RatingHistoryOut, ViewOut
from agon.api.errors import documented
from agon.api.identity import Parts
from agon.api.schemas import LimitsOut, ModelOut, ModelsOut, NoteOut, StatusOut, shown_state
from agon.api.streams import EventStream, encode
from agon.arena.notices import notices
from agon.boards.names import MAIN
from agon.bootstrap.gateway import Gateway
from agon.core.board import History, Matrix, View, Window
from agon.core.errors import NotFound
from agon.core.traits import Category

router = APIRouter(prefix="/arena", tags=["boards"])


def _view(
    window: Annotated[Window, Query(description="Votes of these last days, in UTC, today included.")] = Window.ALL,
    category: Annotated[Category | None, Query(description="Votes of this category alone.")] = None,
    style: Annotated[bool, Query(description="Take the length and the formatting of answers out.")] = False,
) -> View:
    return View(window, category, style)


Viewed = Annotated[View, Depends(_view)]


@router.get("/boards/{name}", responses=documented(404, 422, 503))
async def board(name: str, view: Viewed, gateway: Parts) -> BoardOut:
    """A board as it is now. The live one is `main`; it counts every vote unless a part of them is asked for."""
    _check(name)
    found = await gateway.boards.board(view)
    return _empty(gateway, view) if found is None else BoardOut.of(found)


@router.get(
    "/boards/{name}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **documented(404, 422, 503)},
)
async def board_events(name: str, view: Viewed, gateway: Parts) -> Response:
    """The whole board, at once and whenever it changes."""
    _check(name)
    return EventStream(_frames(view, gateway), gateway.metrics)


def _votes_of(
    window: Annotated[Window, Query(description="Votes of these last days, in UTC, today included.")] = Window.ALL,
    category: Annotated[Category | None, Query(description="Votes of this category alone.")] = None,
) -> View:
    return View(window, category)


Votes = Annotated[View, Depends(_votes_of)]


@router.get("/boards/{name}/matrix", responses=documented(404, 422, 503))
async def matrix(name: str, view: Votes, gateway: Parts) -> MatrixOut:
    """Who beats whom how often: as voted, and as the ratings predict it."""
    _check(name)
    found = await gateway.boards.matrix(view)
    return MatrixOut.of(Matrix.empty(name, view) if found is None else found)


@router.get("/boards/{name}/history", responses=documented(404, 422, 503))
async def rating_history(name: str, view: Votes, gateway: Parts) -> RatingHistoryOut:
    """Ratings through time, at the end of each UTC day, over the window that ends with it."""
    _check(name)
    found = await gateway.boards.history(view)
    return RatingHistoryOut.of(History.empty(name, view) if found is None else found)


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
        notices=[NoteOut.model_validate(notice, from_attributes=True) for notice in notices(roster)],
        limits=LimitsOut(prompt_chars=limits.prompt_chars, turns=limits.turns, answer_tokens=limits.answer_tokens),
    )


def _check(name: str) -> None:
    if name != MAIN:
        raise NotFound(f"There is no board named {name!r}.", code="board_not_found", field="name")


def _empty(gateway: Gateway, view: View) -> BoardOut:
    return BoardOut(
        name=MAIN,
        view=ViewOut.model_validate(view, from_attributes=True),
        votes=0,
        forfeits=0,
        updated_at=None,
        min_battles=gateway.settings.board.min_battles,
        rows=[],
        categories=[],
        style=[],
        notes=[],
    )


async def _frames(view: View, gateway: Gateway) -> AsyncGenerator[bytes]:
    if await gateway.boards.board(View()) is None:
        yield encode("board", _empty(gateway, view).model_dump(mode="json"))
    async for found in gateway.boards.boards(view):
        yield encode("board", BoardOut.of(found).model_dump(mode="json"))
