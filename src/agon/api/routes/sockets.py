"""Direct chat over a WebSocket."""

import asyncio
from contextlib import aclosing
from uuid import UUID, uuid4

from fastapi import APIRouter, WebSocket
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.websockets import WebSocketDisconnect

from agon.api.errors import body_of, invalid_from
from agon.api.identity import cookie_header, known_person, parts
from agon.api.leaving import while_there
from agon.api.schemas import ChatBody, ResumeBody
from agon.api.sessions import ask_in_session, session
from agon.api.streams import named
from agon.api.watches import Watch, counted
from agon.arena.asks import Ask
from agon.bootstrap.gateway import Gateway
from agon.core.errors import AgonError, InvalidInput, NotAllowed, NotFound
from agon.core.events import Position

router = APIRouter()

_AHEAD = 16
"""Messages that are read ahead while one is being answered."""


@router.websocket("/chat")
async def chat_socket(socket: WebSocket) -> None:
    """Messages with a prompt or with where to resume, each answered with events; errors leave the socket open."""
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
    talk = _Talk(socket, gateway, person)
    reading = asyncio.create_task(talk.read())
    try:
        await talk.answer()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


class _Talk:
    """One socket. What comes is read ahead, so that its end is noticed while a message is being answered."""

    def __init__(self, socket: WebSocket, gateway: Gateway, person: UUID) -> None:
        self._socket = socket
        self._gateway = gateway
        self._person = person
        self._messages: asyncio.Queue[str | bytes] = asyncio.Queue(_AHEAD)
        self._gone = asyncio.Event()

    async def read(self) -> None:
        """Take in messages, be they sent as text or as bytes, until the client is gone."""
        try:
            while (message := await self._socket.receive())["type"] != "websocket.disconnect":
                text: str | None = message.get("text")
                await self._messages.put(message["bytes"] if text is None else text)
        finally:
            self._gone.set()

    async def answer(self) -> None:
        """Answer message after message until the client is gone."""
        while (message := await self._next()) is not None:
            try:
                await self._show(await self._watch(_parse(message, self._gateway.settings.limits.body_bytes)))
            except AgonError as error:
                await self._send({"event": "error", **body_of(error)})

    async def _next(self) -> str | bytes | None:
        messages: list[str | bytes] = []

        async def get() -> None:
            messages.append(await self._messages.get())

        await while_there(self._gone.wait(), get())
        return messages[0] if messages else None

    async def _watch(self, body: ChatBody | ResumeBody) -> Watch:
        gateway, person = self._gateway, self._person
        if isinstance(body, ChatBody):
            ask = Ask(person, body.prompt, None, body.max_tokens)
            asked = await counted(gateway, ask_in_session(gateway.arena, ask, body))
            name, conversation, turn = body.session_id or str(asked.conversation.id), asked.conversation, asked.turn
            watch = Watch(gateway, person, conversation, turn, alone=True)
        else:
            found = await session(gateway.arena, person, body.session_id)
            if found is None:
                raise NotFound("There is no such session.", code="session_not_found", field="session_id")
            name, turn = body.session_id, found.last_turn
            watch = Watch(gateway, person, found, turn, after=_position(body.resume_from))
        await self._send({"event": "session", "session_id": name, "turn": turn.number})
        return watch

    async def _show(self, watch: Watch) -> None:
        async with watch.seat as seat:
            if not await while_there(self._gone.wait(), self._push(watch)):
                seat.went()

    async def _push(self, watch: Watch) -> None:
        async with aclosing(watch.events()) as events:
            async for sent in events:
                if sent is not None:
                    name, data = named(sent.event)
                    await self._send({"event": name, "id": sent.position.encode(), **data})

    async def _send(self, message: dict[str, object]) -> None:
        try:
            await self._socket.send_json(message)
        except (WebSocketDisconnect, RuntimeError):
            self._gone.set()


def _parse(message: str | bytes, limit: int) -> ChatBody | ResumeBody:
    if len(message) > limit:
        raise InvalidInput(f"The message is over {limit} characters.", code="body_too_large")
    try:
        raw = from_json(message)
    except ValueError:
        raise InvalidInput("The body is not valid JSON.", code="invalid_json") from None
    kind = ResumeBody if isinstance(raw, dict) and "resume_from" in raw else ChatBody
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise invalid_from(dict(error.errors()[0])) from None


def _position(text: str) -> Position:
    try:
        return Position.decode(text)
    except InvalidInput as error:
        raise InvalidInput(error.message, code=error.code, field="resume_from") from None


def _cross_site(socket: WebSocket) -> bool:
    """A browser sends an Origin with every WebSocket; programs usually send none."""
    origin = socket.headers.get("origin")
    return origin is not None and origin.partition("://")[2] != socket.headers.get("host")
