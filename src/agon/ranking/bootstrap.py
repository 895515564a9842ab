"""Bootstrap ratings: the fit repeated on votes drawn anew, battle by battle or voter by voter."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import Codes, FloatArray, IntArray, frozen
from agon.ranking.batch import BatchSolver
from agon.ranking.bradley_terry import PER_LOG_ODDS, RatedGroup
from agon.ranking.outcomes import PairCounts
from agon.ranking.voters import GroupVotes

ROUNDS = 1000
_MANY = 20_000
_OFTEN = 20
_BLOCK = 4_000_000
"""Numbers held at once for a block of rounds (32 MB)."""


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """R rounds of m models, in the order of the group's places; points.

    `samples` is Rxm, with rows of NaN for rounds whose votes leave some rating without limit; `finite` counts the
    others, of which `se`, `low` and `high`, each (m,), are taken: the standard deviation and the ends of the central
    share `level` (percentile interval).
    """

    samples: FloatArray
    finite: int
    level: float
    se: FloatArray
    low: FloatArray
    high: FloatArray


def bootstrap_battles(
    counts: PairCounts,
    group: RatedGroup,
    *,
    rng: np.random.Generator,
    rounds: int = ROUNDS,
    level: float = 0.95,
) -> Bootstrap:
    """Efron's (1979) bootstrap over battles, for a group of the fit of these counts.

    Each round draws as many battles as there were, with replacement. That is one multinomial draw over the outcomes of
    pairs, whatever the number of battles. From `_MANY` battles on, each outcome is drawn by itself from its Poisson
    distribution (Hanley and MacGibbon 2006): given how many came in all, that is the same multinomial draw, and how
    many came differs from as many as there were by less than 1 %. An outcome that came `_OFTEN` or more is drawn from
    the normal distribution with the Poisson's mean and variance, which is five times as fast. The same generator state
    gives the same result.
    Raises `InvalidInput` if `rounds` is below 2 or `level` not between 0 and 1.
    """
    _check(rounds, level)
    window = np.ix_(group.places, group.places)
    wins, draws = counts.wins[window], np.triu(counts.draws()[window])
    cells = np.concatenate((wins.ravel(), draws.ravel()))
    used = np.flatnonzero(cells)
    size = len(group.places)
    solver = BatchSolver.of(group)
    samples: list[FloatArray] = []
    for number in _blocks(rounds, 2 * size * size):
        drawn = np.zeros((number, len(cells)))
        _redraw(cells, used, rng, drawn)
        samples.append(solver.solve(_score(drawn, size)))
    return _summary(samples, group, level)


def _redraw(cells: IntArray, used: IntArray, rng: np.random.Generator, drawn: FloatArray) -> None:
    """Fill `drawn`, of a round a row, with how often each cell came."""
    total, rounds = int(cells.sum()), len(drawn)
    if total < _MANY:
        drawn[:, used] = rng.multinomial(total, cells[used] / total, size=rounds)
        return
    # Of all cells, since picking some costs more; one that never came has neither mean nor spread.
    rng.standard_normal(out=drawn)
    drawn *= np.sqrt(cells)
    drawn += cells
    np.maximum(drawn, 0.0, out=drawn)
    seldom = used[cells[used] < _OFTEN]
    drawn[:, seldom] = rng.poisson(cells[seldom], size=(rounds, len(seldom)))


def bootstrap_voters(
    group: RatedGroup,
    first: Codes,
    second: Codes,
    winners: Codes,
    voters: Codes,
    *,
    rng: np.random.Generator,
    rounds: int = ROUNDS,
    level: float = 0.95,
) -> Bootstrap:
    """The bootstrap over voters, each drawn with all of their votes, so that votes of one person may lean together.

    The columns, (V,), are those of the fit, coded as in `clustered_errors`; votes on models outside the group are left
    out. Each round costs one pass over the distinct (voter, pair, outcome) combinations. Raises `InvalidInput` as
    `bootstrap_battles` and `clustered_errors` do.
    """
    _check(rounds, level)
    table = _VoterCells.of(group, first, second, winners, voters)
    size = len(group.places)
    solver = BatchSolver.of(group)
    samples: list[FloatArray] = []
    for number in _blocks(rounds, 2 * size * size):
        drawn = np.stack([table.draw(rng, 2 * size * size) for _ in range(number)])
        samples.append(solver.solve(_score(drawn, size)))
    return _summary(samples, group, level)


def _check(rounds: int, level: float) -> None:
    if rounds < 2:
        raise InvalidInput("A bootstrap needs at least 2 rounds.", code="bad_rounds", field="rounds")
    if not 0.0 < level < 1.0:
        raise InvalidInput("The level must lie between 0 and 1.", code="bad_level", field="level")


def _blocks(rounds: int, width: int) -> Iterator[int]:
    most = max(1, _BLOCK // width)
    for start in range(0, rounds, most):
        yield min(most, rounds - start)


def _score(drawn: FloatArray, size: int) -> FloatArray:
    """Scores, Rxmxm, of rounds whose columns are wins, then draws once a pair."""
    wins, draws = np.split(drawn.reshape(len(drawn), 2 * size, size), 2, axis=1)
    draws *= 0.5
    wins += draws
    wins += draws.transpose(0, 2, 1)
    return wins


@dataclass(frozen=True, slots=True, eq=False)
class _VoterCells:
    """How often each voter gave each outcome, in order of the cell; cells are numbered as in `_score`."""

    voters: int
    who: IntArray
    times: FloatArray
    starts: IntArray
    cells: IntArray

    @classmethod
    def of(cls, group: RatedGroup, first: Codes, second: Codes, winners: Codes, voters: Codes) -> "_VoterCells":
        votes = GroupVotes.of(group, first, second, winners, voters)
        i, j, w, size = votes.i, votes.j, votes.winners, len(group.places)
        people, who = np.unique(votes.voters, return_inverse=True)
        won = np.where(w == 0, i * size + j, j * size + i)
        drawn = size * size + np.minimum(i, j) * size + np.maximum(i, j)
        both, times = np.unique(np.where(w < 2, won, drawn) * len(people) + who, return_counts=True)
        cell, person = both // max(len(people), 1), both % max(len(people), 1)
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        return cls(len(people), person, times.astype(np.float64), starts, cell[starts])

    def draw(self, rng: np.random.Generator, width: int) -> FloatArray:
        drawn = rng.integers(0, self.voters, self.voters)
        weight = np.bincount(drawn, minlength=self.voters).astype(np.float64)
        counts = np.zeros(width)
        counts[self.cells] = np.add.reduceat(weight[self.who] * self.times, self.starts)
        return counts


def _summary(samples: list[FloatArray], group: RatedGroup, level: float) -> Bootstrap:
    strengths = np.concatenate(samples)
    shift = float(group.ratings[0] - PER_LOG_ODDS * group.strengths[0])
    points = shift + PER_LOG_ODDS * strengths
    if group.anchored:
        held = int(np.flatnonzero(group.se_fisher == 0.0)[0])
        points += (group.ratings[held] - points[:, held])[:, None]
    good = points[np.isfinite(points).all(axis=1)]
    if len(good) < 2:
        nowhere = np.full(len(group.places), np.nan)
        return Bootstrap(frozen(points), len(good), level, nowhere, nowhere, nowhere)
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(good, (tail, 1.0 - tail), axis=0)
    return Bootstrap(frozen(points), len(good), level, good.std(axis=0, ddof=1), low, high)
