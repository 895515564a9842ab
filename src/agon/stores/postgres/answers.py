"""Answers in the ledger, as the runner sees them."""

from collections.abc import Sequence
from uuid import UUID

from agon.core.conversation import AnswerState, Kind, Side
from agon.core.errors import AgonError, NotFound
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.placement import AnswerRef
from agon.core.ports import Outcome, Settlement, StaleAnswer, Work
from agon.stores.postgres.database import Database, Record
from agon.stores.postgres.group_commit import GroupCommit
from agon.stores.postgres.queries import sql


class PostgresAnswers:
    """`AnswerLedger` on PostgreSQL. `temperature` and `top_p` are the arena's, the same for everyone."""

    def __init__(self, database: Database, *, temperature: float | None = None, top_p: float | None = None) -> None:
        self._database = database
        self._temperature = temperature
        self._top_p = top_p
        self._outcomes = GroupCommit[Outcome, Settlement](self._commit)

    async def load(self, ref: AnswerRef) -> Work:
        where = _place(ref)
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(sql("load_answer"), *where)
            if row is None:
                raise NotFound("There is no such answer.", code="answer_not_found")
            dialogue = await connection.fetch(sql("load_dialogue"), *where)
        sampling = Sampling(row["max_tokens"], self._temperature, self._top_p)
        return Work(
            ref=ref,
            kind=Kind(row["kind"]),
            attempt=row["attempt"],
            failures=row["failures"],
            state=AnswerState(row["state"]),
            request=GenerationRequest(_messages(dialogue, ref.turn), sampling, row["seed"]),
            age_s=row["age_s"],
        )

    async def settle(self, outcome: Outcome) -> Settlement:
        return await self._outcomes.submit(outcome)

    async def retry(self, ref: AnswerRef, attempt: int, *, failed: bool) -> int | None:
        row = await self._database.row("retry_answer", *_place(ref), attempt, 1 if failed else 0)
        return None if row is None else row["attempt"]

    async def stale(self, older_than_s: float) -> Sequence[StaleAnswer]:
        return [_stale(row) for row in await self._database.rows("stale_answers", older_than_s)]

    async def close(self) -> None:
        await self._outcomes.close()

    async def _commit(self, outcomes: Sequence[Outcome]) -> list[Settlement | AgonError]:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(sql("settle_answers"), *_columns(outcomes))
            written: set[int] = {row["place"] - 1 for row in rows}
            failed = [outcomes[place] for place in sorted(written) if outcomes[place].state is AnswerState.FAILED]
            battles = [outcome.ref.conversation for outcome in failed]
            await connection.execute(
                sql("void_battles"), battles, [_void_reason(outcome.ref.side) for outcome in failed]
            )
            reasons = {row["id"]: row["void_reason"] for row in await connection.fetch(sql("void_reasons"), battles)}
        return [
            Settlement(place in written, reasons.get(outcome.ref.conversation))
            for place, outcome in enumerate(outcomes)
        ]


def _place(ref: AnswerRef) -> tuple[UUID, int, str]:
    return ref.conversation, ref.turn, ref.side.value


def _stale(row: Record) -> StaleAnswer:
    ref = AnswerRef(row["conversation"], row["turn"], Side(row["side"]), row["contestant"])
    return StaleAnswer(ref, Kind(row["kind"]), row["attempt"], row["age_s"])


def _void_reason(side: Side) -> str:
    return f"Model {side.value.upper()} could not complete its answer, so this battle does not count."


def _messages(dialogue: Sequence[Record], turn: int) -> tuple[Message, ...]:
    messages: list[Message] = []
    for row in dialogue:
        messages.append(Message("user", row["prompt"]))
        if row["turn"] < turn:
            messages.append(Message("assistant", row["text"] or ""))
    return tuple(messages)


def _columns(outcomes: Sequence[Outcome]) -> tuple[list[object], ...]:
    """The outcomes as the parallel arrays that `settle_answers` takes."""
    rows = [
        (
            outcome.ref.conversation,
            outcome.ref.turn,
            outcome.ref.side.value,
            outcome.attempt,
            outcome.state.value,
            outcome.text,
            outcome.finish_reason,
            outcome.error,
            outcome.prompt_tokens,
            outcome.completion_tokens,
            outcome.ttft_ms,
            outcome.duration_ms,
        )
        for outcome in outcomes
    ]
    return tuple([list(column) for column in zip(*rows, strict=True)])
