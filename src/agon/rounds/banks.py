"""Question banks: files of questions, and what a bank must be."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from agon.core.errors import InvalidInput, LimitExceeded
from agon.core.rounds import Question
from agon.core.text import storable

MAX_QUESTIONS = 100_000
MAX_PROMPT_CHARS = 100_000
"""All turns of a question together."""
MAX_TURNS = 50
MAX_KEY_CHARS = 200
MAX_LABEL_CHARS = 100
"""A category or a language."""


def load_bank(path: Path) -> tuple[Question, ...]:
    """The questions of a file of JSON lines, JSON or CSV, told by its name. Raises `InvalidInput` with the row."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", code="invalid_bank") from None
    try:
        return parse_bank(text, path.suffix.lower())
    except InvalidInput as error:
        raise InvalidInput(f"{path}, {error.message}", code=error.code, field=error.field) from None


def parse_bank(text: str, suffix: str = ".jsonl") -> tuple[Question, ...]:
    """The questions of a text. Raises `InvalidInput` with the row."""
    if suffix in (".csv", ".tsv"):
        rows = _csv_rows(text, "," if suffix == ".csv" else "\t")
    elif suffix == ".json":
        rows = _json_rows(text)
    else:
        rows = _lines(text)
    bank = [(place, question_of(values, place, number)) for number, (place, values) in enumerate(rows, 1)]
    check_bank([question for _, question in bank], [place for place, _ in bank])
    return tuple(question for _, question in bank)


def question_of(values: Mapping[str, object], place: str, number: int) -> Question:
    """A question as banks write it: `id`, `prompt` or `turns`, `category`, `language`; other names are passed over.

    Without an id it is named by its number. Raises `InvalidInput`.
    """
    key = next((values[name] for name in ("id", "question_id") if values.get(name) is not None), number)
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str):
        raise _wrong(place, "id", "must be a text or a number")
    category, language = (_label(values, name, place) for name in ("category", "language"))
    return Question(key, _turns(values, place), category, language)


def check_bank(bank: Sequence[Question], places: Sequence[str]) -> None:
    """Whether a round can be made of these questions, each named by its place. Raises `InvalidInput`."""
    if not bank:
        raise InvalidInput("questions: a round needs at least one.", code="empty_bank", field="questions")
    if len(bank) > MAX_QUESTIONS:
        raise LimitExceeded(f"questions: at most {MAX_QUESTIONS} make a round.", field="questions")
    seen: dict[str, str] = {}
    for question, place in zip(bank, places, strict=True):
        _check(question, place)
        if question.key in seen:
            words = f"{question.key!r} is the id of {seen[question.key]} already"
            raise _wrong(place, "id", words, code="duplicate_question")
        seen[question.key] = place


def _check(question: Question, place: str) -> None:
    if not question.key.strip() or len(question.key) > MAX_KEY_CHARS:
        raise _wrong(place, "id", f"must have 1 to {MAX_KEY_CHARS} characters")
    field = "prompt" if len(question.turns) == 1 else "turns"
    if not question.turns or not all(turn.strip() for turn in question.turns):
        raise _wrong(place, field, "must not be empty")
    if len(question.turns) > MAX_TURNS:
        raise _wrong(place, field, f"must be at most {MAX_TURNS}", code="limit_exceeded")
    if sum(map(len, question.turns)) > MAX_PROMPT_CHARS:
        raise _wrong(place, field, f"must have at most {MAX_PROMPT_CHARS} characters", code="limit_exceeded")
    for name, label in (("category", question.category), ("language", question.language)):
        if len(label) > MAX_LABEL_CHARS:
            raise _wrong(place, name, f"must have at most {MAX_LABEL_CHARS} characters", code="limit_exceeded")
    texts = {"id": question.key, field: question.prompt, "category": question.category, "language": question.language}
    for name, text in texts.items():
        if storable(text) != text:
            raise _wrong(place, name, "must not hold NUL or half of a surrogate pair")


def _turns(values: Mapping[str, object], place: str) -> tuple[str, ...]:
    turns = values.get("turns")
    prompt = next((values[name] for name in ("prompt", "text") if values.get(name) is not None), None)
    if prompt is not None and not isinstance(prompt, str):
        raise _wrong(place, "prompt", "must be a text")
    if turns is None:
        if prompt is None:
            raise _wrong(place, "prompt", "is missing", code="missing_field")
        return (prompt,)
    if not isinstance(turns, list | tuple) or not all(isinstance(turn, str) for turn in cast("list[object]", turns)):
        raise _wrong(place, "turns", "must be a list of texts")
    told = tuple(cast("Sequence[str]", turns))
    if prompt is not None and told[:1] != (prompt,):
        raise _wrong(place, "prompt", "must be the first of the turns where both are given")
    return told


def _label(values: Mapping[str, object], name: str, place: str) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(place, name, "must be a text")
    return value.strip()


def _wrong(place: str, field: str, rule: str, *, code: str = "invalid_input") -> InvalidInput:
    kind = LimitExceeded if code == "limit_exceeded" else InvalidInput
    return kind(f"{place}: {field}: {rule}.", code=code, field=f"{place}.{field}")


_Rows = Iterable[tuple[str, Mapping[str, object]]]


def _lines(text: str) -> _Rows:
    # Not `splitlines`: texts may hold signs that it takes for ends of lines.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"line {number}", _object(_json(line, f"line {number}"), f"line {number}")


def _json_rows(text: str) -> _Rows:
    found = _json(text, "the file")
    if isinstance(found, dict):
        found = cast("dict[str, Any]", found).get("questions")
    if not isinstance(found, list):
        raise InvalidInput("the file: it must be a list of questions, or hold one as `questions`.", code="invalid_bank")
    for number, values in enumerate(cast("list[object]", found), 1):
        yield f"question {number}", _object(values, f"question {number}")


def _csv_rows(text: str, delimiter: str) -> _Rows:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        place = f"line {rows.line_num + 1}"
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidInput(f"{place}: {error}.", code="invalid_bank") from None
        if header is None:
            header = row
        elif row:
            yield place, _named(header, row, place)


def _named(header: Sequence[str], row: Sequence[str], place: str) -> Mapping[str, object]:
    """A row's values that are not empty; `turn_1`, `turn_2` … are its turns."""
    if len(row) != len(header):
        raise InvalidInput(f"{place}: it has more or fewer fields than the header.", code="invalid_bank")
    values: dict[str, object] = {name: value for name, value in zip(header, row, strict=True) if value}
    turns = [values[name] for name in header if name.startswith("turn_") and name in values]
    return values | ({"turns": turns} if turns else {})


def _json(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{place}: it is no JSON: {error}.", code="invalid_bank") from None


def _object(values: object, place: str) -> Mapping[str, object]:
    if not isinstance(values, dict):
        raise InvalidInput(f"{place}: it is no object with named values.", code="invalid_bank")
    return cast("dict[str, object]", values)
