"""Answers in the ledger, as the runner sees them."""

from collections.abc import Sequence

from agon.core.conversation import AnswerState, Kind, Side
from agon.core.errors import AgonError, NotFound
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.ports import AnswerRef, Outcome, Work
from agon.stores.postgres.database import Database, Record
from agon.stores.postgres.group_commit import GroupCommit
from agon.stores.postgres.queries import sql


class PostgresAnswers:
    """`AnswerLedger` on PostgreSQL. `temperature` and `top_p` are the arena's, the same for everyone."""

    def __init__(self, database: Database, *, temperature: float | None = None, top_p: float | None = None) -> None:
        self._database = database
        self._temperature = temperature
        self._top_p = top_p
        self._outcomes = GroupCommit[Outcome, str | None](self._commit)

    async def load(self, ref: AnswerRef) -> Work:
        where = (ref.conversation, ref.turn, ref.side.value)
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

    async def settle(self, outcome: Outcome) -> str | None:
        return await self._outcomes.submit(outcome)

    async def retry(self, ref: AnswerRef, attempt: int, *, failed: bool) -> int | None:
        row = await self._database.row(
            "retry_answer", ref.conversation, ref.turn, ref.side.value, attempt, 1 if failed else 0
        )
        return None if row is None else row["attempt"]

    async def stale(self, older_than_s: float) -> Sequence[tuple[AnswerRef, int, float]]:
        rows = await self._database.rows("stale_answers", older_than_s)
        return [
            (
                AnswerRef(row["conversation"], row["turn"], Side(row["side"]), row["contestant"]),
                row["attempt"],
                row["age_s"],
            )
            for row in rows
        ]

    async def close(self) -> None:
        await self._outcomes.close()

    async def _commit(self, outcomes: Sequence[Outcome]) -> list[str | AgonError | None]:
        failed = [outcome for outcome in outcomes if outcome.state is AnswerState.FAILED]
        async with self._database.transaction() as connection:
            written = {
                (row["conversation"], row["turn"], row["side"])
                for row in await connection.fetch(sql("settle_answers"), *_columns(outcomes))
            }
            voided = [o for o in failed if (o.ref.conversation, o.ref.turn, o.ref.side.value) in written]
            await connection.execute(
                sql("void_battles"),
                [outcome.ref.conversation for outcome in voided],
                [_void_reason(outcome.ref.side) for outcome in voided],
            )
            rows = await connection.fetch(sql("void_reasons"), [outcome.ref.conversation for outcome in failed])
        reasons = {row["id"]: row["void_reason"] for row in rows}
        return [
            reasons.get(outcome.ref.conversation) if outcome.state is AnswerState.FAILED else None
            for outcome in outcomes
        ]


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
            # PostgreSQL's text cannot hold NUL, and a model may say anything.
            outcome.text.replace("\x00", "\ufffd"),
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
