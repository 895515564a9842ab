"""What a reward model has to beat: length, and the words of the answers."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agon.scoring.reward.fitting import Floats
from agon.scoring.reward.folds import grouped_folds
from agon.scoring.reward.preferences import Preference

_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 10_000
_MOST_PAIRS: Final = 5000
"""Their words are held in memory at once."""
_RIDGE: Final = 1.0


def longer_answer(pairs: Sequence[Preference]) -> Floats:
    """Return differences of length in characters."""
    return np.array([len(pair.answer_a) - len(pair.answer_b) for pair in pairs], np.float64)


def tfidf(pairs: Sequence[Preference], parts: NDArray[np.int64]) -> Floats:
    """Return, for each fold, what a linear model of the answers' words says that was trained on the other folds.

    Words are weighed by TF-IDF of the training folds; the model is a ridge on differences of answers.
    """
    counts = [[_counted(text) for text in (pair.answer_a, pair.answer_b)] for pair in pairs]
    targets = np.array([2 * pair.outcome - 1 for pair in pairs])
    differences = np.zeros(len(pairs))
    for fold in np.unique(parts):
        away = parts == fold
        spread = Counter(word for place in np.flatnonzero(~away) for side in counts[place] for word in side)
        words = [word for word, count in spread.most_common(_MOST_WORDS) if count > 1]
        rarity = np.log((1 + 2 * int((~away).sum())) / (1 + np.array([spread[word] for word in words]))) + 1
        rows = _rows(counts, {word: place for place, word in enumerate(words)}, rarity)
        known, new = rows[~away], rows[away]
        gram = known @ known.T + _RIDGE * np.eye(len(known))
        differences[away] = new @ (known.T @ np.linalg.solve(gram, targets[~away]))
    return differences


def _counted(text: str) -> Counter[str]:
    """Words and pairs of neighbours."""
    words = _WORD.findall(text.lower())
    return Counter(words) + Counter(f"{first} {second}" for first, second in pairwise(words))


def tfidf_by_folds(pairs: Sequence[Preference], groups: NDArray[np.int64], *, folds: int, seed: int) -> Floats | None:
    """Return the differences of `tfidf` on grouped folds of these pairs, or `None` where there are too few groups.

    It is also `None` for more pairs than memory is worth.
    """
    if len(np.unique(groups)) < folds or len(pairs) > _MOST_PAIRS:
        return None
    chance = np.random.default_rng(seed)
    return tfidf(pairs, grouped_folds(groups, [pair.file for pair in pairs], folds, chance))


def _rows(counts: Sequence[Sequence[Counter[str]]], places: dict[str, int], rarity: Floats) -> NDArray[np.float32]:
    """Differences of unit TF-IDF vectors."""
    sides = np.zeros((2, len(counts), len(places)), np.float32)
    for row, pair in enumerate(counts):
        for side, words in enumerate(pair):
            for word, count in words.items():
                if (place := places.get(word)) is not None:
                    sides[side, row, place] = 1 + np.log(count)
    sides *= rarity.astype(np.float32)
    norms = np.linalg.norm(sides, axis=2, keepdims=True)
    sides /= np.where(norms == 0, 1, norms)
    return np.asarray(sides[0] - sides[1])
