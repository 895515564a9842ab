"""Standard errors when some people vote far more than others."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import InvalidInput
from agon.ranking.arrays import BoolArray, Codes, FloatArray, IntArray
from agon.ranking.bradley_terry import PER_LOG_ODDS, RatedGroup

_POINTS_OF_A = np.array([1.0, 0.0, 0.5, 0.5])
_CELLS = 4_000_000
"""Entries of the voters-by-models table held at once (32 MB)."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredErrors:
    """Errors that let all votes of one voter lean together; `covariance` is mxm, `se` (m,), in points."""

    covariance: FloatArray
    se: FloatArray

    def of_gap(self, first: int, second: int) -> float:
        """Standard error of the gap between two models, by their row in the group."""
        table = self.covariance
        variance = table[first, first] + table[second, second] - 2.0 * table[first, second]
        return math.sqrt(max(float(variance), 0.0))


def clustered_errors(group: RatedGroup, first: Codes, second: Codes, winners: Codes, voters: Codes) -> ClusteredErrors:
    """Voter-clustered sandwich errors of the centred ratings of a fit of these very V votes.

    H⁺(Σ u uᵀ)H⁺ with u the summed score of one voter (Liang and Zeger 1986), without small-sample factor. The columns,
    each (V,), are coded as in `PairCounts.from_codes`; `voters` codes people from 0. Votes on models outside the group
    are left out. Trust it from some 30 voters on. Raises `InvalidInput` if the columns differ in length or a voter is
    negative.
    """
    a, b, w, v = (np.asarray(codes, dtype=np.int64) for codes in (first, second, winners, voters))
    if not a.shape == b.shape == w.shape == v.shape:
        raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
    if v.size and v.min() < 0:
        raise InvalidInput("A voter's code is negative.", code="bad_votes", field="voter")
    inside = np.isin(a, group.places) & np.isin(b, group.places)
    i, j = (np.searchsorted(group.places, codes[inside]) for codes in (a, b))
    meat = _meat(i, j, _POINTS_OF_A[w[inside]] - group.chance[i, j], v[inside], len(group.places))
    covariance = (group.inverse @ meat @ group.inverse) * PER_LOG_ODDS**2
    return ClusteredErrors(covariance, np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _meat(i: IntArray, j: IntArray, residual: FloatArray, voters: IntArray, size: int) -> FloatArray:
    """Σ u uᵀ over voters, a block of voters at a time."""
    people, who = np.unique(voters, return_inverse=True)
    meat = np.zeros((size, size))
    block = min(len(people), max(1, _CELLS // size)) or 1
    order = np.argsort(who, kind="stable")
    edges = np.searchsorted(who[order], np.arange(0, len(people) + block, block))
    for number, (start, stop) in enumerate(pairwise(edges.tolist())):
        rows = order[start:stop]
        row = (who[rows] - number * block) * size
        cells = np.concatenate((row + i[rows], row + j[rows]))
        weights = np.concatenate((residual[rows], -residual[rows]))
        scores = np.bincount(cells, weights=weights, minlength=block * size).reshape(block, size)
        meat += scores.T @ scores
    return meat


def capped(voters: Sequence[Hashable], first: Codes, second: Codes, *, limit: int) -> BoolArray:
    """Which of V votes, given in order of time, are among a voter's earliest `limit` on that pair of models, (V,).

    The two sides of a pair are alike. Raises `InvalidInput` if `limit` is below 1 or the columns differ in length.
    """
    place = {voter: code for code, voter in enumerate(dict.fromkeys(voters))}
    codes: IntArray = np.fromiter(map(place.__getitem__, voters), dtype=np.int64, count=len(voters))
    return earliest(codes, np.asarray(first), np.asarray(second), limit=limit)


def earliest(
    voters: NDArray[np.integer], first: NDArray[np.integer], second: NDArray[np.integer], *, limit: int
) -> BoolArray:
    """`capped` of coded voters."""
    if limit < 1:
        raise InvalidInput("A voter's limit must be at least 1.", code="bad_limit", field="limit")
    if not len(voters) == len(first) == len(second):
        raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
    low, high = (pick(first, second).astype(np.int64) for pick in (np.minimum, np.maximum))
    size = int(high.max(initial=0)) + 1
    group = (voters.astype(np.int64) * size + low) * size + high
    order = np.argsort(group, kind="stable")
    fresh = np.diff(group[order], prepend=-1) != 0
    places = np.arange(len(order))
    since = places - np.maximum.accumulate(np.where(fresh, places, 0))
    keep = np.zeros(len(order), dtype=np.bool_)
    keep[order] = since < limit
    return keep
