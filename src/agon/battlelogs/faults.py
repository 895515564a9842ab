"""What a reader finds wrong before there are columns: in a row, or in a whole file."""

from collections.abc import Mapping
from types import MappingProxyType

from agon.core.errors import InvalidInput
from agon.core.text import printable

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "invalid_json": "The line is no JSON.",
        "truncated_json": "The text breaks off in the middle of a value.",
        "nul_bytes": "The line holds NUL bytes, as a disk that filled up leaves them.",
        "invalid_utf8": "The text is not UTF-8, or has lost characters (U+FFFD) already.",
        "line_too_long": "The line is longer than 256 MiB.",
        "not_an_object": "It is no object with named values.",
        "bad_row": "It has more or fewer fields than the header.",
        "missing_type": "It does not say what was done: `type` is missing.",
        "unknown_type": "What was done is nothing this reader knows: `type` is no known word.",
        "missing_models": "`models` is missing or does not name two.",
        "missing_states": "`states` is missing or does not hold two conversations.",
        "missing_tstamp": "The time is missing.",
        "missing_model_name": "A conversation does not name its model.",
        "one_name_missing": "One of two names is empty, so the vote is neither anonymous nor named.",
        "name_mismatch": "The name that was shown is not the conversation's model.",
        "two_winners": "It has more than one winner.",
        "no_winner": "None of the winner's columns says yes.",
        "bad_winner": "A winner's column is neither 0 nor 1.",
        "choice_not_in_pair": "The model that was chosen is not one of the two.",
        "choice_and_equal": "A model was chosen, and both were called equal.",
        "no_choice": "No model was chosen, and the two were not called equal.",
        "missing_rating": "The rating is missing.",
        "bad_rating": "The rating is neither 1 nor -1.",
        "missing_data": "The feedback has no data.",
    }
)


class Unreadable(InvalidInput):
    """A whole file that cannot be read; nothing of it is counted."""

    default_code = "unreadable"

    def __init__(self, source: str, message: str, *, code: str) -> None:
        super().__init__(f"{printable(source)}: {message}", code=code)
        self.source = source


def unreadable(source: str, code: str, message: str) -> Unreadable:
    return Unreadable(source, message, code=code)
