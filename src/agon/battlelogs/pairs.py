"""Tables with a row a battle: FastChat's cleaned logs, the releases of LMSYS and LMArena, and what looks like them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agon.battlelogs.categories import category_columns, read_categories
from agon.battlelogs.readings import Fault, Reading, Wants
from agon.battlelogs.rows import Frame, keys, mapped
from agon.battlelogs.style import read_style, style_columns
from agon.core.votes import Winner
from agon.ranking.arrays import BoolArray
from agon.ranking.cleaning import RawBattles
from agon.ranking.columns import Coded, Column, encoded
from agon.ranking.spellings import WINNER_SPELLINGS
from agon.ranking.style import RawStyle

TIMES = ("tstamp", "timestamp", "created_at")
VOTERS = ("judge", "judge_hash", "voter", "worker", "user_id", "evaluation_session_id")
"""Who voted, the best first: a session stands for its voter where nothing better is known."""
ANONYMOUS = ("anony", "anonymous")
_IDS = ("vote_id", "battle_id", "evaluation_order")
_TELLING = ("turn", "judge", "judge_hash")
_THREE = ("winner_model_a", "winner_model_b", "winner_tie")


def optional(wants: Wants) -> tuple[str, ...]:
    names = [*TIMES, *_IDS, "question_id", "id", "turn", "judge", "judge_hash", *_THREE]
    if wants.voter:
        names += VOTERS
    if wants.anonymous:
        names += ANONYMOUS
    if wants.language:
        names.append("language")
    if wants.category:
        names += category_columns()
    if wants.style:
        names += style_columns()
    return tuple(dict.fromkeys(names))


def read(frame: Frame, wants: Wants) -> Reading:
    """Columns model_a, model_b and winner."""
    return _read(frame, wants, ("model_a", "model_b"), frame.coded("winner"), _vote_id(frame))


def read_sides(frame: Frame, wants: Wants) -> Reading:
    """Columns left, right and winner. Nothing else is known to name a vote, so none is taken for another's double."""
    return _read(frame, wants, ("left", "right"), frame.coded("winner"), None)


def read_three_columns(frame: Frame, wants: Wants) -> Reading:
    """A column of 0 and 1 for each outcome."""
    winner = mapped(_of_three, *(frame.coded(name) for name in _THREE))
    own = frame.column("id")
    return _read(frame, wants, ("model_a", "model_b"), winner, None if own is None else keys(own))


def _read(frame: Frame, wants: Wants, sides: tuple[str, str], winner: Coded, vote_id: Coded | None) -> Reading:
    return reading_of(
        frame,
        Parts(
            model_a=frame.coded(sides[0]),
            model_b=frame.coded(sides[1]),
            winner=winner,
            vote_id=vote_id,
            timestamp=frame.first_of(*TIMES),
            voter=_coded_or_none(frame.first_of(*VOTERS)) if wants.voter else None,
            anonymous=frame.first_of(*ANONYMOUS) if wants.anonymous else None,
            language=frame.column("language") if wants.language else None,
            category=read_categories(frame) if wants.category else None,
            style=read_style(frame) if wants.style else None,
        ),
    )


@dataclass(frozen=True, slots=True)
class Bad:
    """A value that stands for a row at fault."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The columns of battles; the winner's may hold `Bad` values."""

    model_a: Coded
    model_b: Coded
    winner: Coded
    vote_id: Coded | None = None
    timestamp: Column | None = None
    voter: Coded | None = None
    anonymous: Column | None = None
    language: Column | None = None
    category: Column | None = None
    style: RawStyle | None = None


def reading_of(frame: Frame, parts: Parts, skipped: Mapping[str, int] | None = None) -> Reading:
    """Battles of a frame, less the rows at fault."""
    reasons = [
        found
        for column, reason in ((parts.winner, _reason), (parts.model_a, _not_text), (parts.model_b, _not_text))
        if (found := _reasons(column, reason)) is not None
    ]
    bad = np.logical_or.reduce([found.codes >= 0 for found in reasons])
    faults = list(frame.faults)
    for place in np.flatnonzero(bad).tolist():
        reason = next(str(found.values[found.codes[place]]) for found in reasons if found.codes[place] >= 0)
        faults.append(Fault(int(frame.rows[place]), reason))
    keep = ~bad if reasons else None
    battles = RawBattles(
        model_a=_kept(parts.model_a, keep),
        model_b=_kept(parts.model_b, keep),
        winner=_kept(parts.winner, keep),
        vote_id=_optional(parts.vote_id, keep),
        timestamp=_optional(parts.timestamp, keep),
        voter=_optional(parts.voter, keep),
        anonymous=_optional(parts.anonymous, keep),
        language=_optional(parts.language, keep),
        category=_optional(parts.category, keep),
        style=_kept_style(parts.style, keep),
        spellings=WINNER_SPELLINGS,
        rows=frame.rows if keep is None else frame.rows[keep],
    )
    return Reading(battles, tuple(faults), skipped or {})


def _vote_id(frame: Frame) -> Coded | None:
    """What tells a vote from another: its own id, or a conversation's with all that may differ between its votes."""
    own = frame.first_of("vote_id", "battle_id")
    if own is None and "evaluation_order" in frame.columns:
        own = frame.column("id")
    if own is not None:
        return keys(own)
    if "question_id" not in frame.columns:
        return None
    # A question_id names a conversation in an arena's logs, but a prompt in a benchmark's: alone it would not do.
    names = ["question_id", "model_a", "model_b", *(name for name in _TELLING if name in frame.columns)]
    return keys(*(frame.columns[name] for name in names))


def _of_three(*columns: object) -> object:
    read = [_zero_or_one(value) for value in columns]
    if None in read:
        return Bad("bad_winner")
    if sum(value or 0 for value in read) > 1:
        return Bad("two_winners")
    return (Winner.A, Winner.B, Winner.TIE)[read.index(1)].value if 1 in read else Bad("no_winner")


def _zero_or_one(value: object) -> int | None:
    if isinstance(value, str):
        return {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "True": 1, "False": 0, "true": 1, "false": 0}.get(value.strip())
    if isinstance(value, bool | int | float) and value in (0, 1):
        return int(value)
    return None


def _reasons(column: Coded, reason: Callable[[object], str | None]) -> Coded | None:
    """Why rows are at fault, or None where no value of the dictionary puts one there, which spares the look at each."""
    return mapped(reason, column) if any(reason(value) is not None for value in column.values) else None


def _reason(value: object) -> str | None:
    return value.reason if isinstance(value, Bad) else None


def _not_text(value: object) -> str | None:
    """Bytes that are no UTF-8 come as lone surrogates, or as the sign that stands for such bytes."""
    if not isinstance(value, str) or value.isascii():
        return None
    return "invalid_utf8" if any("\ud800" <= sign <= "\udfff" or sign == "\ufffd" for sign in value) else None


def _coded_or_none(column: Column | None) -> Coded | None:
    return None if column is None else encoded(column)


def _optional(column: Column | None, keep: BoolArray | None) -> Column | None:
    return None if column is None else _kept(column, keep)


def _kept(column: Column, keep: BoolArray | None) -> Column:
    if keep is None:
        return column
    if isinstance(column, Coded):
        return Coded(column.codes[keep], column.values)
    if isinstance(column, np.ndarray):
        found: NDArray[np.generic] = column[keep]
        return found
    return [value for value, good in zip(column, keep.tolist(), strict=True) if good]


def _kept_style(style: RawStyle | None, keep: BoolArray | None) -> RawStyle | None:
    if style is None or keep is None:
        return style
    return RawStyle(style.names, style.a[keep], style.b[keep])
