"""Rounds in the ledger: banks, contestants, and answers from being asked for to being looked at."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast
from uuid import UUID

from agon.core.errors import AgonError, Conflict
from agon.core.round_ports import Progress, Submission, Submitted
from agon.core.rounds import (
    AnswerStage,
    Question,
    Round,
    RoundAnswer,
    RoundContestant,
    answer_id,
    from_units,
    prompt_digest,
)
from agon.rounds.refusals import unknown_question, unknown_round
from agon.stores.postgres.database import Connection, Database, Record
from agon.stores.postgres.group_commit import GroupCommit
from agon.stores.postgres.queries import sql
from agon.stores.postgres.submissions import array_literal, write_submissions

BEHIND_THE_BANK = 2**31 - 2
"""The place of questions that came with an answer: whoever is added is not asked them."""
_EVERYWHERE = BEHIND_THE_BANK + 1
_AT_ONCE = 5_000
"""Questions whose digests, or answers whose ids, are reckoned in some tens of milliseconds; nothing else runs then."""


class PostgresRounds:
    """`RoundLedger` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._submissions = GroupCommit[Submission, Submitted](self.commit)

    async def close(self) -> None:
        """Let what was submitted finish."""
        await self._submissions.close()

    async def create(self, new: Round, bank: Sequence[Question]) -> Round:
        async with self._database.transaction() as connection:
            if await connection.fetchrow(sql("insert_round"), *_columns(new)) is not None:
                await _insert_bank(connection, new.id, bank)
                for contestant in new.contestants:
                    await _insert_contestant(connection, new.id, contestant, bank)
            elif not _same(await _find(connection, new.id), new) or list(bank) != await _own_bank(connection, new.id):
                raise Conflict("There is another round of this id already.", code="round_exists", field="id")
            return await _find(connection, new.id)

    async def find(self, round_id: UUID) -> Round:
        row = await self._database.row("find_round", round_id)
        if row is None:
            raise unknown_round()
        return _round(row)

    async def latest(self, *, limit: int, before: UUID | None = None) -> Sequence[Round]:
        return [_round(row) for row in await self._database.rows("latest_rounds", limit, before)]

    async def questions(self, round_id: UUID, *, skip: int = 0, limit: int | None = None) -> Sequence[Question]:
        rows = await self._database.rows("round_bank", round_id, _EVERYWHERE, skip, limit)
        if not rows:
            await self.find(round_id)
        return [_question(row) for row in rows]

    async def add_contestant(self, round_id: UUID, contestant: RoundContestant) -> Round:
        async with self._database.transaction() as connection:
            if not await connection.fetch(sql("lock_rounds"), [round_id]):
                raise unknown_round()
            known = await connection.fetchrow(sql("find_round_contestant"), round_id, contestant.name)
            if known is None:
                bank = await _own_bank(connection, round_id) if contestant.made_here else ()
                await _insert_contestant(connection, round_id, contestant, bank)
            elif known["made_here"] != contestant.made_here:
                where = "made here" if known["made_here"] else "submitted"
                raise Conflict(
                    f"The answers of {contestant.name!r} are {where} in this round.",
                    code="contestant_exists",
                    field="name",
                )
            return await _find(connection, round_id)

    async def submit(self, submissions: Sequence[Submission]) -> Sequence[Submitted | AgonError]:
        if len(submissions) == 1:
            return [await self._one(submissions[0])]
        results = await asyncio.gather(*map(self._one, submissions), return_exceptions=True)
        # What one of them cannot be written for is raised when the others are.
        return [result if isinstance(result, Submitted | AgonError) else _raised(result) for result in results]

    async def commit(self, submissions: Sequence[Submission]) -> list[Submitted | AgonError]:
        """Write a batch in one transaction; a result or the refusal for each, in order."""
        async with self._database.transaction() as connection:
            return await write_submissions(connection, submissions, new_place=BEHIND_THE_BANK)

    async def progress(self, round_id: UUID) -> Sequence[Progress]:
        rows = await self._database.rows("round_progress", round_id)
        if not rows:
            await self.find(round_id)
        stages: dict[str, dict[AnswerStage, int]] = {}
        for row in rows:
            of = stages.setdefault(row["contestant"], {})
            if row["stage"] is not None:
                of[AnswerStage(row["stage"])] = row["answers"]
        return [Progress(contestant, of) for contestant, of in stages.items()]

    async def answers(self, round_id: UUID, question: str) -> Sequence[RoundAnswer]:
        rows = await self._database.rows("answers_to_question", round_id, question)
        if not rows:
            await self.find(round_id)
            raise unknown_question(question)
        return [_answer(row) for row in rows if row["id"] is not None]

    async def troubled(self, round_id: UUID, *, limit: int) -> Sequence[RoundAnswer]:
        rows = await self._database.rows("troubled_answers", round_id, limit)
        if not rows:
            await self.find(round_id)
        return [_answer(row) for row in rows]

    async def rerun(self, round_id: UUID) -> int:
        async with self._database.transaction() as connection:
            if not await connection.fetch(sql("lock_rounds"), [round_id]):
                raise unknown_round()
            return cast("int", await connection.fetchval(sql("rerun_answers"), round_id))

    async def _one(self, submission: Submission) -> Submitted | AgonError:
        try:
            return await self._submissions.submit(submission)
        except AgonError as refusal:
            return refusal


def _raised(error: BaseException) -> NoReturn:
    raise error


async def _insert_bank(connection: Connection, round_id: UUID, bank: Sequence[Question]) -> None:
    for first in range(0, len(bank), _AT_ONCE):
        part = bank[first : first + _AT_ONCE]
        await connection.execute(
            sql("insert_round_questions"),
            [round_id] * len(part),
            [question.key for question in part],
            list(range(first, first + len(part))),
            [question.category for question in part],
            [question.language for question in part],
            [array_literal(question.turns) for question in part],
            [prompt_digest(question.turns) for question in part],
        )


async def _insert_contestant(
    connection: Connection, round_id: UUID, contestant: RoundContestant, bank: Sequence[Question]
) -> None:
    """Add a contestant, and ask it the bank if its answers are made here."""
    name = contestant.name
    await connection.execute(sql("insert_round_contestants"), [round_id], [name], [contestant.made_here])
    if not contestant.made_here:
        return
    for first in range(0, len(bank), _AT_ONCE):
        keys = [question.key for question in bank[first : first + _AT_ONCE]]
        ids = [answer_id(round_id, name, key) for key in keys]
        await connection.execute(sql("insert_pending_answers"), round_id, name, ids, keys)


async def _find(connection: Connection, round_id: UUID) -> Round:
    row = await connection.fetchrow(sql("find_round"), round_id)
    if row is None:
        raise unknown_round()
    return _round(row)


async def _own_bank(connection: Connection, round_id: UUID) -> list[Question]:
    return [_question(row) for row in await connection.fetch(sql("round_bank"), round_id, BEHIND_THE_BANK, 0, None)]


def _columns(new: Round) -> tuple[object, ...]:
    return new.id, new.name, new.scorer, new.strict, new.seed, new.max_tokens, new.anchor


def _same(there: Round, new: Round) -> bool:
    """Whether a round is what is asked for; contestants may have come since."""
    return _columns(there) == _columns(new) and set(new.contestants) <= set(there.contestants)


def _round(row: Record) -> Round:
    names, made_here = row["contestants"] or (), row["made_here"] or ()
    return Round(
        id=row["id"],
        name=row["name"],
        scorer=row["scorer"],
        contestants=tuple(map(RoundContestant, names, made_here)),
        questions=row["questions"],
        strict=row["strict"],
        seed=row["seed"],
        max_tokens=row["max_tokens"],
        anchor=row["anchor"],
        created_at=row["created_at"],
    )


def _question(row: Record) -> Question:
    return Question(row["question"], tuple(row["turns"]), row["category"], row["language"])


def _answer(row: Record) -> RoundAnswer:
    return RoundAnswer(
        id=row["id"],
        round=row["round"],
        question=row["question"],
        contestant=row["contestant"],
        stage=AnswerStage(row["stage"]),
        texts=tuple(row["texts"] or ()),
        score=None if row["score"] is None else from_units(row["score"]),
        error=row["error"],
        detail=cast("Mapping[str, Any] | None", None if row["detail"] is None else json.loads(row["detail"])),
    )
