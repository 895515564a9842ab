"""Online Elo: votes one after the other, in the order of (timestamp, vote id)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import Conflict, InvalidInput
from agon.core.votes import Winner
from agon.ranking.arrays import Codes, FloatArray, IntArray
from agon.ranking.battles import sorted_ties
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS
from agon.ranking.newton import laplacian
from agon.ranking.outcomes import POINTS_OF_A, WINNER_CODES

"""What the first model scores, by code of the winner."""
FORGOTTEN = 1e-8
"""Points within which two runs must end for the votes before them to count as forgotten."""
_APART = 100.0
"""Points, about, that each model's two starts lie apart."""
_FADES = 1.12 * math.log(_APART / FORGOTTEN)
"""How often a start must fade e-fold, with some room for how unevenly it does."""
_PROBE = 200_000
"""Last votes that tell who meets whom, and how they fare."""
_SLICE = 100_000
"""Votes that are lists at once: a list takes ten times the memory of a column."""


@dataclass(frozen=True, slots=True)
class EloRules:
    """`k` is the most points that one battle moves; `initial` the rating of a model at its first battle, in points."""

    k: float = 4.0
    initial: float = MEAN


@dataclass(frozen=True, slots=True, order=True)
class VoteKey:
    """A vote's place in the order: seconds since the epoch, then id."""

    timestamp: float
    vote_id: str


@dataclass(frozen=True, slots=True)
class EloState:
    """Ratings after some votes, in points; a model that has not battled is not there. `last` is the last vote's key."""

    rules: EloRules = field(default_factory=EloRules)
    ratings: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    last: VoteKey | None = None

    def apply(self, key: VoteKey, model_a: str, model_b: str, winner: Winner) -> "EloState":
        """The state after one more vote.

        Raises `Conflict` (`vote_out_of_order`) for a vote that belongs before the last one: Elo depends on the order,
        so a latecomer needs a full pass. Raises `InvalidInput` for a self-battle or a timestamp that is not finite.
        """
        if model_a == model_b:
            raise InvalidInput(f"{model_a!r} is set against itself.", code="self_battle")
        if not math.isfinite(key.timestamp):
            raise InvalidInput("The timestamp must be a finite number.", code="bad_timestamp", field="timestamp")
        if self.last is not None and key <= self.last:
            raise Conflict("This vote belongs before one already counted.", code="vote_out_of_order")
        initial = self.rules.initial
        a, b = self.ratings.get(model_a, initial), self.ratings.get(model_b, initial)
        points = float(POINTS_OF_A[WINNER_CODES[winner]])
        move = self.rules.k * (points - 1.0 / (1.0 + math.exp((b - a) / PER_LOG_ODDS)))
        return EloState(self.rules, MappingProxyType({**self.ratings, model_a: a + move, model_b: b - move}), key)


def elo_order(timestamps: FloatArray, vote_ids: Sequence[str]) -> IntArray:
    """Places of V votes sorted by (timestamp, vote id), ids by code point; the order of `VoteKey`.

    Raises `InvalidInput` for a timestamp that is not finite or a key that is there twice.
    """
    if not np.isfinite(timestamps).all():
        raise InvalidInput("A timestamp is not a finite number.", code="bad_timestamp", field="timestamp")
    order = sorted_ties(np.argsort(timestamps, kind="stable"), timestamps, vote_ids.__getitem__)
    for place in np.flatnonzero(np.diff(timestamps[order]) == 0).tolist():
        left, right = vote_ids[int(order[place])], vote_ids[int(order[place + 1])]
        if left == right:
            raise InvalidInput(f"Vote {left!r} is there twice.", code="repeated_vote")
    return order


def elo_pass(
    models: Sequence[str],
    first: Codes,
    second: Codes,
    winners: Codes,
    *,
    timestamps: Sequence[float] | NDArray[np.floating],
    vote_ids: Sequence[str],
    rules: EloRules | None = None,
) -> EloState:
    """Elo of V votes in any order, coded as in `PairCounts.from_codes`; equal to applying them one by one.

    Each column has the shape (V,). Raises `InvalidInput` as `PairCounts.from_codes` and `elo_order` do.
    """
    times = np.asarray(timestamps, dtype=np.float64)
    if not times.shape == (len(vote_ids),) == np.shape(first):
        raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
    order = elo_order(times, vote_ids)
    a, b, w = (np.asarray(codes, dtype=np.int64)[order] for codes in (first, second, winners))
    how = rules or EloRules()
    ratings = elo_in_order(models, a, b, w, rules=how, whole=True)
    if not order.size:
        return EloState(how)
    last = int(order[-1])
    return EloState(how, ratings, VoteKey(float(times[last]), vote_ids[last]))


def elo_in_order(
    models: Sequence[str],
    first: Codes,
    second: Codes,
    winners: Codes,
    *,
    rules: EloRules | None = None,
    whole: bool = False,
) -> Mapping[str, float]:
    """Elo ratings, in points, after V votes in the order given; a model that has not battled is not there.

    Elo forgets: with K = 4, a start that was 100 points off shows in the 8th decimal place after some 6,000 battles of
    that model. Of long columns only as many last votes are played as it takes for two runs from starts 100 points
    apart, in another direction for every model, to end within `FORGOTTEN` points of each other; if the models do not
    all battle on to the end, that is all of them. `whole` plays every vote regardless; the results differ by some 1e-8
    points. Raises `InvalidInput` as `PairCounts.from_codes` does.
    """
    a, b, w = (np.asarray(codes) for codes in (first, second, winners))
    if not a.shape == b.shape == w.shape:
        raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
    if a.size and (min(a.min(), b.min(), w.min()) < 0 or max(a.max(), b.max()) >= len(models) or w.max() > 3):
        raise InvalidInput("A vote has a code out of range.", code="bad_votes")
    if (a == b).any():
        raise InvalidInput("A vote sets a model against itself.", code="self_battle")
    how, size = rules or EloRules(), len(models)
    ratings = None if whole else _last_part(size, a, b, w, how)
    if ratings is None:
        ratings = [how.initial] * size
        for start in range(0, len(a), _SLICE):
            part = slice(start, start + _SLICE)
            _play(ratings, _listed(a[part], b[part], w[part]), how)
    battled: list[int] = np.flatnonzero(np.bincount(a, minlength=size) + np.bincount(b, minlength=size)).tolist()
    return MappingProxyType({models[place]: ratings[place] for place in battled})


Listed = tuple[list[int], list[int], list[float]]
"""First model, second model and points of the first, battle by battle."""


def _listed(a: NDArray[Any], b: NDArray[Any], w: NDArray[Any]) -> Listed:
    return a.tolist(), b.tolist(), np.take(POINTS_OF_A, w).tolist()


def _play(ratings: list[float], battles: Listed, rules: EloRules) -> None:
    # Each battle needs the one before, so this is a plain loop; bound names and flat lists keep it short.
    k, exp, scale = rules.k, math.exp, PER_LOG_ODDS
    for i, j, scored in zip(*battles, strict=True):
        mine, yours = ratings[i], ratings[j]
        move = k * (scored - 1.0 / (1.0 + exp((yours - mine) / scale)))
        ratings[i] = mine + move
        ratings[j] = yours - move


def _last_part(size: int, a: NDArray[Any], b: NDArray[Any], w: NDArray[Any], rules: EloRules) -> list[float] | None:
    """Ratings from the last votes alone, or None where that saves nothing or the start still shows."""
    if size < 2 or not rules.k > 0 or not a.size:
        return None
    meeting = _Meeting.of(size, a[-_PROBE:], b[-_PROBE:], w[-_PROBE:])
    votes = meeting.votes_to_fade(rules)
    # Any directions will do, as long as they differ for every model and add nothing to the sum, which Elo keeps.
    away = np.random.default_rng(0).uniform(0.5, 1.5, size) * np.where(np.arange(size) % 2, 1.0, -1.0)
    away -= away.mean()
    while votes < len(a) // 3:
        ratings = (rules.initial + meeting.heights).tolist()
        other = (rules.initial + meeting.heights + _APART * away).tolist()
        play_both(ratings, other, _listed(a[-votes:], b[-votes:], w[-votes:]), rules)
        if max(abs(mine - yours) for mine, yours in zip(ratings, other, strict=True)) < FORGOTTEN:
            return ratings
        votes += votes // 2
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Meeting:
    """Who meets whom, and a rough idea of their ratings: `pull` is the mean pull of one battle, mxm, for K = 1.

    `heights`, (m,), are points around 0.
    """

    pull: FloatArray
    heights: FloatArray

    @classmethod
    def of(cls, size: int, a: NDArray[Any], b: NDArray[Any], w: NDArray[Any]) -> "_Meeting":
        met = np.bincount(a.astype(np.int64) * size + b, minlength=size * size).reshape(size, size)
        points = POINTS_OF_A[w]
        score = np.bincount(a, points, size) + np.bincount(b, 1.0 - points, size)
        lost = met.sum(axis=0) + met.sum(axis=1) - score
        odds = (score + 0.5) / (lost + 0.5)
        chance = odds[:, None] / (odds[:, None] + odds)
        heights = PER_LOG_ODDS * np.log(odds)
        pull = laplacian((met + met.T) * chance * chance.T / (PER_LOG_ODDS * len(a)))
        return cls(pull, np.asarray(heights - heights.mean(), dtype=np.float64))

    def votes_to_fade(self, rules: EloRules) -> int:
        """How many votes it takes, about, for a start to fade, by the slowest mode of the pull."""
        slowest = rules.k * float(np.linalg.eigvalsh(self.pull)[1])
        return int(min(_FADES / max(slowest, 1e-12), 1e15))


def play_both(ratings: list[float], others: list[float], battles: Listed, rules: EloRules) -> None:
    """`_play` from two starts at once."""
    k, exp, scale = rules.k, math.exp, PER_LOG_ODDS
    for i, j, scored in zip(*battles, strict=True):
        mine, yours = ratings[i], ratings[j]
        move = k * (scored - 1.0 / (1.0 + exp((yours - mine) / scale)))
        ratings[i] = mine + move
        ratings[j] = yours - move
        mine, yours = others[i], others[j]
        move = k * (scored - 1.0 / (1.0 + exp((yours - mine) / scale)))
        others[i] = mine + move
        others[j] = yours - move
