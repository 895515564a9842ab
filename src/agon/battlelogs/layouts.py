"""The tables that hold battles, told apart by their columns."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from agon.battlelogs import comparia, pairs
from agon.battlelogs.faults import Unreadable, unreadable
from agon.battlelogs.readings import Reading, Wants
from agon.battlelogs.rows import Frame
from agon.core.text import printable

_NAMED = 40
"""Columns that a message names."""
_NAME_LENGTH = 60


class TableReader(Protocol):
    """Reads one table, a frame at a time; what is known only at its end comes last."""

    def read(self, frame: Frame, wants: Wants) -> Reading: ...

    def read_last(self) -> Reading: ...


@dataclass(frozen=True, slots=True)
class ByFrame:
    """A reader to which every frame is its own."""

    function: Callable[[Frame, Wants], Reading]

    def read(self, frame: Frame, wants: Wants) -> Reading:
        return self.function(frame, wants)

    def read_last(self) -> Reading:
        return Reading()


@dataclass(frozen=True, slots=True)
class Layout:
    """`required` columns make the table what it is; `optional` says which others are of use; `reader` makes one."""

    name: str
    title: str
    required: tuple[str, ...]
    optional: Callable[[Wants], tuple[str, ...]]
    reader: Callable[[], TableReader]


def _pairs(name: str, title: str, *columns: str) -> Layout:
    required = ("model_a", "model_b", "winner", *columns)
    return Layout(name, title, required, pairs.optional, lambda: ByFrame(pairs.read))


LAYOUTS = (
    _pairs("hf_140k", "LMArena's 140k release", "evaluation_session_id"),
    _pairs("hf_33k", "LMSYS's 33k conversations", "judge", "openai_moderation"),
    _pairs("hf_100k", "LMArena's 100k release", "judge_hash", "conv_metadata"),
    _pairs("fastchat_clean_battle", "FastChat's cleaned battles", "anony"),
    _pairs("pairs", "a table of model_a, model_b, winner"),
    Layout(
        "hf_55k",
        "LMSYS's 55k release",
        ("model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"),
        pairs.optional,
        lambda: ByFrame(pairs.read_three_columns),
    ),
    Layout(
        "evalica",
        "a table of left, right, winner",
        ("left", "right", "winner"),
        pairs.optional,
        lambda: ByFrame(pairs.read_sides),
    ),
    Layout(
        "comparia_votes",
        "ComparIA's votes",
        ("model_a_name", "model_b_name", "chosen_model_name", "both_equal"),
        comparia.optional,
        lambda: ByFrame(comparia.read_votes),
    ),
    Layout(
        "comparia_reactions",
        "ComparIA's reactions",
        ("model_a_name", "model_b_name", "model_pos", "conversation_pair_id", "liked", "disliked"),
        comparia.optional_of_reactions,
        comparia.Reactions,
    ),
)


def layout_of(columns: Collection[str]) -> Layout | None:
    """The first layout whose required columns are all there."""
    return next((layout for layout in LAYOUTS if set(layout.required) <= set(columns)), None)


def no_layout(source: str, columns: Sequence[str]) -> Unreadable:
    """Says which columns are missing from the layout that comes nearest, and which there are."""
    found = ", ".join(map(_short, columns[:_NAMED])) + (", …" if len(columns) > _NAMED else "")
    if "conversation_pair_id" in columns and "model_a_active_params" in columns:
        return unreadable(source, "no_votes", "It is ComparIA's table of conversations, which holds no votes.")
    nearest = max(LAYOUTS, key=lambda layout: _share(layout, columns))
    missing = [name for name in nearest.required if name not in columns]
    if _share(nearest, columns) <= 1 / len(nearest.required):
        return unreadable(source, "unknown_format", f"It is no battle log that is known. Its columns are: {found}.")
    needed = " and ".join(missing)
    verb = "is" if len(missing) == 1 else "are"
    return unreadable(
        source,
        "missing_column",
        f"It looks like {nearest.title}, but {needed} {verb} missing. Its columns are: {found}.",
    )


def _short(name: str) -> str:
    return printable(name if len(name) <= _NAME_LENGTH else f"{name[:_NAME_LENGTH]}…")


def _share(layout: Layout, columns: Collection[str]) -> float:
    return sum(name in columns for name in layout.required) / len(layout.required)
