"""How often a scorer prefers the answer that people preferred. PURE."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agon.core.scoring import Sample, Score, Scored
from agon.core.votes import Winner

_Z95 = 1.959963984540054
_BINS = 5
_LEAST_IN_BIN = 20
"""Fewer pairs say nothing about a bin, so that there are fewer bins."""
_COMPARING_TIE = 0.5
"""What a scorer that compares gives an answer as good as its reference."""


@dataclass(frozen=True, slots=True)
class HumanPair:
    """Two answers to one prompt, and which of them a person preferred."""

    prompt: str
    answer_a: str
    answer_b: str
    winner: Winner


@dataclass(frozen=True, slots=True)
class Share:
    """A share of so many, with its 95 % interval; no numbers of none."""

    count: float
    of: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs that the scorer held to be about equally far apart."""

    least: float
    """The smallest gap between both scores."""
    most: float
    right: Share


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over pairs of which people preferred one answer; `unscored` are those that the scorer gave no score."""

    pairs: int
    """All that were looked at, ties of people among them."""
    decided: int
    """Those that people decided and the scorer scored."""
    unscored: int
    right: Share
    """Of the decided ones, how often the scorer prefers the same; half a time where it prefers neither."""
    kappa: float | None
    """Cohen's, over the decided ones: agreement beyond that of chance, 1 at the most."""
    kappa_low: float | None
    kappa_high: float | None
    bins: tuple[Bin, ...]
    """The decided ones, from the smallest gap to the largest: a calibrated scorer is right more often at large ones."""


def samples_of(pair: HumanPair, *, compares: bool) -> tuple[Sample, ...]:
    """What a scorer is asked to learn which answer it prefers."""
    if compares:
        return (Sample(pair.prompt, pair.answer_a, reference=pair.answer_b),)
    return Sample(pair.prompt, pair.answer_a), Sample(pair.prompt, pair.answer_b)


def margin_of(scored: Sequence[Scored]) -> float | None:
    """How far the first answer is ahead, by what `samples_of` has asked for; `None` without a score."""
    values = [each.value for each in scored if isinstance(each, Score)]
    if len(values) < len(scored):
        return None
    return values[0] - values[1] if len(values) == 2 else values[0] - _COMPARING_TIE


def agreement(margins: Sequence[float | None], winners: Sequence[Winner]) -> Agreement:
    """Compare what a scorer prefers with what people do."""
    pairs = [
        (margin, 1 if winner is Winner.A else -1)
        for margin, winner in zip(margins, winners, strict=True)
        if winner in (Winner.A, Winner.B) and margin is not None
    ]
    counted = _table(pairs)
    kappa, half = _kappa(counted, len(pairs))
    return Agreement(
        pairs=len(margins),
        decided=len(pairs),
        unscored=sum(margin is None for margin in margins),
        right=share_of(sum(_right(margin, better) for margin, better in pairs), len(pairs)),
        kappa=kappa,
        kappa_low=None if kappa is None else max(-1.0, kappa - half),
        kappa_high=None if kappa is None else min(1.0, kappa + half),
        bins=_bins(pairs),
    )


def share_of(count: float, of: int) -> Share:
    """A share with Wilson's interval."""
    if not of:
        return Share(count, of, None, None, None)
    share, z2 = count / of, _Z95 * _Z95
    centre = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z95 / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return Share(count, of, share, max(0.0, centre - half), min(1.0, centre + half))


def _right(margin: float, better: int) -> float:
    return 0.5 if margin == 0 else float((margin > 0) == (better > 0))


def _table(pairs: Sequence[tuple[float, int]]) -> Mapping[tuple[int, int], int]:
    """Pairs by what the scorer prefers (0: neither) and what people do."""
    counts: dict[tuple[int, int], int] = {}
    for margin, better in pairs:
        key = (margin > 0) - (margin < 0), better
        counts[key] = counts.get(key, 0) + 1
    return counts


def _kappa(counts: Mapping[tuple[int, int], int], pairs: int) -> tuple[float | None, float]:
    """Kappa and half of its interval; none where one side always says the same, so that chance alone agrees."""
    if not pairs:
        return None, 0.0
    observed = sum(count for (said, better), count in counts.items() if said == better) / pairs
    by_scorer = {one: sum(count for (said, _), count in counts.items() if said == one) / pairs for one in (-1, 1)}
    by_people = {one: sum(count for (_, better), count in counts.items() if better == one) / pairs for one in (-1, 1)}
    chance = sum(by_scorer[one] * by_people[one] for one in (-1, 1))
    if chance >= 1.0:
        return None, 0.0
    error = math.sqrt(observed * (1 - observed) / (pairs * (1 - chance) ** 2))
    return (observed - chance) / (1 - chance), _Z95 * error


def _bins(pairs: Sequence[tuple[float, int]]) -> tuple[Bin, ...]:
    ordered = sorted(pairs, key=lambda pair: abs(pair[0]))
    number = min(_BINS, len(ordered) // _LEAST_IN_BIN)
    bins: list[Bin] = []
    start = 0
    for place in range(1, number + 1):
        end = max(start, len(ordered) * place // number)
        # Equal gaps stay together.
        while 0 < end < len(ordered) and abs(ordered[end][0]) == abs(ordered[end - 1][0]):
            end += 1
        inside = ordered[start:end]
        if inside:
            right = share_of(sum(_right(margin, better) for margin, better in inside), len(inside))
            bins.append(Bin(abs(inside[0][0]), abs(inside[-1][0]), right))
        start = end
    return tuple(bins)
