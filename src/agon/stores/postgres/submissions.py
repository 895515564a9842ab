"""Writing answers that were made elsewhere: many to a commit, each once."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from agon.core.errors import AgonError, Conflict
from agon.core.round_ports import Submission, Submitted
from agon.core.rounds import answer_id, prompt_digest
from agon.rounds.refusals import unknown_question, unknown_round
from agon.stores.postgres.database import Connection, Record
from agon.stores.postgres.queries import sql


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A submission that has its place in the ledger, whatever is there already."""

    id: UUID
    submission: Submission
    question: str
    new_contestant: bool
    new_question: bool


_Looked = _Accepted | AgonError


async def write_submissions(
    connection: Connection, submissions: Sequence[Submission], *, new_place: int
) -> list[Submitted | AgonError]:
    """A result or the refusal for each, in order. Questions that come with an answer get the place."""
    looked = await _look(connection, submissions)
    if newcomers := [each for each in looked if isinstance(each, _Accepted) and each.new_contestant]:
        # Nobody else may add a contestant from here on; somebody may have just now.
        rounds = {each.submission.round for each in newcomers}
        await connection.fetch(sql("lock_rounds"), list(rounds))
        looked = await _look(connection, submissions)
        await _add_contestants(connection, [each for each in looked if isinstance(each, _Accepted)])
    accepted = {each.id: each for each in reversed(looked) if isinstance(each, _Accepted)}
    await _add_questions(connection, list(accepted.values()), new_place)
    written = await _insert(connection, accepted)
    there = await _texts(connection, [each for each in accepted if each not in written])
    results: list[Submitted | AgonError] = []
    for each in looked:
        if isinstance(each, AgonError):
            results.append(each)
        elif accepted[each.id] is each and each.id in written:
            results.append(Submitted(each.id))
        else:
            results.append(_repeated(each, there.get(each.id, accepted[each.id].submission.texts)))
    return results


async def _look(connection: Connection, submissions: Sequence[Submission]) -> list[_Looked]:
    rows = await connection.fetch(
        sql("resolve_submissions"),
        [each.round for each in submissions],
        [each.contestant for each in submissions],
        [each.question for each in submissions],
        [b"" if each.question else prompt_digest(each.turns) for each in submissions],
    )
    return [_looked(each, row) for each, row in zip(submissions, rows, strict=True)]


def _looked(submission: Submission, row: Record) -> _Looked:
    if not row["known"]:
        return unknown_round()
    if row["made_here"]:
        name = submission.contestant
        return Conflict(
            f"The answers of {name!r} are made here in this round.", code="contestant_made_here", field="model"
        )
    question: str | None = row["question"]
    new = question is None and not row["strict"] and not submission.question
    if new:
        question = prompt_digest(submission.turns).hex()
    if question is None:
        return unknown_question(submission.question)
    where = answer_id(submission.round, submission.contestant, question)
    return _Accepted(where, submission, question, new_contestant=row["made_here"] is None, new_question=new)


async def _add_contestants(connection: Connection, accepted: Sequence[_Accepted]) -> None:
    names = {(each.submission.round, each.submission.contestant): None for each in accepted if each.new_contestant}
    rounds, contestants = [round_id for round_id, _ in names], [name for _, name in names]
    await connection.fetch(sql("insert_round_contestants"), rounds, contestants, [False] * len(names))


async def _add_questions(connection: Connection, accepted: Sequence[_Accepted], place: int) -> None:
    new = {(each.submission.round, each.question): each.submission.turns for each in accepted if each.new_question}
    if not new:
        return
    nothing = [""] * len(new)
    await connection.execute(
        sql("insert_round_questions"),
        [round_id for round_id, _ in new],
        [key for _, key in new],
        [place] * len(new),
        nothing,
        nothing,
        [array_literal(turns) for turns in new.values()],
        [prompt_digest(turns) for turns in new.values()],
    )


async def _insert(connection: Connection, accepted: dict[UUID, _Accepted]) -> set[UUID]:
    """Write what is new; its ids."""
    if not accepted:
        return set()
    rows = await connection.fetch(
        sql("insert_submitted_answers"),
        list(accepted),
        [each.submission.round for each in accepted.values()],
        [each.question for each in accepted.values()],
        [each.submission.contestant for each in accepted.values()],
        [array_literal(each.submission.texts) for each in accepted.values()],
    )
    return {row["id"] for row in rows}


async def _texts(connection: Connection, answers: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
    if not answers:
        return {}
    rows = await connection.fetch(sql("answer_texts"), answers)
    return {row["id"]: tuple(row["texts"] or ()) for row in rows}


def _repeated(each: _Accepted, there: tuple[str, ...]) -> Submitted | AgonError:
    if there == each.submission.texts:
        return Submitted(each.id, repeated=True)
    name = each.submission.contestant
    return Conflict(
        f"The round has another answer of {name!r} to the question {each.question!r}.",
        code="answer_exists",
        field="text" if len(each.submission.texts) == 1 else "texts",
    )


def array_literal(texts: Sequence[str]) -> str:
    """Texts as PostgreSQL writes an array of them."""
    return "{" + ",".join(_quoted(text) for text in texts) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
