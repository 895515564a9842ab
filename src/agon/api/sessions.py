"""Chats by the name of their session: an id that an answer gave, or a name of the person's own."""

from contextlib import suppress
from uuid import UUID, uuid5

from agon.api.schemas import ChatBody
from agon.arena.asks import Ask, Asked
from agon.arena.conversations import Arena
from agon.core.conversation import Conversation, Kind, Side
from agon.core.errors import Conflict, InvalidInput, NotFound


async def ask_in_session(arena: Arena, ask: Ask, body: ChatBody) -> Asked:
    """Go on with a session, or start it."""
    if body.session_id is None:
        return await arena.start_chat(ask, body.model)
    found = await session(arena, ask.person, body.session_id)
    if found is None:
        try:
            return await arena.start_chat(ask, body.model, session=uuid5(ask.person, body.session_id))
        except Conflict as conflict:
            if conflict.code != "written_twice":
                raise
            # Somebody, perhaps the same ask sent twice, has started it meanwhile.
            found = await arena.find(ask.person, uuid5(ask.person, body.session_id))
    if body.model is not None and body.model != found.contestants[Side.A]:
        raise InvalidInput("A chat keeps its model; leave it out or start a new chat.", field="model")
    return await arena.add_turn(found.id, ask)


async def session(arena: Arena, person: UUID, name: str) -> Conversation | None:
    """The person's chat with that id, or the one that they started under that name. Raises if it is no chat."""
    candidates = [uuid5(person, name)]
    with suppress(ValueError):
        candidates.insert(0, UUID(name))
    for candidate in candidates:
        with suppress(NotFound):
            found = await arena.find(person, candidate)
            if found.kind is not Kind.CHAT:
                raise Conflict("This conversation is not a chat.", code="not_a_chat", field="session_id")
            return found
    return None
