"""Standard errors when some people vote far more than others."""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import InvalidInput
from agon.ranking.arrays import BoolArray, Codes, FloatArray, IntArray
from agon.ranking.bradley_terry import PER_LOG_ODDS, RatedGroup
from agon.ranking.outcomes import POINTS_OF_A

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
    meat = np.zeros_like(group.inverse)
    for _, scores in VotesByVoter.of(group, GroupVotes.of(group, first, second, winners, voters)).scores():
        meat += scores.T @ scores
    covariance = (group.inverse @ meat @ group.inverse) * PER_LOG_ODDS**2
    return ClusteredErrors(covariance, np.sqrt(np.maximum(np.diag(covariance), 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class GroupVotes:
    """v votes between models of a rated group, each array (v,); `i` and `j` are rows of the group."""

    i: IntArray
    j: IntArray
    winners: IntArray
    voters: IntArray

    @classmethod
    def of(cls, group: RatedGroup, first: Codes, second: Codes, winners: Codes, voters: Codes) -> "GroupVotes":
        """Those of V votes whose models are both in the group. Raises `InvalidInput` as `clustered_errors` does."""
        a, b, w, v = (np.asarray(codes, dtype=np.int64) for codes in (first, second, winners, voters))
        if not a.shape == b.shape == w.shape == v.shape:
            raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
        if v.size and v.min() < 0:
            raise InvalidInput("A voter's code is negative.", code="bad_votes", field="voter")
        inside = np.isin(a, group.places) & np.isin(b, group.places)
        i, j = (np.searchsorted(group.places, codes[inside]) for codes in (a, b))
        return cls(i, j, w[inside], v[inside])


@dataclass(frozen=True, slots=True, eq=False)
class VotesByVoter:
    """Votes among m models in order of the voter; voter number k has those from edges[k] to edges[k + 1]."""

    size: int
    people: IntArray
    edges: IntArray
    i: IntArray
    j: IntArray
    residual: FloatArray

    @classmethod
    def of(cls, group: RatedGroup, votes: GroupVotes) -> "VotesByVoter":
        order = np.argsort(votes.voters, kind="stable")
        voters, i, j = votes.voters[order], votes.i[order], votes.j[order]
        starts = np.flatnonzero(np.diff(voters, prepend=-1))
        residual = POINTS_OF_A[votes.winners[order]] - group.chance[i, j]
        return cls(len(group.places), voters[starts], np.append(starts, len(order)), i, j, residual)

    def scores(self) -> Iterator[tuple[int, FloatArray]]:
        """Blocks of the summed scores u, a row of m a voter, each block with the number of its first voter."""
        step = max(1, _CELLS // max(self.size, 1))
        bounds = [*range(0, len(self.people), step), len(self.people)]
        for start, stop in pairwise(bounds):
            rows = slice(int(self.edges[start]), int(self.edges[stop]))
            number = np.repeat(np.arange(stop - start), np.diff(self.edges[start : stop + 1])) * self.size
            cells = np.concatenate((number + self.i[rows], number + self.j[rows]))
            weights = np.concatenate((self.residual[rows], -self.residual[rows]))
            scores = np.asarray(np.bincount(cells, weights, (stop - start) * self.size), dtype=np.float64)
            yield start, scores.reshape(-1, self.size)


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
