"""What can be seen of an answer without understanding it."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FEATURE_NAMES: Final[tuple[str, ...]] = ("empty",)


def features(prompt: str, answer: str) -> NDArray[np.float64]:
    """Return the features of one answer, in the order of `FEATURE_NAMES`."""
    del prompt
    return np.array([float(not answer.strip())])
