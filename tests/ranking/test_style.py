"""Style control against a second solver, and what must not change it."""

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from tests.ranking.support import Votes, draw_votes

from agon.core.errors import InvalidInput
from agon.ranking import style as module
from agon.ranking.arrays import Differences, FloatArray
from agon.ranking.bradley_terry import MEAN, PER_LOG_ODDS, fit_bradley_terry
from agon.ranking.style import RawStyle, StyleFit, fit_style, style_differences

SIZE = 6
BETA = np.array([0.8, -0.3])
NAMES = ("tokens", "lists")
SCORES = np.array([1.0, 0.0, 0.5, 0.5])


def styled(seed: int, number: int) -> tuple[Votes, Differences]:
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-0.7, 0.7, SIZE)
    votes = draw_votes(seed, strengths, number)
    x = rng.uniform(-1.0, 1.0, (number, 2))
    chance = 1.0 / (1.0 + np.exp(strengths[votes.second] - strengths[votes.first] - x @ BETA))
    decided = np.where(rng.random(number) < chance, 0, 1)
    tied = rng.random(number) < 0.1
    return Votes(SIZE, votes.first, votes.second, np.where(tied, votes.winners, decided)), x


def fitted(votes: Votes, x: Differences) -> StyleFit:
    return fit_style(votes.models, votes.first, votes.second, votes.winners, x, names=NAMES)


@pytest.mark.parametrize("seed", [1, 2])
def test_statsmodels_agrees(seed: int) -> None:
    votes, x = styled(seed, 1500)
    found = fitted(votes, x)
    rows = np.arange(1500)
    design = np.zeros((1500, SIZE))
    design[rows, votes.first] = 1.0
    design[rows, votes.second] = -1.0
    model: Any = sm.GLM(SCORES[votes.winners], np.hstack((design[:, :-1], x)), family=sm.families.Binomial())
    result = model.fit(tol=1e-13, maxiter=100, cov_type="HC0")
    centre = np.eye(SIZE)[:, :-1] - 1.0 / SIZE
    covariance = result.cov_params()
    expected: FloatArray = np.sqrt(np.diag(centre @ covariance[: SIZE - 1, : SIZE - 1] @ centre.T))
    assert found.ratings == pytest.approx(MEAN + PER_LOG_ODDS * (centre @ result.params[: SIZE - 1]), abs=1e-5)
    assert found.se == pytest.approx(PER_LOG_ODDS * expected, rel=1e-6)
    assert found.coefficients == pytest.approx(result.params[SIZE - 1 :], abs=1e-7)
    assert found.coefficient_se == pytest.approx(np.sqrt(np.diag(covariance))[SIZE - 1 :], rel=1e-6)
    assert found.gradient < 1e-9


def test_a_large_fit_starts_on_a_sample_and_ends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, x = styled(3, 4000)
    whole = fitted(votes, x)
    monkeypatch.setattr(module, "_SAMPLE", 300)
    monkeypatch.setattr(module, "_CHUNK", 700)
    parts = fitted(votes, x)
    assert parts.ratings == pytest.approx(whole.ratings, abs=1e-6)
    assert parts.se == pytest.approx(whole.se, abs=1e-6)
    assert parts.coefficients == pytest.approx(whole.coefficients, abs=1e-8)


def test_sides_leave_no_trace() -> None:
    votes, x = styled(4, 1200)
    flip = np.random.default_rng(4).random(1200) < 0.5
    swapped = Votes(
        SIZE,
        np.where(flip, votes.second, votes.first),
        np.where(flip, votes.first, votes.second),
        np.where(flip, np.array([1, 0, 2, 3])[votes.winners], votes.winners),
    )
    one, other = fitted(votes, x), fitted(swapped, np.where(flip[:, None], -x, x))
    assert other.ratings == pytest.approx(one.ratings, abs=1e-6)
    assert other.coefficients == pytest.approx(one.coefficients, abs=1e-8)


def test_style_that_differs_with_nothing_changes_little() -> None:
    votes = draw_votes(5, np.linspace(-0.7, 0.7, SIZE), 6000)
    x = np.random.default_rng(5).uniform(-1.0, 1.0, (6000, 2))
    found, plain = fitted(votes, x), fit_bradley_terry(votes.counts())
    assert np.abs(found.coefficients).max() < 4.0 * found.coefficient_se.max()
    assert found.ratings == pytest.approx(plain.ratings, abs=3.0)
    assert found.se == pytest.approx(plain.se, rel=0.02)


def test_intervals_of_coefficients_cover_the_truth() -> None:
    runs, hits = 120, 0
    for seed in range(runs):
        votes, x = styled(seed, 700)
        # Ties drawn without regard to style pull towards nothing, so only decided votes have BETA.
        decided = votes.winners < 2
        found = fitted(Votes(SIZE, votes.first[decided], votes.second[decided], votes.winners[decided]), x[decided])
        hits += int((np.abs(found.coefficients - BETA) < 1.96 * found.coefficient_se).sum())
    assert abs(hits / (2 * runs) - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / runs)


def test_a_feature_that_cannot_be_told_apart_is_refused() -> None:
    votes, x = styled(6, 600)
    for doubled in (np.column_stack((x[:, 0], 2.0 * x[:, 0])), np.column_stack((x[:, 0], np.zeros(600)))):
        with pytest.raises(InvalidInput) as caught:
            fitted(votes, doubled)
        assert caught.value.code == "collinear_style"


def test_style_that_decides_alone_is_refused() -> None:
    votes, x = styled(6, 600)
    x[:, 0] = np.where(votes.winners == 0, 0.5, np.where(votes.winners == 1, -0.5, 0.0))
    with pytest.raises(InvalidInput) as caught:
        fitted(votes, x)
    assert caught.value.code == "style_not_finite"


def test_models_that_are_not_comparable_have_no_number() -> None:
    votes, x = styled(7, 400)
    first, second = np.append(votes.first, 6), np.append(votes.second, 0)
    found = fit_style(
        (*votes.models, "new"), first, second, np.append(votes.winners, 0), np.vstack((x, [[0.9, 0.1]])), names=NAMES
    )
    assert np.isnan(found.ratings[6])
    assert found.votes == 400
    assert found.ratings[:6] == pytest.approx(fitted(votes, x).ratings, abs=1e-6)


def test_bad_tables_are_refused() -> None:
    votes, x = styled(8, 50)
    for bad in (x[:-1], x[:, :1], np.where(x > 0.9, np.nan, x)):
        with pytest.raises(InvalidInput) as caught:
            fitted(votes, bad)
        assert caught.value.code == "bad_style"
    with pytest.raises(InvalidInput):
        style_differences(RawStyle(("tokens",), np.zeros((2, 2)), np.zeros((2, 2))))


def test_differences_are_shares_of_both() -> None:
    a, b = np.array([[30.0, 0.0], [10.0, -1.0]]), np.array([[10.0, 0.0], [np.inf, 2.0]])
    assert style_differences(RawStyle(NAMES, a, b)) == pytest.approx(
        np.array([[0.5, 0.0], [np.nan, np.nan]]), nan_ok=True
    )
