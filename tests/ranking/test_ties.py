"""Tie models against their own likelihoods, written down again and climbed by another optimiser."""

import numpy as np
import pytest
from tests.ranking.support import counts_of, draw_votes, optimize

from agon.ranking.arrays import FloatArray
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, fit_bradley_terry
from agon.ranking.methods import BoardOptions, Method, board_of
from agon.ranking.outcomes import PairCounts
from agon.ranking.ties import TieModel, fit_ties

SIZE = 5


def height(model: TieModel, logarithm: float) -> float:
    return float(np.exp(logarithm)) + (1.0 if model is TieModel.RAO_KUPPER else 0.0)


def likelihood(counts: PairCounts, model: TieModel, values: FloatArray) -> float:
    """Of strengths whose first is 0 and, last, the logarithm of the parameter's height over its edge."""
    worth = np.exp(np.concatenate(([0.0], values[:-1])))
    parameter = height(model, values[-1])
    total = 0.0
    for i in range(SIZE):
        for j in range(i + 1, SIZE):
            if model is TieModel.DAVIDSON:
                odds = np.array([worth[i], worth[j], parameter * np.sqrt(worth[i] * worth[j])])
                chance = odds / odds.sum()
            else:
                won, lost = worth[i] / (worth[i] + parameter * worth[j]), worth[j] / (worth[j] + parameter * worth[i])
                chance = np.array([won, lost, 1.0 - won - lost])
            total += np.array([counts.wins[i, j], counts.wins[j, i], counts.draws()[i, j]]) @ np.log(chance)
    return float(total)


@pytest.mark.parametrize("model", list(TieModel))
@pytest.mark.parametrize("seed", [1, 2])
def test_the_maximum_and_its_curvature(model: TieModel, seed: int) -> None:
    counts = draw_votes(seed, np.random.default_rng(seed).normal(0.0, 0.8, SIZE), 900).counts()
    fit = fit_ties(counts, model)

    def lost(values: FloatArray) -> float:
        return -likelihood(counts, model, values)

    found = optimize.minimize(lost, np.append(np.zeros(SIZE - 1), 0.5), method="BFGS")
    strengths = np.concatenate(([0.0], found.x[:-1]))
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=1e-6)
    assert fit.ratings == pytest.approx(MEAN + PER_LOG_ODDS * (strengths - strengths.mean()), abs=0.05)
    assert fit.parameter == pytest.approx(height(model, found.x[-1]), rel=1e-3)


def test_errors_cover_the_truth() -> None:
    strengths = np.linspace(-0.6, 0.6, 4)
    truth = MEAN + PER_LOG_ODDS * strengths
    rng = np.random.default_rng(5)
    runs, hits, parameter_hits = 250, 0, 0
    first, second = np.triu_indices(4, 1)
    gap = strengths[first] - strengths[second]
    level = np.exp(np.stack((0.5 * gap, -0.5 * gap, np.full_like(gap, np.log(0.8)))))
    for _ in range(runs):
        drawn = rng.multinomial(80, (level / level.sum(axis=0)).T)
        wins, ties = np.zeros((4, 4), dtype=np.int64), np.zeros((4, 4), dtype=np.int64)
        wins[first, second], wins[second, first] = drawn[:, 0], drawn[:, 1]
        ties[first, second] = ties[second, first] = drawn[:, 2]
        fit = fit_ties(PairCounts.from_tables("abcd", wins, ties, np.zeros_like(ties)), TieModel.DAVIDSON)
        assert fit.parameter_se is not None
        hits += int((np.abs(fit.ratings - truth) < 1.96 * fit.se).sum())
        parameter_hits += int(abs(fit.parameter - 0.8) < 1.96 * fit.parameter_se)
    slack = 4.0 * np.sqrt(0.95 * 0.05 / runs)
    assert abs(hits / (4 * runs) - 0.95) < slack
    assert abs(parameter_hits / runs - 0.95) < slack


@pytest.mark.parametrize(("model", "edge"), [(TieModel.DAVIDSON, 0.0), (TieModel.RAO_KUPPER, 1.0)])
def test_without_ties_it_is_bradley_terry(model: TieModel, edge: float) -> None:
    counts = counts_of([("a", "b", 3, 0, 1), ("b", "c", 2, 0, 2), ("a", "c", 3, 0, 2)])
    fit, plain = fit_ties(counts, model), fit_bradley_terry(counts)
    assert fit.ratings == pytest.approx(plain.ratings)
    assert fit.parameter == edge
    assert fit.parameter_se is None


@pytest.mark.parametrize("model", list(TieModel))
@pytest.mark.parametrize(
    "rows",
    [
        [("a", "b", 0, 5, 0)],
        # Nobody ever lost to b, so more ties and a wider gap always fit better.
        [("a", "b", 4, 3, 0)],
        [("a", "b", 4, 0, 0)],
    ],
)
def test_without_a_maximum_nothing_is_rated(model: TieModel, rows: list[tuple[str, str, int, int, int]]) -> None:
    fit = fit_ties(counts_of(rows), model)
    assert not fit.finite
    assert np.isnan(fit.ratings).all()
    board = board_of(counts_of(rows), BoardOptions(method=Method(model.value))).board
    assert all(row.rating is row.rank is None for row in board.rows)
    assert {row.model for row in board.rows} == {"a", "b"}
