"""The tables that hold battles, told apart by their columns."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from agon.battlelogs import comparia, pairs
from agon.battlelogs.faults import Unreadable, unreadable
from agon.battlelogs.readings import Reading, Wants
from agon.battlelogs.rows import Frame


@dataclass(frozen=True, slots=True)
class Layout:
    """`required` columns make the table what it is; `optional` says which others are of use."""

    name: str
    title: str
    required: tuple[str, ...]
    optional: Callable[[Wants], tuple[str, ...]]
    read: Callable[[Frame, Wants], Reading]
    read_last: Callable[[], Reading] | None = None


_PAIR = ("model_a", "model_b", "winner")


def _layouts() -> tuple[Layout, ...]:
    reactions = comparia.Reactions()
    return (
        Layout("hf_140k", "LMArena's 140k release", (*_PAIR, "evaluation_session_id"), pairs.optional, pairs.read),
        Layout(
            "hf_33k", "LMSYS's 33k conversations", (*_PAIR, "judge", "openai_moderation"), pairs.optional, pairs.read
        ),
        Layout(
            "hf_100k", "LMArena's 100k release", (*_PAIR, "judge_hash", "conv_metadata"), pairs.optional, pairs.read
        ),
        Layout("fastchat_clean_battle", "FastChat's cleaned battles", (*_PAIR, "anony"), pairs.optional, pairs.read),
        Layout("pairs", "a table of model_a, model_b, winner", _PAIR, pairs.optional, pairs.read),
        Layout(
            "hf_55k",
            "LMSYS's 55k release",
            ("model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"),
            pairs.optional,
            pairs.read_three_columns,
        ),
        Layout(
            "evalica", "a table of left, right, winner", ("left", "right", "winner"), pairs.optional, pairs.read_sides
        ),
        Layout(
            "comparia_votes",
            "ComparIA's votes",
            ("model_a_name", "model_b_name", "chosen_model_name", "both_equal"),
            comparia.optional,
            comparia.read_votes,
        ),
        Layout(
            "comparia_reactions",
            "ComparIA's reactions",
            ("model_a_name", "model_b_name", "model_pos", "conversation_pair_id", "liked", "disliked"),
            comparia.optional_of_reactions,
            reactions.read,
            reactions.read_last,
        ),
    )


def layout_of(columns: Collection[str]) -> Layout | None:
    """The first layout whose required columns are all there."""
    return next((layout for layout in _layouts() if set(layout.required) <= set(columns)), None)


def no_layout(source: str, columns: Sequence[str]) -> Unreadable:
    """Says which columns are missing from the layout that comes nearest, and which there are."""
    found = ", ".join(columns[:40]) + (", …" if len(columns) > 40 else "")
    if "conversation_pair_id" in columns and "model_a_active_params" in columns:
        return unreadable(source, "no_votes", "It is ComparIA's table of conversations, which holds no votes.")
    nearest = max(_layouts(), key=lambda layout: _share(layout, columns))
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


def _share(layout: Layout, columns: Collection[str]) -> float:
    return sum(name in columns for name in layout.required) / len(layout.required)
