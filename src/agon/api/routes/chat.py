"""Direct chat with one model: wait for the answer, stream it, be told where to watch it, or talk over a WebSocket."""

from contextlib import suppress
from typing import Annotated
from uuid import UUID, uuid4, uuid5

from fastapi import APIRouter, Header, Response, WebSocket
from pydantic import ValidationError
from starlette.responses import JSONResponse
from starlette.websockets import WebSocketDisconnect

from agon.api.errors import body_of, documented, invalid_from
from agon.api.identity import Parts, Person, cookie_header, known_person, parts
from agon.api.schemas import ChatBody, ChatOut, ConversationOut, UsageOut
from agon.api.streams import conversation_frames, event_stream, named
from agon.arena.conversations import Arena, Ask
from agon.bootstrap.gateway import Gateway
from agon.core.conversation import AnswerState, Conversation, Kind, Side
from agon.core.errors import AgonError, Conflict, InvalidInput, NotAllowed, NotFound, Unavailable
from agon.core.events import Position

router = APIRouter(tags=["chat"])


@router.post(
    "/chat",
    response_model=ChatOut,
    responses={202: {"model": ConversationOut}, **documented(404, 409, 422, 429, 503)},
)
async def chat(  # noqa: PLR0917 - the framework passes them by name
    body: ChatBody,
    person: Person,
    gateway: Parts,
    response: Response,
    accept: Annotated[str, Header()] = "",
    prefer: Annotated[str, Header()] = "",
    idempotency_key: Annotated[str | None, Header(max_length=200, min_length=1)] = None,
) -> Response | ChatOut:
    """Ask one model."""
    conversation = await _ask(gateway.arena, body, person, idempotency_key)
    cookies = {"set-cookie": response.headers["set-cookie"]} if "set-cookie" in response.headers else {}
    if "respond-async" in prefer:
        shown = ConversationOut.of(conversation).model_dump(mode="json")
        return JSONResponse(shown, 202, {"Preference-Applied": "respond-async", **cookies})
    followed = gateway.arena.follow(person, conversation.id, _before(conversation))
    if "text/event-stream" in accept:
        stream = event_stream(conversation_frames(followed), gateway.metrics)
        stream.headers.update(cookies)
        return stream
    async for _ in followed:
        pass
    return _whole(await gateway.arena.find(person, conversation.id), body.session_id)


@router.websocket("/chat")
async def chat_socket(socket: WebSocket) -> None:
    """Messages `{session_id, prompt, max_tokens, model}`, each answered with events; errors leave the socket open."""
    gateway = parts(socket)
    person = known_person(socket, gateway)
    if _cross_site(socket):
        await socket.close(1008, NotAllowed("Another site may not act in your name.").message)
        return
    headers: list[tuple[bytes, bytes]] = []
    if person is None:
        person = uuid4()
        headers = [(b"set-cookie", cookie_header(gateway, person).encode())]
    await socket.accept(headers=headers)
    with suppress(WebSocketDisconnect):
        while True:
            await _exchange(socket, gateway, person, await _received(socket))


async def _received(socket: WebSocket) -> str | bytes:
    """The next message, be it sent as text or as bytes."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message["code"])
    text: str | None = message.get("text")
    return message["bytes"] if text is None else text


async def _exchange(socket: WebSocket, gateway: Gateway, person: UUID, message: str | bytes) -> None:
    try:
        body = _parse(message, gateway.settings.limits.body_bytes)
        conversation = await _ask(gateway.arena, body, person, None)
        turn = conversation.last_turn.number
        session = body.session_id or str(conversation.id)
        await socket.send_json({"event": "session", "session_id": session, "turn": turn})
        async for sent in gateway.arena.follow(person, conversation.id, _before(conversation)):
            if sent is not None:
                name, data = named(sent.event)
                await socket.send_json({"event": name, "id": sent.position.encode(), **data})
    except AgonError as error:
        await socket.send_json({"event": "error", **body_of(error)})


def _parse(message: str | bytes, limit: int) -> ChatBody:
    if len(message) > limit:
        raise InvalidInput(f"The message is over {limit} characters.", code="body_too_large")
    try:
        return ChatBody.model_validate_json(message)
    except ValidationError as error:
        raise invalid_from(dict(error.errors()[0])) from None


def _cross_site(socket: WebSocket) -> bool:
    """A browser sends an Origin with every WebSocket; programs usually send none."""
    origin = socket.headers.get("origin")
    return origin is not None and origin.partition("://")[2] != socket.headers.get("host")


async def _ask(arena: Arena, body: ChatBody, person: UUID, key: str | None) -> Conversation:
    ask = Ask(person, body.prompt, key, body.max_tokens)
    if body.session_id is None:
        return await arena.start_chat(ask, body.model)
    found = await _session(arena, person, body.session_id)
    if found is None:
        return await arena.start_chat(ask, body.model, session=uuid5(person, body.session_id))
    if found.kind is not Kind.CHAT:
        raise Conflict("This conversation is not a chat.", code="not_a_chat", field="session_id")
    if body.model is not None and body.model != found.contestants[Side.A]:
        raise InvalidInput("A chat keeps its model; leave it out or start a new chat.", field="model")
    return await arena.add_turn(found.id, ask)


async def _session(arena: Arena, person: UUID, name: str) -> Conversation | None:
    """The person's conversation with that id, or the chat that they started under that name."""
    candidates = [uuid5(person, name)]
    with suppress(ValueError):
        candidates.insert(0, UUID(name))
    for candidate in candidates:
        with suppress(NotFound):
            return await arena.find(person, candidate)
    return None


def _before(conversation: Conversation) -> Position:
    """The position at the start of the last turn."""
    return Position(conversation.last_turn.number)


def _whole(conversation: Conversation, name: str | None) -> ChatOut:
    turn = conversation.last_turn
    answer = turn.answers[Side.A]
    if answer.state is AnswerState.FAILED:
        raise Unavailable("The model could not complete its answer.", code="answer_failed")
    return ChatOut(
        session_id=name or str(conversation.id),
        turn=turn.number,
        text=answer.text or "",
        finish_reason=answer.finish_reason or "stopped",
        usage=UsageOut(prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens),
    )
