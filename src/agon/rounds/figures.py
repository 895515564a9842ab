"""From scores on the same questions to means, win rates and ratings, each with its interval. Arrays in, arrays out.

Questions are the sample: each is drawn once, and whatever is said of it by several contestants leans together. So every
error here is that of a sum over questions, never over pairs of answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agon.core.round_ports import QuestionScores
from agon.core.scoring import SCORE_UNIT
from agon.ranking.arrays import BoolArray, FloatArray, IntArray, listed
from agon.ranking.bradley_terry import PER_LOG_ODDS, RatedGroup
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95
from agon.rounds.student import t95

SURE_IF_EQUAL = 6
"""Equal values that count as certain: as often in a row, one sign comes up by chance in fewer than 5 of 100 samples."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """Scores of M contestants on Q questions: MxQ, in millionths, 0 where `there` says that there is none."""

    contestants: tuple[str, ...]
    units: IntArray
    there: BoolArray

    @classmethod
    def of(cls, contestants: Sequence[str], questions: Sequence[QuestionScores]) -> "ScoreTable":
        """Contestants by name and questions by key, so that the order of rows leaves no trace in rounding."""
        names = tuple(sorted(contestants))
        ordered = sorted(questions, key=lambda each: each.question)
        found = [[each.scores.get(name) for each in ordered] for name in names]
        shape = (len(names), len(ordered))
        there = np.array([[score is not None for score in row] for row in found], dtype=np.bool_).reshape(shape)
        units = np.array([[score or 0 for score in row] for row in found], dtype=np.int64).reshape(shape)
        return cls(names, units, there)

    def only(self, rows: IntArray) -> "ScoreTable":
        return ScoreTable(tuple(self.contestants[row] for row in listed(rows)), self.units[rows], self.there[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Figures with the ends of their 95 % intervals; NaN where the scores say nothing."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


def mean_scores(table: ScoreTable) -> Spans:
    """Means over questions, (M,), with Student's t intervals; none where scores are fewer than two, or all equal."""
    number = table.there.sum(axis=1)
    sums = table.units.sum(axis=1)
    mean = np.divide(sums, number * float(SCORE_UNIT), out=np.full(len(number), np.nan), where=number > 0)
    apart = np.where(table.there, table.units / SCORE_UNIT - np.nan_to_num(mean)[:, None], 0.0)
    apart[_spread(table.units, table.there) == 0] = 0.0
    return _student(mean, (apart**2).sum(axis=1), number)


def sure_bounds(means: Spans, number: IntArray) -> Spans:
    """The intervals by which to rank: often enough the same score leaves nothing to doubt."""
    equal = np.isnan(means.low) & (number >= SURE_IF_EQUAL)
    low, high = (np.where(equal, means.value, end) for end in (means.low, means.high))
    return Spans(means.value, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Rivals:
    """How M contestants fared against each other on the questions that both have a score on. All MxM but for the ends.

    `points`, MxQ, is what a contestant took of its rivals on a question, half a point a tie. `average` is the mean of
    its win rates, each rival counting once, (M,).
    """

    met: IntArray
    wins: IntArray
    ties: IntArray
    rates: Spans
    gaps: Spans
    points: FloatArray
    average: Spans

    def counts(self, contestants: tuple[str, ...]) -> PairCounts:
        return PairCounts.from_tables(contestants, self.wins, self.ties, np.zeros_like(self.wins))


def compare(table: ScoreTable) -> Rivals:
    """Every pair, on the same questions.

    Win rates have the adjusted interval of Bonett and Price (2012) for paired data: that of a mean over questions, to
    which one won and one lost question are added in thought, so that neither a clean sweep nor nothing but ties looks
    certain. The average has the same, with all of a question's outcomes moving together. Gaps of scores have Student's
    t over the paired differences.
    """
    size, questions = table.units.shape
    met, wins, ties = (np.zeros((size, size), dtype=np.int64) for _ in range(3))
    gap, squares = (np.full((size, size), np.nan) for _ in range(2))
    points, average = np.zeros((size, questions)), np.full((3, size), np.nan)
    for row in range(size):
        both = table.there & table.there[row]
        both[row] = False
        gaps = np.where(both, table.units[row] - table.units, 0)
        won = gaps > 0
        outcome = np.where(both, won + 0.5 * (gaps == 0), 0.0)
        met[row], wins[row] = both.sum(axis=1), won.sum(axis=1)
        ties[row] = (both & (gaps == 0)).sum(axis=1)
        points[row] = outcome.sum(axis=0)
        gap[row], squares[row] = _differences(gaps, both, met[row])
        average[:, row] = _average(outcome, both, met[row])
    rates = _paired_rates(met, wins, ties)
    return Rivals(met, wins, ties, rates, _student(gap, squares, met), points, Spans(*average))


def surely_better(rivals: Rivals) -> IntArray:
    """How many rivals score higher on the same questions by more than chance allows, (M,)."""
    gaps = rivals.gaps
    always = np.isnan(gaps.high) & (rivals.met >= SURE_IF_EQUAL) & (gaps.value < 0)
    return ((gaps.high < 0) | always).sum(axis=1)


def clustered_se(table: ScoreTable, rivals: Rivals, group: RatedGroup) -> tuple[FloatArray, int]:
    """Standard errors of a group's ratings in points, (m,), and the number of questions behind them.

    The sandwich of Liang and Zeger (1986) with questions as clusters, times q/(q-1); Fisher's error for a contestant
    all of whose outcomes were as the ratings say, where the sandwich would claim certainty.
    """
    whole = len(group.places) == len(table.contestants)
    inner = table if whole else table.only(group.places)
    points = rivals.points if whole else compare(inner).points
    present = inner.there.astype(np.float64)
    expected = present * (group.chance @ present - 0.5 * present)
    scores = points - expected
    questions = int((inner.there.sum(axis=0) > 1).sum())
    factor = questions / (questions - 1) if questions > 1 else np.nan
    spread = group.inverse @ scores
    robust = PER_LOG_ODDS * np.sqrt(factor * (spread**2).sum(axis=1))
    return np.where(robust <= 1e-6 * group.se_fisher, group.se_fisher, robust), questions


def _spread(units: IntArray, there: BoolArray) -> IntArray:
    """Largest less smallest, by row; exact, so that equal scores are told from nearly equal ones."""
    bound = np.iinfo(np.int64).max // 4
    if not units.shape[1]:
        return np.zeros(len(units), dtype=np.int64)
    return np.maximum(np.where(there, units, -bound).max(axis=1) - np.where(there, units, bound).min(axis=1), 0)


def _student(mean: FloatArray, squares: FloatArray, number: IntArray) -> Spans:
    """A mean's interval from the sum of its values' squared distances."""
    known = (number > 1) & (squares > 0)
    n = np.where(known, number, 2).astype(np.float64)
    quantile = np.array([t95(int(each) - 1) for each in np.ravel(n)]).reshape(n.shape)
    half = np.where(known, quantile * np.sqrt(np.where(known, squares, 0.0) / (n * (n - 1.0))), np.nan)
    return Spans(mean, mean - half, mean + half)


def _differences(gaps: IntArray, both: BoolArray, met: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean paired differences with each rival and the sums of squares about them."""
    mean = np.divide(gaps.sum(axis=1), met * float(SCORE_UNIT), out=np.full(len(met), np.nan), where=met > 0)
    apart = np.where(both, gaps / SCORE_UNIT - np.nan_to_num(mean)[:, None], 0.0)
    apart[_spread(gaps, both) == 0] = 0.0
    return mean, (apart**2).sum(axis=1)


def _paired_rates(met: IntArray, wins: IntArray, ties: IntArray) -> Spans:
    losses = met - wins - ties
    won, lost = (wins + 1.0) / (met + 2.0), (losses + 1.0) / (met + 2.0)
    centre = 0.5 + 0.5 * (won - lost)
    half = 0.5 * Z95 * np.sqrt((won + lost - (won - lost) ** 2) / (met + 2.0))
    known = met > 0
    value = np.divide(wins + 0.5 * ties, met, out=np.full(met.shape, np.nan), where=known)
    return _clipped(value, np.where(known, centre, np.nan), half)


def _average(outcome: FloatArray, both: BoolArray, met: IntArray) -> FloatArray:
    """Average win rate of one contestant and its ends, (3,), from its outcomes against each rival."""
    rivals = met > 0
    if not rivals.any():
        return np.full(3, np.nan)
    outcome, both, n = outcome[rivals], both[rivals], met[rivals].astype(np.float64)
    taken = outcome.sum(axis=1)
    centre = (taken + 1.0) / (n + 2.0)
    weight = 1.0 / (len(n) * (n + 2.0))
    moved = weight @ np.where(both, outcome - centre[:, None], 0.0)
    imagined = (weight @ (1.0 - centre)) ** 2 + (weight @ centre) ** 2
    half = Z95 * np.sqrt((moved**2).sum() + imagined)
    ends = _clipped(np.mean(taken / n, keepdims=True), np.mean(centre, keepdims=True), half)
    return np.concatenate((ends.value, ends.low, ends.high))


def _clipped(value: FloatArray, centre: FloatArray, half: FloatArray) -> Spans:
    return Spans(value, np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0))
