"""Online Elo: votes one after the other, in the order of (timestamp, vote id)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import Conflict, InvalidInput
from agon.core.votes import Winner
from agon.ranking.arrays import Codes, FloatArray, IntArray
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS
from agon.ranking.outcomes import WINNER_CODES

_POINTS_OF_A = (1.0, 0.0, 0.5, 0.5)
"""What the first model scores, by code of the winner."""


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
        move = self.rules.k * (_POINTS_OF_A[WINNER_CODES[winner]] - 1.0 / (1.0 + math.exp((b - a) / PER_LOG_ODDS)))
        return EloState(self.rules, MappingProxyType({**self.ratings, model_a: a + move, model_b: b - move}), key)


def elo_order(timestamps: FloatArray, vote_ids: Sequence[str]) -> IntArray:
    """Places of V votes sorted by (timestamp, vote id), ids by code point; the order of `VoteKey`.

    Raises `InvalidInput` for a timestamp that is not finite or a key that is there twice.
    """
    if not np.isfinite(timestamps).all():
        raise InvalidInput("A timestamp is not a finite number.", code="bad_timestamp", field="timestamp")
    order = np.argsort(timestamps, kind="stable")
    same = np.diff(timestamps[order]) == 0
    # Ids are compared only where they decide, since sorting strings costs many times what sorting numbers does.
    shared = np.flatnonzero(np.append(same, False) | np.append(False, same))
    tied: list[int] = sorted(order[shared].tolist(), key=lambda place: (timestamps[place], vote_ids[place]))
    for left, right in pairwise(tied):
        if timestamps[left] == timestamps[right] and vote_ids[left] == vote_ids[right]:
            raise InvalidInput(f"Vote {vote_ids[left]!r} is there twice.", code="repeated_vote")
    order[shared] = tied
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
    a, b, w = (np.asarray(codes, dtype=np.int64) for codes in (first, second, winners))
    times = np.asarray(timestamps, dtype=np.float64)
    if not a.shape == b.shape == w.shape == times.shape == (len(vote_ids),):
        raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
    if a.size and (min(a.min(), b.min(), w.min()) < 0 or max(a.max(), b.max()) >= len(models) or w.max() > 3):
        raise InvalidInput("A vote has a code out of range.", code="bad_votes")
    if (a == b).any():
        raise InvalidInput("A vote sets a model against itself.", code="self_battle")
    how = rules or EloRules()
    if not a.size:
        return EloState(how)
    order = elo_order(times, vote_ids)
    ratings = _play(len(models), a[order].tolist(), b[order].tolist(), np.take(_POINTS_OF_A, w[order]).tolist(), how)
    battled: list[int] = np.unique(np.concatenate((a, b))).tolist()
    last = int(order[-1])
    key = VoteKey(float(times[last]), vote_ids[last])
    return EloState(how, MappingProxyType({models[place]: ratings[place] for place in battled}), key)


def _play(size: int, a: list[int], b: list[int], scored: Iterable[float], rules: EloRules) -> list[float]:
    # Each battle needs the one before, so this is a plain loop; bound names and flat lists keep it short.
    ratings = [rules.initial] * size
    k, exp, scale = rules.k, math.exp, PER_LOG_ODDS
    for i, j, points in zip(a, b, scored, strict=True):
        mine, yours = ratings[i], ratings[j]
        move = k * (points - 1.0 / (1.0 + exp((yours - mine) / scale)))
        ratings[i] = mine + move
        ratings[j] = yours - move
    return ratings
