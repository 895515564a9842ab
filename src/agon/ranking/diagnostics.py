"""What could be wrong with a board: models that change while they are measured, and voters who decide alone."""

import math
from dataclasses import dataclass

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import Codes, FloatArray, IntArray, frozen
from agon.ranking.bradley_terry import PER_LOG_ODDS, RatedGroup, fit_bradley_terry
from agon.ranking.newton import pseudo_inverse
from agon.ranking.outcomes import PairCounts
from agon.ranking.voters import GroupVotes, VotesByVoter

_LINKED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class DriftTest:
    """How far m models moved from one set of votes to another, each array (m,), in points.

    `p` is the two-sided chance of at least that shift if nothing changed, each model on its own; `p_adjusted` the same
    after Holm (1979), so that calling drift below 0.05 is wrong about any model in at most 5 % of boards.
    """

    models: tuple[str, ...]
    before: FloatArray
    after: FloatArray
    shift: FloatArray
    se: FloatArray
    p: FloatArray
    p_adjusted: FloatArray


def drift_test(
    models: tuple[str, ...], first: Codes, second: Codes, winners: Codes, timestamps: FloatArray
) -> DriftTest:
    """Compares the older half of V votes with the newer; columns (V,) as in `PairCounts.from_codes`.

    Votes of one moment stay together. Raises `InvalidInput` if lengths differ or a timestamp is not a number.
    """
    times = np.asarray(timestamps, dtype=np.float64)
    if not np.isfinite(times).all():
        raise InvalidInput("A timestamp is not a finite number.", code="bad_timestamp", field="timestamp")
    a, b, w = (np.asarray(codes, dtype=np.int64) for codes in (first, second, winners))
    if not a.shape == b.shape == w.shape == times.shape:
        raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
    old = times < np.median(times) if times.size else np.zeros(0, dtype=np.bool_)
    halves = [PairCounts.from_codes(models, a[half], b[half], w[half]) for half in (old, ~old)]
    return drift_between(*halves)


def drift_between(before: PairCounts, after: PairCounts) -> DriftTest:
    """Compares two disjoint sets of votes over the models that both can rate, centred on those alone."""
    common = sorted(set(before.models) & set(after.models))
    while True:
        fits = [fit_bradley_terry(counts.only(counts.codes(common))) for counts in (before, after)]
        rated = [set[int]() if fit.main is None else set(fit.groups[fit.main].places.tolist()) for fit in fits]
        both = sorted(rated[0] & rated[1])
        if len(both) in (0, len(common)):
            break
        common = [common[place] for place in both]
    if not both:
        nothing = np.zeros(0)
        return DriftTest((), nothing, nothing, nothing, nothing, nothing, nothing)
    old, new = fits
    shift, se = new.ratings - old.ratings, np.hypot(old.se, new.se)
    p = np.array([math.erfc(abs(z) / math.sqrt(2.0)) for z in (shift / se).tolist()])
    return DriftTest(tuple(common), old.ratings, new.ratings, frozen(shift), frozen(se), frozen(p), frozen(holm(p)))


def holm(p: FloatArray) -> FloatArray:
    """Chances adjusted for having looked at all of them, in the order given (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


@dataclass(frozen=True, slots=True, eq=False)
class VoterInfluence:
    """What one voter's votes do to the ratings of m models.

    `shifts`, (m,), are the points that each rating moves if the voter is left out; `model` is the place in the counts
    of the one that moves most, by `shift`. None where the board holds together by this voter alone.
    """

    voter: int
    votes: int
    model: int
    shift: float | None
    shifts: FloatArray | None


def voter_influence(
    group: RatedGroup, first: Codes, second: Codes, winners: Codes, voters: Codes, *, top: int = 10
) -> tuple[VoterInfluence, ...]:
    """The voters who move the ratings of a fit of these very votes most, the strongest first.

    Candidates are chosen by the infinitesimal jackknife H⁺u; their shifts are then one full Newton step from the fit to
    the fit without them, (H - H_v)⁺u_v, which counts that their votes also carried information (Pregibon 1981). Columns
    as in `clustered_errors`; raises `InvalidInput` as that does.
    """
    votes = VotesByVoter.of(group, GroupVotes.of(group, first, second, winners, voters))
    weights = _information(group)
    found = [_left_out(group, weights, votes, int(voter)) for voter in _strongest(group, votes, top)]
    return tuple(sorted(found, key=lambda row: -abs(math.inf if row.shift is None else row.shift)))


def _strongest(group: RatedGroup, votes: VotesByVoter, top: int) -> IntArray:
    """Numbers of the voters with the longest H⁺u."""
    reach = np.zeros(len(votes.people))
    for start, scores in votes.scores():
        reach[start : start + len(scores)] = np.abs(scores @ group.inverse).max(axis=1, initial=0.0)
    return np.argsort(-reach, kind="stable")[:top]


def _information(group: RatedGroup) -> FloatArray:
    """The weights n·p(1-p) of all pairs, mxm, recovered from H = (H⁺)⁺."""
    weights = -np.linalg.pinv(group.inverse, hermitian=True)
    np.fill_diagonal(weights, 0.0)
    return np.maximum(weights, 0.0)


def _left_out(group: RatedGroup, weights: FloatArray, votes: VotesByVoter, number: int) -> VoterInfluence:
    rows = slice(int(votes.edges[number]), int(votes.edges[number + 1]))
    i, j, residual = votes.i[rows], votes.j[rows], votes.residual[rows]
    size = len(weights)
    score = np.bincount(i, residual, size) - np.bincount(j, residual, size)
    chance = group.chance[i, j]
    own = np.zeros_like(weights)
    np.add.at(own, (i, j), chance * (1.0 - chance))
    rest = weights - own - own.T
    voter, cast = int(votes.people[number]), len(i)
    inverse = _inverse_of_rest(rest, weights)
    shifts = -PER_LOG_ODDS * ((group.inverse if inverse is None else inverse) @ score)
    most = int(np.abs(shifts).argmax())
    model = int(group.places[most])
    if inverse is None:
        return VoterInfluence(voter, cast, model, None, None)
    return VoterInfluence(voter, cast, model, float(shifts[most]), frozen(shifts))


def _inverse_of_rest(rest: FloatArray, weights: FloatArray) -> FloatArray | None:
    """H⁺ without the voter, or None if the models fall apart."""
    rest = np.where(rest > _LINKED * weights.max(), rest, 0.0)
    reached = np.zeros(len(rest), dtype=np.bool_)
    frontier = np.array([0])
    while frontier.size:
        reached[frontier] = True
        frontier = np.flatnonzero((rest[frontier] > 0).any(axis=0) & ~reached)
    return pseudo_inverse(rest) if reached.all() else None
