"""Who fights whom: pairs by weight, with the chance of each pairing known."""

from collections.abc import Sequence
from dataclasses import dataclass

from agon.core.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Pairing:
    a: str
    b: str
    propensity: float
    """Probability of this unordered pair, in (0, 1]; lets a board be weighted back."""


def pair_probabilities(weights: Sequence[tuple[str, float]]) -> list[tuple[str, str, float]]:
    """Probability of each unordered pair, proportional to the product of the two weights.

    A product rather than two draws without replacement: it is symmetric, so the propensity has one plain formula
    and does not depend on which contestant was drawn first.
    """
    positive = [(name, weight) for name, weight in weights if weight > 0]
    products = [
        (first, second, weight * other)
        for index, (first, weight) in enumerate(positive)
        for second, other in positive[index + 1 :]
    ]
    total = sum(product for _, _, product in products)
    return [(first, second, product / total) for first, second, product in products]


def choose_pair(weights: Sequence[tuple[str, float]], pick: float, flip: float) -> Pairing:
    """Choose two different contestants and their sides.

    `weights` are (name, weight) with distinct names, `pick` and `flip` uniform numbers in [0, 1): the first chooses
    the pair, the second the sides. Raises `Unavailable` when fewer than two contestants have a weight above 0.
    """
    pairs = pair_probabilities(weights)
    if not pairs:
        raise Unavailable("A battle needs two models that are ready; fewer are.", code="not_enough_models")
    chosen = pairs[-1]
    for candidate in pairs:
        pick -= candidate[2]
        if pick < 0:
            chosen = candidate
            break
    first, second, propensity = chosen
    return Pairing(first, second, propensity) if flip < 0.5 else Pairing(second, first, propensity)
