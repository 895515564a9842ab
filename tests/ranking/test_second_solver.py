"""The same votes through other people's solvers: statsmodels' binomial regression, evalica and choix."""

from typing import Any

import choix
import evalica
import numpy as np
import pytest
import statsmodels.api as sm
from tests.ranking.support import Votes, draw_votes

from agon.ranking.arrays import FloatArray, IntArray, listed
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, fit_bradley_terry
from agon.ranking.elo import elo_in_order
from agon.ranking.voters import clustered_errors

SIZE = 7
SCORES = np.array([1.0, 0.0, 0.5, 0.5])


@pytest.fixture(scope="module", params=[1, 2, 3])
def votes(request: pytest.FixtureRequest) -> Votes:
    seed: int = request.param
    strengths = np.random.default_rng(seed).normal(0.0, 1.0, SIZE)
    return draw_votes(seed, strengths, 900)


class Regression:
    """Centred ratings and errors, in points, of a logistic regression with the last model as reference."""

    def __init__(self, votes: Votes, **errors: Any) -> None:
        rows = np.arange(len(votes.first))
        design = np.zeros((len(rows), SIZE))
        design[rows, votes.first] = 1.0
        design[rows, votes.second] = -1.0
        model: Any = sm.GLM(SCORES[votes.winners], design[:, :-1], family=sm.families.Binomial())
        result = model.fit(tol=1e-13, maxiter=100, **errors)
        centre = np.eye(SIZE)[:, :-1] - 1.0 / SIZE
        self.ratings: FloatArray = MEAN + PER_LOG_ODDS * (centre @ result.params)
        self.se: FloatArray = PER_LOG_ODDS * np.sqrt(np.diag(centre @ result.cov_params() @ centre.T))


def test_ratings_and_fisher_errors(votes: Votes) -> None:
    (group,) = fit_bradley_terry(votes.counts()).groups
    second = Regression(votes, scale=1.0)
    assert group.ratings == pytest.approx(second.ratings, abs=1e-6)
    assert group.se_fisher == pytest.approx(second.se, rel=1e-6)


def test_robust_errors(votes: Votes) -> None:
    (group,) = fit_bradley_terry(votes.counts()).groups
    assert group.se == pytest.approx(Regression(votes, cov_type="HC0").se, rel=1e-6)


def test_voter_clustered_errors(votes: Votes) -> None:
    (group,) = fit_bradley_terry(votes.counts()).groups
    voters: IntArray = np.random.default_rng(9).integers(0, 60, len(votes.first))
    second = Regression(votes, cov_type="cluster", cov_kwds={"groups": voters, "use_correction": False})
    found = clustered_errors(group, votes.first, votes.second, votes.winners, voters)
    assert found.se == pytest.approx(second.se, rel=1e-6)


def test_evalica(votes: Votes) -> None:
    left, right = (np.take(votes.models, side).tolist() for side in (votes.first, votes.second))
    words = [evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.Draw]
    winners = [words[code] for code in listed(votes.winners)]
    fit = fit_bradley_terry(votes.counts())
    scores: Any = evalica.bradley_terry(left, right, winners, tolerance=1e-14, limit=10_000).scores
    strengths = np.log([float(scores[model]) for model in fit.models])
    assert fit.ratings == pytest.approx(MEAN + PER_LOG_ODDS * (strengths - strengths.mean()), abs=1e-4)
    elo: Any = evalica.elo(left, right, winners, k=4.0, initial=1000.0).scores
    found = elo_in_order(votes.models, votes.first, votes.second, votes.winners)
    assert dict(found) == pytest.approx({model: float(elo[model]) for model in votes.models}, abs=1e-9)


def test_choix(votes: Votes) -> None:
    """It knows no ties, so each is a win for either side in votes counted twice."""
    pairs: list[tuple[int, int]] = []
    for a, b, winner in zip(votes.first.tolist(), votes.second.tolist(), votes.winners.tolist(), strict=True):
        won, lost = [(a, b)], [(b, a)]
        pairs += won + won if winner == 0 else lost + lost if winner == 1 else won + lost
    strengths = np.asarray(choix.ilsr_pairwise(SIZE, pairs, alpha=0.0, tol=1e-12))
    fit = fit_bradley_terry(votes.counts())
    assert fit.ratings == pytest.approx(MEAN + PER_LOG_ODDS * (strengths - strengths.mean()), abs=1e-4)
