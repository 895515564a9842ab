"""How events, references and boards are written in Redis: JSON with short keys."""

import json
from dataclasses import asdict
from typing import Any
from uuid import UUID

from agon.core.board import Board, BoardNote, BoardRow
from agon.core.contestants import EngineState, EngineStatus
from agon.core.conversation import AnswerState, Side
from agon.core.events import Event, Packet, Settled, Void
from agon.core.ports import AnswerRef


def encode_event(event: Event) -> str:
    if isinstance(event, Packet):
        return _dump(["p", event.turn, event.side.value, event.attempt, event.offset, event.text, event.opening])
    if isinstance(event, Settled):
        return _dump(
            ["s", event.turn, event.side.value, event.attempt, event.state.value, event.length, event.finish_reason]
        )
    return _dump(["v", event.reason])


def decode_event(text: str) -> Event:
    kind, *rest = json.loads(text)
    if kind == "p":
        turn, side, attempt, offset, answer, opening = rest
        return Packet(turn, Side(side), attempt, offset, answer, opening)
    if kind == "s":
        turn, side, attempt, state, length, reason = rest
        return Settled(turn, Side(side), attempt, AnswerState(state), length, reason)
    return Void(*rest)


def encode_ref(ref: AnswerRef) -> str:
    return _dump([str(ref.conversation), ref.turn, ref.side.value, ref.contestant])


def decode_ref(text: str) -> AnswerRef:
    conversation, turn, side, contestant = json.loads(text)
    return AnswerRef(UUID(conversation), turn, Side(side), contestant)


def encode_status(status: EngineStatus) -> str:
    return _dump([status.state.value, status.detail, status.active, status.capacity])


def decode_status(text: str, *, waiting: int) -> EngineStatus:
    state, detail, active, capacity = json.loads(text)
    return EngineStatus(EngineState(state), detail, active, capacity, waiting)


def encode_board(board: Board) -> str:
    return _dump(asdict(board))


def decode_board(text: str) -> Board:
    raw: dict[str, Any] = json.loads(text)
    rows: list[dict[str, Any]] = raw.pop("rows")
    return Board(**raw, rows=tuple(_row(**row) for row in rows))


def _row(*, notes: list[dict[str, str]], **fields: Any) -> BoardRow:
    return BoardRow(**fields, notes=tuple(BoardNote(**note) for note in notes))


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
