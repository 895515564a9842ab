"""Features as the graph takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

CLIP: Final = 8.0
"""Bound on a standardised feature, so that no odd text gets its score from one number alone."""


@dataclass(frozen=True, slots=True)
class FeatureScale:
    """How one feature becomes an input of the graph: (value - centre) / scale, kept within `CLIP` of 0."""

    name: str
    centre: float
    scale: float


def standardised(
    raw: NDArray[np.float64], scales: Sequence[FeatureScale], signs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return rows of features on their scales, turned round where `signs`, the prompt's polarity, is -1."""
    centre = np.array([each.centre for each in scales])
    scale = np.array([each.scale for each in scales])
    return np.clip((raw - centre) / scale, -CLIP, CLIP) * signs[:, None]
