"""Answers in the ledger, as the runner sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from agon.core.conversation import AnswerState, Fate, Kind, Side
from agon.core.errors import AgonError, NotFound
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.placement import AnswerRef
from agon.core.ports import Outcome, Settlement, StaleAnswer, Work
from agon.core.text import storable
from agon.stores.postgres.database import Connection, Database, Record
from agon.stores.postgres.group_commit import GroupCommit
from agon.stores.postgres.queries import sql

_DECISIVE = (AnswerState.FAILED, AnswerState.FORFEITED)
"""Ends of a side that decide its battle."""
_MOST_TOKENS = 2**31 - 1
"""That the ledger can hold."""


class PostgresAnswers:
    """`AnswerLedger` on PostgreSQL. `temperature` and `top_p` are the arena's, the same for everyone."""

    def __init__(self, database: Database, *, temperature: float | None = None, top_p: float | None = None) -> None:
        self._database = database
        self._temperature = temperature
        self._top_p = top_p
        self._outcomes = GroupCommit[Outcome, Settlement](self._commit)

    async def load(self, ref: AnswerRef) -> Work:
        rows = await self._database.rows("load_answer", *_place(ref))
        if not rows:
            raise NotFound("There is no such answer.", code="answer_not_found")
        facts = rows[0]
        sampling = Sampling(facts["max_tokens"], self._temperature, self._top_p)
        return Work(
            ref=ref,
            kind=Kind(facts["kind"]),
            attempt=facts["attempt"],
            failures=facts["failures"],
            state=AnswerState(facts["state"]),
            request=GenerationRequest(_messages(rows, ref.turn), sampling, facts["seed"]),
            age_s=facts["age_s"],
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
        """Battles are locked before answers, and both in order, so that no two batches can wait for each other."""
        async with self._database.transaction() as connection:
            battles = await _locked(connection, outcomes)
            ends = [_as_written(outcome, battles) for outcome in outcomes]
            await connection.execute(sql("lock_answers"), *_columns(ends)[:3], [end.state.value for end in ends])
            rows = await connection.fetch(sql("settle_answers"), *_columns(ends))
            written: set[int] = {row["place"] - 1 for row in rows}
            fates = await _decide(connection, battles, [ends[place] for place in sorted(written)])
            settled = {ends[place].ref.conversation for place in written}
            await connection.execute(sql("count_forfeits"), list(settled))
        return [
            Settlement(place in written, fates.get(end.ref.conversation, Fate()).void_reason)
            for place, end in enumerate(ends)
        ]


async def _locked(connection: Connection, outcomes: Sequence[Outcome]) -> dict[UUID, Record]:
    """The conversations that these outcomes may decide."""
    ids = {outcome.ref.conversation for outcome in outcomes if outcome.state in _DECISIVE}
    if not ids:
        return {}
    return {row["id"]: row for row in await connection.fetch(sql("lock_fates"), list(ids))}


def _as_written(outcome: Outcome, conversations: Mapping[UUID, Record]) -> Outcome:
    conversation = conversations.get(outcome.ref.conversation)
    if outcome.state is AnswerState.FORFEITED and conversation and conversation["kind"] != Kind.BATTLE.value:
        return replace(outcome, state=AnswerState.FAILED)
    return outcome


async def _decide(
    connection: Connection, conversations: Mapping[UUID, Record], ends: Sequence[Outcome]
) -> Mapping[UUID, Fate]:
    """Write what ends have made of the locked battles; the fates of all of them."""
    before = {id_: _fate(row) for id_, row in conversations.items() if row["kind"] == Kind.BATTLE.value}
    after = dict(before)
    for end in ends:
        if end.ref.conversation in after:
            after[end.ref.conversation] = after[end.ref.conversation].after(end.ref.side, end.state)
    changed = {id_: fate for id_, fate in after.items() if fate != before[id_]}
    if changed:
        sides = [fate.forfeited_by and fate.forfeited_by.value for fate in changed.values()]
        reasons = [fate.void_reason for fate in changed.values()]
        await connection.execute(sql("write_fates"), list(changed), reasons, sides)
    return after


def _fate(row: Record) -> Fate:
    return Fate(row["void_reason"], None if row["forfeited_by"] is None else Side(row["forfeited_by"]))


def _place(ref: AnswerRef) -> tuple[UUID, int, str]:
    return ref.conversation, ref.turn, ref.side.value


def _stale(row: Record) -> StaleAnswer:
    ref = AnswerRef(row["conversation"], row["turn"], Side(row["side"]), row["contestant"])
    return StaleAnswer(ref, Kind(row["kind"]), row["attempt"], row["age_s"])


def _messages(dialogue: Sequence[Record], turn: int) -> tuple[Message, ...]:
    messages: list[Message] = []
    for row in dialogue:
        messages.append(Message("user", row["prompt"]))
        if row["turn"] < turn:
            messages.append(Message("assistant", row["text"] or ""))
    return tuple(messages)


def _countable(tokens: int | None) -> int | None:
    """A count that an engine claims, where it can be one."""
    return tokens if tokens is not None and tokens <= _MOST_TOKENS else None


def _columns(outcomes: Sequence[Outcome]) -> tuple[list[object], ...]:
    """The outcomes as the parallel arrays that `settle_answers` takes."""
    rows = [
        (
            outcome.ref.conversation,
            outcome.ref.turn,
            outcome.ref.side.value,
            outcome.attempt,
            outcome.state.value,
            storable(outcome.text),
            outcome.finish_reason,
            None if outcome.error is None else storable(outcome.error),
            _countable(outcome.prompt_tokens),
            _countable(outcome.completion_tokens),
            outcome.ttft_ms,
            outcome.duration_ms,
        )
        for outcome in outcomes
    ]
    return tuple([list(column) for column in zip(*rows, strict=True)])
