"""Model names: one spelling a model, whatever the files say."""

import unicodedata
from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np

from agon.core.errors import InvalidInput, LimitExceeded
from agon.ranking.arrays import IntArray
from agon.ranking.columns import missing

MAX_MODELS = 3_000
"""Most models on one board: the counts are a square of them, some 300 MB here."""
MISSING, BAD = -1, -2
"""Codes of a name that is not there, and of one that is no text."""


def normalised(name: str) -> str:
    """The name in NFC, without blanks at its ends."""
    return unicodedata.normalize("NFC", name).strip()


class Names:
    """Codes of model names in the order of their first appearance; aliases are followed before a code is given."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = {normalised(old): normalised(new) for old, new in aliases.items()}
        self._places: dict[str, int] = {}
        _refuse_rings(self._aliases)

    def __len__(self) -> int:
        return len(self._places)

    def known(self) -> tuple[str, ...]:
        return tuple(self._places)

    def codes(self, values: Sequence[object]) -> IntArray:
        """Codes of dictionary values, and of a missing one behind them, so that the code -1 finds it there."""
        return np.array([*(self._code(value) for value in values), MISSING], dtype=np.int64)

    def aliased(self, values: Sequence[object]) -> np.typing.NDArray[np.bool_]:
        """Which of the values are aliases, and behind them that a missing one is not."""
        return np.array([*(isinstance(v, str) and normalised(v) in self._aliases for v in values), False])

    def _code(self, value: object) -> int:
        if missing(value):
            return MISSING
        if isinstance(value, bool):
            return BAD
        if isinstance(value, Integral):
            value = str(value)
        if not isinstance(value, str):
            return BAD
        name = normalised(value)
        while name in self._aliases:
            name = self._aliases[name]
        if not name:
            return MISSING
        if len(self._places) >= MAX_MODELS and name not in self._places:
            raise LimitExceeded(f"There are more than {MAX_MODELS} model names.", code="too_many_models", field="model")
        return self._places.setdefault(name, len(self._places))


def _refuse_rings(aliases: Mapping[str, str]) -> None:
    for start in aliases:
        name, steps = start, 0
        while name in aliases:
            name, steps = aliases[name], steps + 1
            if steps > len(aliases):
                raise InvalidInput(f"The aliases of {start!r} lead in a circle.", code="bad_alias", field="alias")
