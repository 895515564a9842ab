"""Conversations in the ledger."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import UUID

from agon.core.conversation import Answer, AnswerState, Conversation, Kind, Side, Turn
from agon.core.errors import NotFound
from agon.core.ports import AddTurn, Change, ConversationSummary, NewConversation, NewTurn, Regenerate
from agon.core.votes import Vote, Winner
from agon.stores.postgres.database import Connection, Database, Record
from agon.stores.postgres.queries import sql


class PostgresConversations:
    """`ConversationLedger` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(
        self, new: NewConversation, *, admit: Callable[[], Awaitable[None]] | None = None
    ) -> tuple[Conversation, bool]:
        async with self._database.transaction() as connection:
            await connection.execute(
                sql("start_conversation"),
                new.id,
                new.kind.value,
                new.person,
                new.contestants[Side.A],
                new.contestants.get(Side.B),
                new.propensity,
            )
            earlier = await _earlier_start(connection, new)
            if earlier is not None:
                await connection.execute(sql("unstart_conversation"), new.id)
                return await _find(connection, earlier), False
            await _add_turn(connection, new.id, 1, new.turn, new.contestants)
            if admit is not None:
                await admit()
            return await _find(connection, new.id), True

    async def started_with(self, person: UUID, idempotency_key: str) -> Conversation | None:
        async with self._database.transaction() as connection:
            found = await connection.fetchrow(sql("find_start"), person, idempotency_key)
            return None if found is None else await _find(connection, found["conversation"])

    async def find(self, conversation: UUID) -> Conversation:
        async with self._database.transaction() as connection:
            return await _find(connection, conversation)

    async def amend(self, conversation: UUID, decide: Callable[[Conversation], Awaitable[Change]]) -> Conversation:
        async with self._database.transaction() as connection:
            await connection.fetchrow(sql("lock_conversation"), conversation)
            found = await _find(connection, conversation)
            change = await decide(found)
            if isinstance(change, AddTurn):
                number = found.last_turn.number + 1
                await _add_turn(connection, conversation, number, change.turn, found.contestants)
            elif isinstance(change, Regenerate):
                await connection.execute(sql("reopen_answer"), conversation, change.turn, change.side.value)
            else:
                return found
            return await _find(connection, conversation)

    async def history(self, person: UUID, *, limit: int, before: UUID | None) -> Sequence[ConversationSummary]:
        return [_summary(row) for row in await self._database.rows("history", person, limit, before)]


async def _earlier_start(connection: Connection, new: NewConversation) -> UUID | None:
    """The conversation that the same key started before, having tied the key to this one if there is none."""
    if new.turn.idempotency_key is None:
        return None
    key = new.turn.idempotency_key
    if await connection.fetchrow(sql("claim_start"), new.person, key, new.id) is not None:
        return None
    found = await connection.fetchrow(sql("find_start"), new.person, key)
    return None if found is None else found["conversation"]


async def _add_turn(
    connection: Connection, conversation: UUID, number: int, turn: NewTurn, contestants: Mapping[Side, str]
) -> None:
    await connection.execute(
        sql("add_turn"),
        conversation,
        number,
        turn.prompt,
        turn.seed,
        turn.max_tokens,
        turn.idempotency_key,
        [side.value for side in contestants],
        list(contestants.values()),
    )


async def _find(connection: Connection, conversation: UUID) -> Conversation:
    row = await connection.fetchrow(sql("find_conversation"), conversation)
    if row is None:
        raise NotFound("There is no such conversation.", code="conversation_not_found")
    turns = await connection.fetch(sql("find_turns"), conversation)
    return Conversation(
        id=row["id"],
        kind=Kind(row["kind"]),
        person=row["person"],
        contestants=sides_of(row),
        created_at=row["created_at"],
        turns=_turns(turns),
        void_reason=row["void_reason"],
        vote=_vote(row),
        forfeited_by=None if row["forfeited_by"] is None else Side(row["forfeited_by"]),
    )


def sides_of(row: Record) -> dict[Side, str]:
    """The contestants of a row that has `contestant_a` and perhaps `contestant_b`."""
    contestants = {Side.A: row["contestant_a"]}
    if row["contestant_b"] is not None:
        contestants[Side.B] = row["contestant_b"]
    return contestants


def _vote(row: Record) -> Vote | None:
    if row["receipt"] is None:
        return None
    return Vote(row["receipt"], Winner(row["winner"]), row["vote_key"], row["voted_at"])


def _turns(rows: Sequence[Record]) -> tuple[Turn, ...]:
    numbers = sorted({row["turn"] for row in rows})
    return tuple(_turn([row for row in rows if row["turn"] == number]) for number in numbers)


def _turn(rows: Sequence[Record]) -> Turn:
    first = rows[0]
    answers = {
        Side(row["side"]): Answer(
            side=Side(row["side"]),
            state=AnswerState(row["state"]),
            attempt=row["attempt"],
            text=row["text"],
            finish_reason=row["finish_reason"],
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
        )
        for row in rows
    }
    return Turn(
        number=first["turn"],
        prompt=first["prompt"],
        seed=first["seed"],
        max_tokens=first["max_tokens"],
        created_at=first["created_at"],
        answers=answers,
        idempotency_key=first["idempotency_key"],
    )


def _summary(row: Record) -> ConversationSummary:
    winner = None if row["winner"] is None else Winner(row["winner"])
    kind = Kind(row["kind"])
    return ConversationSummary(
        id=row["id"],
        kind=kind,
        title=row["title"],
        created_at=row["created_at"],
        void=row["void"],
        winner=winner,
        contestants=sides_of(row) if kind is not Kind.BATTLE or winner is not None else None,
        forfeited=row["forfeited"],
    )
