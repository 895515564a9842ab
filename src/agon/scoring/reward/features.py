"""What can be seen of an answer without understanding it, as numbers. The length of the answer is not among them."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agon.scoring.reward.arithmetic import arithmetic
from agon.scoring.reward.compliance import compliance
from agon.scoring.reward.constraints import constraints
from agon.scoring.reward.fluency import fluency
from agon.scoring.reward.reading import Pair, Text, read
from agon.scoring.reward.relevance import relevance
from agon.scoring.reward.wishes import wants_bad

FEATURES_VERSION: Final = 1
"""Goes up whenever the same texts get other numbers: a model fits one version only."""

MAX_CHARACTERS: Final = 20_000
"""What is read of a text: far more than the tokens can hold. Longer texts lose their middle."""

_GOOD: Final[Sequence[str]] = (
    "asked_sum",
    "code_fenced",
    "code_wanted",
    "counts_met",
    "covers",
    "covers_end",
    "covers_task",
    "demands_met",
    "figures_kept",
    "items_met",
    "json_right",
    "language_right",
    "list_wanted",
    "reasons_wanted",
    "right_sums",
    "table_wanted",
    "variety",
)
_BAD: Final[Sequence[str]] = (
    "another_script",
    "asks_back",
    "brief_broken",
    "code_unwanted",
    "completion_broken",
    "copied",
    "copied_long",
    "drift",
    "ends_asking",
    "ends_early",
    "ends_open",
    "looping_end",
    "loops",
    "markers",
    "mostly_copy",
    "no_ending",
    "no_news",
    "no_words",
    "not_shorter",
    "odd_start",
    "only_broken",
    "questions",
    "refuses",
    "repeated_lines",
    "repeated_phrases",
    "repeated_sentences",
    "repeated_words",
    "repeats_start",
    "rewrite_size",
    "roles",
    "roles_late",
    "terse_broken",
    "tongue_shift",
    "wrong_sums",
)


def shortened(text: str) -> str:
    """Return the text without the middle part that nobody would read."""
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[:half]} {text[-half:]}"


def _named(pair: Pair) -> dict[str, float]:
    return fluency(pair) | relevance(pair) | arithmetic(pair) | constraints(pair) | compliance(pair)


FEATURE_NAMES: Final[tuple[str, ...]] = tuple(_named(Pair(Text(""), Text(""))))

EXPECTED_SIGNS: Final[Mapping[str, int]] = {name: sign for names, sign in ((_GOOD, 1), (_BAD, -1)) for name in names}
"""What common sense says of a feature: 1 where more of it cannot be worse, -1 where it cannot be better."""


def features(prompt: str, answer: str) -> NDArray[np.float64]:
    """Return the features of one answer, in the order of `FEATURE_NAMES`."""
    return np.array(list(_named(Pair(read(shortened(prompt)), Text(shortened(answer)))).values()))


def polarity(prompt: str) -> int:
    """Return -1 where the prompt asks for a bad answer, so that features count the other way; else 1."""
    return -1 if wants_bad(prompt) else 1
