"""Direct chat with one model: wait for the answer, stream it, or ask for it later."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Request, Response
from starlette.responses import JSONResponse

from agon.api.errors import documented
from agon.api.identity import Parts, Person
from agon.api.leaving import departure, while_there
from agon.api.schemas import ChatBody, ChatOut, ChatResultOut, ConversationOut
from agon.api.sessions import ask_in_session
from agon.api.streams import EventStream, conversation_frames
from agon.api.watches import Watch, counted
from agon.arena.asks import Ask, Asked
from agon.bootstrap.gateway import Gateway
from agon.core.conversation import AnswerState, Conversation, Kind, Side, Turn
from agon.core.errors import NotFound, Unavailable
from agon.core.placement import AnswerRef
from agon.core.ports import TurnRef

router = APIRouter(tags=["chat"])

_LEFT = 499
"""What the metrics show of a request whose client did not wait for the answer; nobody receives it."""


@router.post(
    "/chat",
    response_model=ChatOut,
    responses={202: {"model": ConversationOut}, **documented(404, 409, 422, 429, 503)},
)
async def chat(  # noqa: PLR0917 - the framework passes them by name
    body: ChatBody,
    request: Request,
    person: Person,
    gateway: Parts,
    response: Response,
    accept: Annotated[str, Header()] = "",
    prefer: Annotated[str, Header()] = "",
    idempotency_key: Annotated[str | None, Header(max_length=200, min_length=1)] = None,
) -> Response | ChatOut:
    """Ask one model."""
    ask = Ask(person, body.prompt, idempotency_key, body.max_tokens)
    asked = await counted(gateway, ask_in_session(gateway.arena, ask, body))
    cookies = {"set-cookie": response.headers["set-cookie"]} if "set-cookie" in response.headers else {}
    if "respond-async" in prefer:
        return await _for_later(gateway, asked, cookies)
    # One who gave a key may come back with it; one who did not takes the turn along.
    grace_s = 0.0 if idempotency_key is None else None
    watch = Watch(gateway, person, asked.conversation, asked.turn, alone=True, grace_s=grace_s)
    if "text/event-stream" in accept:
        stream = EventStream(conversation_frames(watch.events()), gateway.metrics, watch.seat)
        stream.headers.update(cookies)
        return stream
    async with watch.seat as seat:
        if not await while_there(departure(request.receive), watch.see_out()):
            seat.went()
            return Response(status_code=_LEFT)
    found = await gateway.arena.find(person, asked.conversation.id)
    return _whole(found, found.turns[asked.turn.number - 1], body.session_id)


@router.get("/chat/result/{result}", responses=documented(404, 503))
async def result(result: str, person: Person, gateway: Parts) -> ChatResultOut:
    """What has become of an answer that was asked for with `Prefer: respond-async`; for whoever asked it."""
    conversation, turn = await _turn_of(gateway, person, result)
    answer = turn.answers[Side.A]
    text = answer.text or ""
    if answer.state is AnswerState.PENDING:
        text = await gateway.arena.said(
            AnswerRef(conversation.id, turn.number, Side.A, conversation.contestants[Side.A])
        )
    return ChatResultOut.of(conversation, turn, text)


async def _for_later(gateway: Gateway, asked: Asked, cookies: dict[str, str]) -> Response:
    """Tell where the answer will be. Nobody has to watch it until then."""
    turn = TurnRef(asked.conversation.id, asked.turn.number)
    await gateway.watching.keep_for_later(turn)
    shown = ConversationOut.of(asked.conversation).model_dump(mode="json")
    headers = {"Preference-Applied": "respond-async", "Location": f"/chat/result/{turn.conversation}.{turn.number}"}
    return JSONResponse(shown, 202, {**headers, **cookies})


async def _turn_of(gateway: Gateway, person: UUID, result: str) -> tuple[Conversation, Turn]:
    name, _, number = result.rpartition(".")
    try:
        found = await gateway.arena.find(person, UUID(name))
        if found.kind is Kind.CHAT and number.isdecimal() and 1 <= int(number) <= len(found.turns):
            return found, found.turns[int(number) - 1]
    except (NotFound, ValueError):
        pass
    raise NotFound("There is no such answer of yours.", code="result_not_found", field="result")


def _whole(conversation: Conversation, turn: Turn, name: str | None) -> ChatOut:
    if turn.answers[Side.A].state is AnswerState.FAILED:
        raise Unavailable("The model could not complete its answer.", code="answer_failed")
    return ChatOut.of(conversation, turn, name)
