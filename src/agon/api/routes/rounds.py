"""Rounds: asked for, watched, looked into."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import ValidationError
from starlette.responses import StreamingResponse

from agon.api.errors import documented, invalid_from
from agon.api.identity import Admin, Parts
from agon.api.round_schemas import (
    NewRoundBody,
    QuestionOut,
    QuestionsOut,
    RerunOut,
    RoundAnswerOut,
    RoundAnswersOut,
    RoundContestantIn,
    RoundDetailOut,
    RoundOut,
    RoundsOut,
    TroubleOut,
)
from agon.api.round_standings_schemas import RivalsOut, RoundBoardOut
from agon.api.streams import EventStream, encode
from agon.bootstrap.gateway import Gateway
from agon.core.rounds import RoundContestant
from agon.rounds.watching import RoundState

ROUNDS = "/arena/rounds"
_QUESTIONS = 1_000

router = APIRouter(prefix=ROUNDS, tags=["rounds"])


async def _new_round(request: Request) -> NewRoundBody:
    """The body, read only when the caller has shown their key: a bank may be large."""
    body = await request.body()
    try:
        # In a thread, since a large one takes a while.
        return await asyncio.to_thread(NewRoundBody.model_validate_json, body)
    except ValidationError as error:
        raise invalid_from(error.errors(include_url=False, include_context=False)[0]) from None


NewRoundRead = Annotated[NewRoundBody, Depends(_new_round)]
_BODY = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewRoundBody"}}}}


@router.post(
    "",
    status_code=201,
    dependencies=[Admin],
    responses=documented(401, 409, 413, 422, 503),
    openapi_extra={"requestBody": _BODY},
)
async def create_round(body: NewRoundRead, gateway: Parts) -> RoundOut:
    """Start a round: its contestants answer every question, a scorer scores the answers, a board ranks them."""
    asked = await asyncio.to_thread(body.asked)
    return RoundOut.of(await gateway.rounds.asking.create(asked))


@router.get("", responses=documented(422, 503))
async def rounds(
    gateway: Parts, limit: Annotated[int, Query(ge=1, le=100)] = 20, before: UUID | None = None
) -> RoundsOut:
    """Rounds, newest first."""
    found = await gateway.rounds.ledger.latest(limit=limit, before=before)
    return RoundsOut(rounds=[RoundOut.of(one) for one in found], next=found[-1].id if len(found) == limit else None)


@router.get("/{round_id}", responses=documented(404, 422, 503))
async def find_round(round_id: UUID, gateway: Parts) -> RoundDetailOut:
    """A round and how far it is."""
    return _detail(await gateway.rounds.watching.state(round_id))


@router.post("/{round_id}/contestants", dependencies=[Admin], responses=documented(401, 404, 409, 422, 503))
async def add_round_contestant(round_id: UUID, body: RoundContestantIn, gateway: Parts) -> RoundOut:
    """Add a contestant to a round, finished or not; only its answers are made."""
    return RoundOut.of(await gateway.rounds.asking.add(round_id, RoundContestant(body.name, body.made_here)))


@router.post("/{round_id}/rerun", dependencies=[Admin], responses=documented(401, 404, 422, 503))
async def rerun_round(round_id: UUID, gateway: Parts) -> RerunOut:
    """Have answers made that failed, and answers scored that were parked, once more."""
    return RerunOut(answers=await gateway.rounds.asking.rerun(round_id))


@router.get("/{round_id}/questions", responses=documented(404, 422, 503))
async def round_questions(
    round_id: UUID,
    gateway: Parts,
    limit: Annotated[int, Query(ge=1, le=10_000)] = _QUESTIONS,
    skip: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> QuestionsOut:
    """The questions of a round, in the order of its bank."""
    found = await gateway.rounds.ledger.questions(round_id, skip=skip, limit=limit)
    return QuestionsOut(
        questions=[QuestionOut.of(question) for question in found],
        next=skip + limit if len(found) == limit else None,
    )


@router.get("/{round_id}/answers", responses=documented(404, 422, 503))
async def round_answers(
    round_id: UUID,
    question: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$", description="Its id.")],
    gateway: Parts,
) -> RoundAnswersOut:
    """All answers to one question, with their scores."""
    found = await gateway.rounds.ledger.answers(round_id, question)
    return RoundAnswersOut(question=question, answers=[RoundAnswerOut.of(answer) for answer in found])


@router.get("/{round_id}/trouble", responses=documented(404, 422, 503))
async def round_trouble(
    round_id: UUID, gateway: Parts, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> TroubleOut:
    """Answers that failed or are parked, with their errors."""
    found = await gateway.rounds.ledger.troubled(round_id, limit=limit)
    return TroubleOut(answers=[RoundAnswerOut.of(answer) for answer in found])


@router.get("/{round_id}/board", responses=documented(404, 422, 503))
async def round_board(
    round_id: UUID,
    gateway: Parts,
    category: Annotated[str | None, Query(max_length=100, description="Its questions alone.")] = None,
) -> RoundBoardOut:
    """The board of a round as it is now."""
    return RoundBoardOut.of(await gateway.rounds.boards.standings(round_id), category)


@router.get("/{round_id}/rivals", responses=documented(404, 422, 503))
async def round_rivals(round_id: UUID, gateway: Parts) -> RivalsOut:
    """Everyone against everyone, on the questions that both have a score on."""
    return RivalsOut.of(await gateway.rounds.boards.standings(round_id))


@router.get(
    "/{round_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **documented(404, 422, 503)},
)
async def round_events(round_id: UUID, gateway: Parts) -> Response:
    """How far a round is (`progress`) and its board (`board`), at once and whenever they change."""
    await gateway.rounds.ledger.find(round_id)
    return EventStream(_frames(round_id, gateway), gateway.metrics)


def _detail(state: RoundState) -> RoundDetailOut:
    return RoundDetailOut.with_progress(state.round, state.progress)


async def _frames(round_id: UUID, gateway: Gateway) -> AsyncGenerator[bytes]:
    async with aclosing(gateway.rounds.watching.events(round_id)) as events:
        async for new in events:
            if new is None:
                yield b": quiet\n\n"
            elif isinstance(new, RoundState):
                yield encode("progress", _detail(new).model_dump(mode="json"))
            else:
                yield encode("board", RoundBoardOut.of(new).model_dump(mode="json"))
