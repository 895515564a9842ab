"""The array types that the ranking modules speak in."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Integers = NDArray[np.integer]
"""Integers of any width."""
Differences = NDArray[np.floating]
"""Numbers of either width."""

Codes = Sequence[int] | NDArray[np.integer]
"""Integer codes, one a vote."""


def listed(places: Integers) -> list[int]:
    """Plain integers."""
    found: list[int] = places.tolist()
    return found


def frozen(array: NDArray[T]) -> NDArray[T]:
    """The same array, closed to writing, so that a frozen dataclass holding it is frozen indeed."""
    array.setflags(write=False)
    return array
