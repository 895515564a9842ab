"""How battle logs write the winner, and whether a battle was anonymous."""

from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType

import numpy as np

from agon.core.votes import Winner

WINNER_SPELLINGS: Mapping[object, Winner] = MappingProxyType(
    {
        "a": Winner.A,
        "b": Winner.B,
        "tie": Winner.TIE,
        "both_bad": Winner.BOTH_BAD,
        "bothbad": Winner.BOTH_BAD,
        "model_a": Winner.A,
        "model_b": Winner.B,
        "tie (bothbad)": Winner.BOTH_BAD,
        "left": Winner.A,
        "right": Winner.B,
    }
)
"""Words that every reader understands, to the letter: another case or a stray blank is another word."""

NUMERIC_WINNERS: Mapping[object, Winner] = MappingProxyType(
    {
        1: Winner.A,
        0: Winner.B,
        0.5: Winner.TIE,
        "1": Winner.A,
        "0": Winner.B,
        "0.5": Winner.TIE,
        "1.0": Winner.A,
        "0.0": Winner.B,
    }
)
"""Points of the first model, for logs that a reader knows to hold them; nothing guesses this from the values."""

_TRUE = frozenset(("true", "True", "TRUE", "1"))


def is_true(value: object) -> bool:
    """Whether a flag says yes. Text is read, not tested for emptiness: "False" is not true, nor is an unknown word."""
    if isinstance(value, str):
        return value.strip() in _TRUE
    return isinstance(value, Real | np.bool_) and value == 1
