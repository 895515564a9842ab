"""1.67 million real votes, from counts inside the package `leaderbot`, against ratings that three solvers agree on."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.ranking.support import DATA

from agon.ranking.bradley_terry import Anchor, fit_bradley_terry
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95, difference_ranks, overlap_ranks

GOLDEN: dict[str, Any] = json.loads((DATA / "golden_leaderbot_top20.json").read_text())


@pytest.fixture(scope="module")
def counts() -> PairCounts:
    # Found through its metadata, not imported: the package's own import wants a plotting library.
    try:
        package = distribution("leaderbot")
    except PackageNotFoundError:
        pytest.fail(f"The golden test reads its votes from {GOLDEN['package']}: install the development requirements.")
    assert package.version == GOLDEN["package"].partition("==")[2]
    path = Path(str(package.locate_file("leaderbot/data/chatbotarena_20240814.json")))
    data = json.loads(path.read_text())
    pairs = np.array(data["X"])
    first, second = (np.repeat(pairs[:, side], 4) for side in (0, 1))
    # Its columns are wins of the first, losses, ties, both bad: the order of our codes.
    winners = np.tile(np.arange(4), len(pairs))
    return PairCounts.from_codes(data["models"], first, second, winners, np.array(data["Y"]).ravel())


def test_counts(counts: PairCounts) -> None:
    assert counts.votes() == GOLDEN["battles"]
    assert len(counts.models) == GOLDEN["models"]
    assert counts.ties.sum() == 2 * GOLDEN["total_by_outcome"]["tie"]
    assert counts.both_bad.sum() == 2 * GOLDEN["total_by_outcome"]["both_bad"]


def test_ratings_errors_and_ranks(counts: PairCounts) -> None:
    (centred,) = fit_bradley_terry(counts).groups
    (anchored,) = fit_bradley_terry(counts, anchor=Anchor("mixtral-8x7b-instruct-v0.1", 1114.0)).groups
    assert len(centred.places) == len(counts.models)
    assert centred.gradient < 1e-9
    overlap = overlap_ranks(centred.ratings - Z95 * centred.se, centred.ratings + Z95 * centred.se)
    tested = difference_ranks(centred)
    battles = counts.met().sum(axis=1)
    close = GOLDEN["tolerance"]
    assert len(GOLDEN["table"]) == GOLDEN["rows"]
    for row in GOLDEN["table"]:
        (place,) = counts.codes([row["model"]])
        assert anchored.ratings[place] == pytest.approx(row["rating"], abs=close["rating"])
        assert anchored.se[place] == pytest.approx(row["se_robust_anchored"], abs=close["se"])
        assert centred.se_robust[place] == pytest.approx(row["se_robust_centred"], abs=close["se"])
        assert centred.se_fisher[place] == pytest.approx(row["se_fisher_centred"], abs=close["se"])
        assert overlap[place] == row["rank_ci_overlap"]
        assert tested[place] == row["rank_difference_test"]
        assert battles[place] == row["battles"]
