"""ComparIA's tables: votes, and reactions to single answers."""

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from agon.battlelogs.categories import parsed, values_of
from agon.battlelogs.pairs import Bad, Parts, reading_of
from agon.battlelogs.readings import Reading, Wants
from agon.battlelogs.rows import Frame, keys, mapped
from agon.core.votes import Winner
from agon.ranking.columns import Coded, encoded
from agon.ranking.spellings import is_true

VOTERS = ("visitor_id", "session_hash")
_GOOD = ("liked", "useful", "creative", "complete", "clear_formatting")
_POOR = ("disliked", "incorrect", "superficial", "instructions_not_followed")


def optional(wants: Wants) -> tuple[str, ...]:
    names = ["id", "timestamp"]
    if wants.voter:
        names += VOTERS
    if wants.category:
        names += ("selected_category", "categories")
    return tuple(names)


def optional_of_reactions(wants: Wants) -> tuple[str, ...]:
    return (*optional(wants), *_GOOD[1:], *_POOR[1:])


def read_votes(frame: Frame, wants: Wants) -> Reading:
    """The winner is named, or both are called equal."""
    a, b = frame.coded("model_a_name"), frame.coded("model_b_name")
    winner = mapped(_winner, a, b, frame.coded("chosen_model_name"), frame.coded("both_equal"))
    category = frame.first_of("selected_category", "categories") if wants.category else None
    vote_id, voter = frame.column("id"), _voter(frame) if wants.voter else None
    parts = Parts(
        model_a=a,
        model_b=b,
        winner=winner,
        vote_id=None if vote_id is None else keys(vote_id),
        timestamp=frame.column("timestamp"),
        voter=voter,
        category=None if category is None else [_categories(value) for value in values_of(category)],
    )
    return reading_of(frame, parts)


def _winner(model_a: object, model_b: object, chosen: object, equal: object) -> object:
    is_chosen, is_equal = chosen not in {None, ""}, is_true(equal)
    if is_chosen and is_equal:
        return Bad("choice_and_equal")
    if is_equal:
        return Winner.TIE.value
    if not is_chosen:
        return Bad("no_choice")
    return Winner.A.value if chosen == model_a else Winner.B.value if chosen == model_b else Bad("choice_not_in_pair")


def _voter(frame: Frame) -> Coded:
    """A visitor, or where there is none the session."""
    return mapped(_first, *(frame.coded(name) for name in VOTERS))


def _first(visitor: object, session: object) -> object:
    return visitor or session


def _categories(value: object) -> object:
    found = parsed(value)
    return tuple(map(str, cast("list[object]", found))) if isinstance(found, list) else found


@dataclass(slots=True)
class _Pair:
    """Two conversations of one prompt, and what was said of either."""

    row: int
    models: tuple[object, object]
    timestamp: object
    voter: object
    category: object
    score: dict[str, int] = field(default_factory=dict[str, int])


class Reactions:
    """A pair's better answer is the one with more good marks less poor ones, if both answers were marked at all."""

    def __init__(self) -> None:
        self._pairs: dict[object, _Pair] = {}

    def read(self, frame: Frame, wants: Wants) -> Reading:
        """Collects; battles come when all marks are known."""
        names = ("conversation_pair_id", "model_pos", "model_a_name", "model_b_name", "timestamp", *_GOOD, *_POOR)
        columns = {name: values_of(frame.coded(name)) for name in names}
        voters = values_of(_voter(frame)) if wants.voter else [None] * len(frame)
        category = frame.column("categories") if wants.category else None
        categories = values_of(category) if category is not None else [None] * len(frame)
        for place, row in enumerate(frame.rows.tolist()):
            values = {name: column[place] for name, column in columns.items()}
            pair = self._pairs.setdefault(
                values["conversation_pair_id"],
                _Pair(
                    row,
                    (values["model_a_name"], values["model_b_name"]),
                    values["timestamp"],
                    voters[place],
                    _categories(categories[place]),
                ),
            )
            marks = sum(is_true(values[name]) for name in _GOOD) - sum(is_true(values[name]) for name in _POOR)
            side = str(values["model_pos"])
            pair.score[side] = pair.score.get(side, 0) + marks
        return Reading(faults=frame.faults)

    def read_last(self) -> Reading:
        unequal = {key: pair for key, pair in self._pairs.items() if pair.score.get("a") != pair.score.get("b")}
        decided = {key: pair for key, pair in unequal.items() if set(pair.score) == {"a", "b"}}
        skipped = {
            "one-sided reaction": len(unequal) - len(decided),
            "equal reactions": len(self._pairs) - len(unequal),
        }
        pairs = list(decided.values())
        parts = Parts(
            model_a=encoded([pair.models[0] for pair in pairs]),
            model_b=encoded([pair.models[1] for pair in pairs]),
            winner=encoded([("a" if pair.score["a"] > pair.score["b"] else "b") for pair in pairs]),
            vote_id=encoded(list(decided)),
            timestamp=[pair.timestamp for pair in pairs],
            voter=encoded([pair.voter for pair in pairs]),
            category=[pair.category for pair in pairs],
        )
        rows = np.array([pair.row for pair in pairs], dtype=np.int64)
        return reading_of(Frame({}, rows), parts, {name: count for name, count in skipped.items() if count})
