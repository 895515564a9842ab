"""Which pairs belong together, and parts of the data that share nothing."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agon.scoring.reward.preferences import Preference

_LONG_ENOUGH: Final = 40
"""Shorter answers are given to many prompts, and tell nothing of where they come from."""


def plain(text: str) -> str:
    """Return a text as it is compared: without case and spacing."""
    return " ".join(text.lower().split())


def groups_of(pairs: Sequence[Preference]) -> NDArray[np.int64]:
    """Return a group number for each pair: equal prompts are one group, and so are prompts that share an answer."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        parents.setdefault(name, name)
        while parents[name] != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    for pair in pairs:
        for answer in (pair.answer_a, pair.answer_b):
            if len(text := plain(answer)) >= _LONG_ENOUGH:
                parents[root(f"answer {text}")] = root(f"prompt {plain(pair.prompt)}")
    numbers: dict[str, int] = {}
    roots = [root(f"prompt {plain(pair.prompt)}") for pair in pairs]
    return np.array([numbers.setdefault(name, len(numbers)) for name in roots], np.int64)


def grouped_folds(
    groups: NDArray[np.int64], files: Sequence[str], count: int, chance: np.random.Generator
) -> NDArray[np.int64]:
    """Return a fold for each pair: whole groups, each file's pairs spread as evenly as its groups allow."""
    sizes = np.bincount(groups)
    homes = {int(group): file for group, file in zip(groups[::-1], reversed(files), strict=True)}
    fold = np.zeros(len(sizes), np.int64)
    for file in sorted(set(files)):
        members = [group for group in range(len(sizes)) if homes[group] == file]
        filled = np.zeros(count)
        # The large ones first, so that the small ones even out what they leave; chance decides among equals.
        order = sorted(members, key=lambda group: (-int(sizes[group]), float(chance.random())))
        for group in order:
            least = np.flatnonzero(filled == filled.min())
            fold[group] = chance.choice(least)
            filled[fold[group]] += sizes[group]
    return fold[groups]
