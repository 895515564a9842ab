"""Battles, side-by-side comparisons, one's history, votes."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from starlette.responses import StreamingResponse

from agon.api.errors import documented
from agon.api.identity import Parts, Person
from agon.api.schemas import (
    ConversationOut,
    HistoryOut,
    PromptBody,
    RegenerateBody,
    SideBySideBody,
    SummaryOut,
    VoteBody,
    VoteOut,
)
from agon.api.streams import EventStream, conversation_frames
from agon.api.watches import Watch, counted
from agon.arena.asks import Ask
from agon.core.events import Position

router = APIRouter(prefix="/arena", tags=["arena"])

IdempotencyKey = Annotated[str | None, Header(max_length=200, min_length=1)]
LastEventId = Annotated[str | None, Header(max_length=200)]


@router.post("/battles", status_code=201, responses=documented(422, 429, 503))
async def start_battle(
    body: PromptBody, person: Person, gateway: Parts, idempotency_key: IdempotencyKey = None
) -> ConversationOut:
    """Start an anonymous battle."""
    asked = await counted(gateway, gateway.arena.start_battle(Ask(person, body.prompt, idempotency_key)))
    return ConversationOut.of(asked.conversation)


@router.post("/side-by-side", status_code=201, responses=documented(422, 429, 503))
async def start_side_by_side(
    body: SideBySideBody, person: Person, gateway: Parts, idempotency_key: IdempotencyKey = None
) -> ConversationOut:
    """Compare two named models. Never ranked."""
    ask = Ask(person, body.prompt, idempotency_key)
    asked = await counted(gateway, gateway.arena.start_side_by_side(ask, body.models.a, body.models.b))
    return ConversationOut.of(asked.conversation)


@router.get("/battles")
async def history(
    person: Person,
    gateway: Parts,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: UUID | None = None,
) -> HistoryOut:
    """Your own conversations of every kind, newest first."""
    found = await gateway.arena.history(person, limit=limit, before=before)
    return HistoryOut(
        conversations=[SummaryOut.of(summary) for summary in found],
        next=found[-1].id if len(found) == limit else None,
    )


@router.get("/battles/{battle_id}", responses=documented(404))
async def find(battle_id: UUID, person: Person, gateway: Parts) -> ConversationOut:
    """One of your conversations."""
    return ConversationOut.of(await gateway.arena.find(person, battle_id))


@router.post("/battles/{battle_id}/turns", status_code=201, responses=documented(404, 409, 422, 429, 503))
async def add_turn(
    battle_id: UUID, body: PromptBody, person: Person, gateway: Parts, idempotency_key: IdempotencyKey = None
) -> ConversationOut:
    """Ask the same contestants something more."""
    asked = await counted(gateway, gateway.arena.add_turn(battle_id, Ask(person, body.prompt, idempotency_key)))
    return ConversationOut.of(asked.conversation)


@router.get(
    "/battles/{battle_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **documented(404, 422)},
)
async def events(
    battle_id: UUID,
    person: Person,
    gateway: Parts,
    last_event_id: LastEventId = None,
    after: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Both sides as they are written, from where you were, until the last turn is settled."""
    start = last_event_id or after
    position = Position.decode(start) if start else Position()
    found = await gateway.arena.find(person, battle_id)
    watch = Watch(gateway, person, found, found.last_turn, after=position)
    # Nobody can leave what is over.
    seat = None if found.last_turn.settled else watch.seat
    return EventStream(conversation_frames(watch.events()), gateway.metrics, seat)


@router.post("/battles/{battle_id}/stop", responses=documented(404))
async def stop(battle_id: UUID, person: Person, gateway: Parts) -> ConversationOut:
    """Stop what is being written. A stopped answer cannot be voted on; it can be generated again."""
    return ConversationOut.of(await gateway.arena.stop(person, battle_id))


@router.post(
    "/battles/{battle_id}/turns/{turn}/regenerate", status_code=202, responses=documented(404, 409, 422, 429, 503)
)
async def regenerate(
    battle_id: UUID, turn: int, body: RegenerateBody, person: Person, gateway: Parts
) -> ConversationOut:
    """Write a stopped or failed side of the last turn again."""
    asked = await counted(gateway, gateway.arena.regenerate(person, battle_id, turn, body.side))
    return ConversationOut.of(asked.conversation)


@router.post("/battles/{battle_id}/vote", responses=documented(404, 409, 422, 503))
async def vote(
    battle_id: UUID, body: VoteBody, person: Person, gateway: Parts, idempotency_key: IdempotencyKey = None
) -> VoteOut:
    """Vote, once. The reply comes after the ledger has the vote, and tells who the models were."""
    cast = await gateway.arena.vote(person, battle_id, body.winner, idempotency_key)
    if not cast.repeated:
        gateway.jobs.votes_came()
        gateway.metrics.votes.labels(body.winner.value).inc()
    return VoteOut.of(cast)


@router.get("/votes/{receipt}", responses=documented(404))
async def find_vote(receipt: UUID, gateway: Parts) -> VoteOut:
    """What the ledger holds for a receipt."""
    return VoteOut.of(await gateway.arena.find_vote(receipt))
