"""Votes that evalica publishes, against its published results and against numbers computed by our conventions."""

import csv
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.ranking.support import DATA

from agon.ranking import Anchor, BoardOptions, CodedBattles, Method, RawBattles, board_of, clean
from agon.ranking.bradley_terry import PER_LOG_ODDS, fit_bradley_terry
from agon.ranking.elo import elo_in_order
from agon.ranking.matrices import win_matrix
from agon.ranking.ranks import Z95, difference_ranks, overlap_ranks

SETS = ("simple", "food", "llmfao")
GOLDEN: dict[str, Any] = json.loads((DATA / "evalica" / "golden.json").read_text())["sets"]


@dataclass(frozen=True)
class Sample:
    name: str
    battles: CodedBattles
    golden: dict[str, Any]
    published: dict[str, dict[str, float]]


@pytest.fixture(scope="module", params=SETS)
def sample(request: pytest.FixtureRequest) -> Sample:
    name: str = request.param
    with (DATA / "evalica" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    voters = [row["worker"] for row in rows] if "worker" in rows[0] else None
    left, right, winner = ([row[key] for row in rows] for key in ("left", "right", "winner"))
    cleaned = clean(RawBattles(left, right, winner, voter=voters))
    assert cleaned.battles is not None
    assert cleaned.report.rejected_rows == 0
    published: dict[str, dict[str, float]] = {}
    with (DATA / "evalica" / f"{name}-golden.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            published.setdefault(row["algorithm"], {})[row["item"]] = float(row["score"])
    return Sample(name, cleaned.battles, GOLDEN[name], published)


def test_counts(sample: Sample) -> None:
    outcomes = np.bincount(sample.battles.winners, minlength=3)
    found = dict(zip(("left", "right", "tie"), outcomes.tolist(), strict=False))
    assert found == sample.golden["outcomes"]
    assert len(sample.battles.models) == sample.golden["items"]


def test_published_ratings(sample: Sample) -> None:
    fit = fit_bradley_terry(sample.battles.counts())
    # Published as strengths of sum 1: the ratios are what they say.
    strengths = np.log([sample.published["bradley_terry"][model] for model in fit.models])
    expected = 1000.0 + PER_LOG_ODDS * (strengths - strengths.mean())
    assert fit.ratings == pytest.approx(expected, abs=1e-6)


def test_published_elo(sample: Sample) -> None:
    battles = sample.battles
    ratings = elo_in_order(battles.models, battles.first, battles.second, battles.winners)
    assert dict(ratings) == pytest.approx(sample.published["elo"], abs=1e-9)
    assert dict(ratings) == pytest.approx(sample.golden["elo_k4_init1000"], abs=1e-4)


def test_published_average_win_rates(sample: Sample) -> None:
    counts = sample.battles.counts()
    matrix = win_matrix(counts, fit_bradley_terry(counts))
    expected = [sample.published["average_win_rate"][model] for model in counts.models]
    assert matrix.observed_average == pytest.approx(expected, abs=1e-12)


def test_ratings_errors_and_ranks(sample: Sample) -> None:
    (group,) = fit_bradley_terry(sample.battles.counts()).groups
    ranks = overlap_ranks(group.ratings - Z95 * group.se, group.ratings + Z95 * group.se)
    tested = difference_ranks(group)
    rows = {row["item"]: row for row in sample.golden["bradley_terry"]}
    assert set(rows) == set(sample.battles.models)
    for place, model in enumerate(sample.battles.models):
        assert group.ratings[place] == pytest.approx(rows[model]["rating"], abs=1e-3)
        assert group.se[place] == pytest.approx(rows[model]["se_robust"], abs=1e-3)
        assert ranks[place] == rows[model]["rank_ci_overlap"]
        assert tested[place] == rows[model]["rank_difference_test"]


def test_errors_by_worker(sample: Sample) -> None:
    if sample.battles.voters is None:
        assert sample.name != "llmfao"
        return
    counts = sample.battles.counts()
    board = board_of(counts, BoardOptions(by_voter=True), battles=sample.battles).board
    expected = {row["item"]: row["se_worker_cluster"] for row in sample.golden["bradley_terry"]}
    assert {row.model: row.se for row in board.rows} == pytest.approx(expected, abs=1e-3)


def test_an_elo_board_stands_in_order_of_elo(sample: Sample) -> None:
    counts = sample.battles.counts()
    rows = board_of(counts, BoardOptions(method=Method.ELO), battles=sample.battles).board.rows
    ratings = [row.rating for row in rows]
    assert ratings == sorted((rating for rating in ratings if rating is not None), reverse=True)
    assert {row.model: row.rating for row in rows} == pytest.approx(sample.published["elo"], abs=1e-9)
    assert rows[0].rank == 1
    assert all(row.low is row.high is row.se is None for row in rows)
    held = BoardOptions(method=Method.ELO, anchor=Anchor(rows[0].model, 1500.0))
    moved = board_of(counts, held, battles=sample.battles).board.rows
    assert moved[0].rating == 1500.0
    assert [row.model for row in moved] == [row.model for row in rows]
