"""How events and boards are written in Redis: JSON with short keys."""

import json
from dataclasses import asdict, astuple
from typing import Any, cast

from agon.core.board import (
    Board,
    BoardNote,
    BoardRow,
    CategoryVotes,
    History,
    Matrix,
    Published,
    Series,
    StyleWeight,
    View,
    Window,
)
from agon.core.conversation import AnswerState, Side
from agon.core.events import Event, Fault, Packet, Settled, Usage, Void, Waiting
from agon.core.traits import Category


def encode_event(event: Event) -> str:
    match event:
        case Packet(turn, side, attempt, offset, text, opening, tokens, logprobs):
            rest = [] if logprobs is None else [logprobs]
            return _dump(["p", turn, side.value, attempt, offset, text, opening, tokens, *rest])
        case Settled(turn, side, attempt, state, length, reason, usage, fault):
            rest = [] if usage is fault is None else [_fields(usage), _fields(fault)]
            return _dump(["s", turn, side.value, attempt, state.value, length, reason, *rest])
        case Waiting(turn, side, words):
            return _dump(["w", turn, side.value, words])
        case Void(reason):
            return _dump(["v", reason])


def decode_event(text: str) -> Event:
    kind, *rest = json.loads(text)
    if kind == "p":
        turn, side, attempt, offset, answer, opening, tokens, *more = rest
        logprobs = tuple(more[0]) if more else None
        return Packet(turn, Side(side), attempt, offset, answer, opening, tokens, logprobs)
    if kind == "s":
        turn, side, attempt, state, length, reason, *more = rest
        usage, fault = more or (None, None)
        return Settled(
            turn,
            Side(side),
            attempt,
            AnswerState(state),
            length,
            reason,
            None if usage is None else Usage(*usage),
            None if fault is None else Fault(*fault),
        )
    if kind == "w":
        turn, side, words = rest
        return Waiting(turn, Side(side), words)
    return Void(*rest)


def _fields(value: Usage | Fault | None) -> list[Any] | None:
    return None if value is None else [*astuple(value)]


def encode_published(published: Published) -> str:
    return _dump(asdict(published))


def decode_board(text: str) -> Board:
    raw: dict[str, Any] = json.loads(text)
    rows = tuple(_row(**row) for row in raw.pop("rows"))
    categories = tuple(CategoryVotes(Category(each["category"]), each["votes"]) for each in raw.pop("categories"))
    style = tuple(StyleWeight(**each) for each in raw.pop("style"))
    view, notes = _view(raw.pop("view")), _notes(raw.pop("notes"))
    return Board(**raw, rows=rows, view=view, categories=categories, style=style, notes=notes)


def decode_matrix(text: str) -> Matrix:
    raw: dict[str, Any] = json.loads(text)
    view = _view(raw.pop("view"))
    return Matrix(**{name: _tuples(value) for name, value in raw.items()}, view=view)


def decode_history(text: str) -> History:
    raw: dict[str, Any] = json.loads(text)
    view = _view(raw.pop("view"))
    series = tuple(Series(**{name: _tuples(value) for name, value in each.items()}) for each in raw.pop("series"))
    return History(**{name: _tuples(value) for name, value in raw.items()}, view=view, series=series)


def _view(raw: dict[str, Any]) -> View:
    category = raw["category"]
    return View(Window(raw["window"]), None if category is None else Category(category), raw["style"])


def _row(*, notes: list[dict[str, str]], **fields: Any) -> BoardRow:
    return BoardRow(**fields, notes=_notes(notes))


def _notes(raw: list[dict[str, str]]) -> tuple[BoardNote, ...]:
    return tuple(BoardNote(**note) for note in raw)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, cast("list[Any]", value))) if isinstance(value, list) else value


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
