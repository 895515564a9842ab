"""Who beats whom how often: as it was observed, and as the ratings predict it."""

from dataclasses import dataclass

import numpy as np

from agon.ranking.arrays import BoolArray, FloatArray, IntArray, frozen
from agon.ranking.bradley_terry import BradleyTerry
from agon.ranking.outcomes import PairCounts


@dataclass(frozen=True, slots=True, eq=False)
class WinMatrix:
    """Win rates of M models in the order of `models`, a tie and a both-bad being half a win for either side.

    `observed[i, j]` is i's share of its battles against j, NaN where they never met, `battles` their number.
    `predicted` is what the ratings say, NaN where i and j are not comparable. Diagonals are NaN and 0. `average`, (M,),
    is the mean predicted rate against all other models of its group, each counting once however often it was met;
    `observed_average` the mean of the observed rates against the models it did meet. All but `battles` lie between 0
    and 1.
    """

    models: tuple[str, ...]
    observed: FloatArray
    battles: IntArray
    predicted: FloatArray
    average: FloatArray
    observed_average: FloatArray


def win_matrix(counts: PairCounts, fit: BradleyTerry) -> WinMatrix:
    """The matrices of a fit of these very counts."""
    observed, predicted = counts.win_rates(), np.full((len(counts.models),) * 2, np.nan)
    for group in fit.groups:
        predicted[np.ix_(group.places, group.places)] = group.chance
    np.fill_diagonal(predicted, np.nan)
    return WinMatrix(
        models=counts.models,
        observed=frozen(observed),
        battles=frozen(counts.met()),
        predicted=frozen(predicted),
        average=frozen(_row_means(predicted, np.isfinite(predicted))),
        observed_average=frozen(_row_means(observed, np.isfinite(observed))),
    )


def _row_means(table: FloatArray, there: BoolArray) -> FloatArray:
    number = there.sum(axis=1)
    total = np.where(there, table, 0.0).sum(axis=1)
    return np.divide(total, number, out=np.full(len(table), np.nan), where=number > 0)
