"""Answers that were made elsewhere, on their way into the ledger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast
from uuid import UUID

from agon.core.errors import AgonError, InvalidInput, LimitExceeded, Unavailable
from agon.core.round_ports import RoundLedger, Submission, Submitted
from agon.core.text import storable
from agon.rounds.bank_copies import BankCopies
from agon.rounds.banks import MAX_KEY_CHARS, MAX_PROMPT_CHARS, MAX_TURNS
from agon.rounds.refusals import unknown_question
from agon.rounds.rounds import check_contestant

MAX_ANSWERS = 1_000
"""Of one request."""
MAX_ANSWER_CHARS = 200_000
"""All turns of an answer together."""
_FIELDS = frozenset({"round_id", "model", "question", "prompt", "turns", "text", "texts"})


class Submitting:
    """Takes answers from whoever sends them."""

    def __init__(self, ledger: RoundLedger, copies: BankCopies, *, answers_came: Callable[[], None]) -> None:
        self._ledger = ledger
        self._copies = copies
        self._answers_came = answers_came

    async def submit(self, sent: Sequence[object]) -> list[Submitted | AgonError]:
        """A result, when the ledger has it, or the refusal for each, in order.

        Raises `Unavailable` where nothing could be done for any of them; sending all of them again does no harm.
        """
        results: list[Submitted | AgonError | None] = [None] * len(sent)
        taken: list[tuple[int, Submission]] = []
        for place, values in enumerate(sent):
            try:
                taken.append((place, await self._admitted(read_submission(values))))
            except AgonError as refusal:
                results[place] = refusal
        if taken:
            written = await self._ledger.submit([submission for _, submission in taken])
            for (place, _), result in zip(taken, written, strict=True):
                results[place] = result
            if any(isinstance(result, Submitted) and not result.repeated for result in written):
                self._answers_came()
        done = [result for result in results if result is not None]
        if done and isinstance(done[0], Unavailable) and all(isinstance(result, Unavailable) for result in done):
            raise done[0]
        return done

    async def _admitted(self, submission: Submission) -> Submission:
        """Looks into the copy of a strict round's bank. Raises `NotFound`."""
        bank = await self._copies.of(submission.round)
        if not bank.strict:
            return submission
        question = bank.find(submission.question, submission.turns)
        if question is None:
            raise unknown_question(submission.question)
        return replace(submission, question=question, turns=())


def read_submission(values: object) -> Submission:
    """A submission as it comes over HTTP. Raises `InvalidInput` naming the field."""
    if not isinstance(values, dict):
        raise InvalidInput("answers: each must be an object.", field="answers")
    fields = cast("Mapping[str, object]", values)
    if unknown := fields.keys() - _FIELDS:
        name = min(unknown)
        raise InvalidInput(f"{storable(name)}: there is no such field.", field=storable(name))
    model = _text(fields, "model")
    check_contestant(model, "model")
    texts = _one_or_many(fields, "text", "texts", MAX_ANSWER_CHARS)
    round_id = _round_id(fields)
    if fields.get("question") is None:
        return Submission(round_id, model, texts, turns=_prompt(fields))
    if fields.get("prompt") is not None or fields.get("turns") is not None:
        raise InvalidInput("question: give either the question's id or its prompt, not both.", field="question")
    question = _text(fields, "question")
    if not question or len(question) > MAX_KEY_CHARS:
        raise InvalidInput(f"question: it must have 1 to {MAX_KEY_CHARS} characters.", field="question")
    return Submission(round_id, model, texts, question=question)


def _prompt(fields: Mapping[str, object]) -> tuple[str, ...]:
    if fields.get("prompt") is None and fields.get("turns") is None:
        raise InvalidInput("question: it is missing, and so is the prompt.", code="missing_field", field="question")
    turns = _one_or_many(fields, "prompt", "turns", MAX_PROMPT_CHARS)
    if not all(turn.strip() for turn in turns):
        field = "turns" if fields.get("prompt") is None else "prompt"
        raise InvalidInput(f"{field}: it must not be empty.", field=field)
    return turns


def _round_id(fields: Mapping[str, object]) -> UUID:
    try:
        return UUID(_text(fields, "round_id"))
    except ValueError:
        raise InvalidInput("round_id: it must be a UUID.", field="round_id") from None


def _one_or_many(fields: Mapping[str, object], one: str, many: str, most_chars: int) -> tuple[str, ...]:
    """One text, or a list of texts by turn."""
    if fields.get(many) is None:
        texts, field = (_text(fields, one),), one
    elif fields.get(one) is not None:
        raise InvalidInput(f"{many}: give either {one} or {many}, not both.", field=many)
    else:
        texts, field = _texts(fields, many), many
    if sum(map(len, texts)) > most_chars:
        raise LimitExceeded(f"{field}: it may have {most_chars} characters at most.", field=field)
    return texts


def _texts(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    values = fields[name]
    if not isinstance(values, list):
        raise InvalidInput(f"{name}: it must be a list of texts.", field=name)
    if not 1 <= len(cast("list[object]", values)) <= MAX_TURNS:
        raise InvalidInput(f"{name}: it must hold 1 to {MAX_TURNS} texts.", field=name)
    return tuple(_checked(value, name) for value in cast("list[object]", values))


def _text(fields: Mapping[str, object], name: str) -> str:
    if fields.get(name) is None:
        raise InvalidInput(f"{name}: it is missing.", code="missing_field", field=name)
    return _checked(fields[name], name)


def _checked(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name}: it must be a text.", field=name)
    if storable(value) != value:
        raise InvalidInput(f"{name}: it must not hold NUL or half of a surrogate pair.", field=name)
    return value
