"""Worked examples whose numbers were computed elsewhere, three ways."""

import numpy as np
import pytest
from tests.ranking.support import WINNER_CODES, Vector, by_name, counts_of, vector_id, vectors

from agon.ranking.bradley_terry import Anchor, fit_bradley_terry
from agon.ranking.elo import EloRules, EloState, VoteKey, elo_order, elo_pass
from agon.ranking.goodness import goodness_of_fit
from agon.ranking.leaderboard import leaderboard
from agon.ranking.limits import lowest_unbeaten
from agon.ranking.methods import BoardOptions, Ties, board_of
from agon.ranking.outcomes import WINNERS, PairCounts
from agon.ranking.ranks import Z95, difference_ranks, overlap_ranks
from agon.ranking.ties import TieModel, fit_ties
from agon.ranking.voters import capped, clustered_errors


def test_every_kind_has_vectors() -> None:
    kinds = ("bradley_terry", "anchored", "structure", "elo", "elo_order", "voter_cluster", "tie_models")
    elsewhere = ("cleaning", "day_boundary")
    assert [len(vectors(kind)) for kind in kinds] == [9, 2, 3, 4, 1, 2, 2]
    assert len(vectors(*kinds, *elsewhere)) == 30


@pytest.mark.parametrize("vector", vectors("bradley_terry"), ids=vector_id)
def test_bradley_terry(vector: Vector) -> None:
    expected, within = vector["expected"], vector["tolerance"]
    counts = counts_of(vector["counts"])
    fit = fit_bradley_terry(counts)
    (group,) = fit.groups
    assert by_name(counts.models, group.ratings) == pytest.approx(expected["ratings"], abs=within["ratings"])
    assert by_name(counts.models, group.se_robust) == pytest.approx(expected["se_robust"], abs=within["se"])
    assert by_name(counts.models, group.se_fisher) == pytest.approx(expected["se_fisher"], abs=within["se"])
    reported = expected.get("se_reported", expected["se_robust"])
    assert by_name(counts.models, group.se) == pytest.approx(reported, abs=within["se"])
    assert group.gradient < 1e-9
    for row in expected.get("differences", ()):
        gap = fit.gap(row["first"], row["second"])
        assert gap is not None
        assert gap.difference == pytest.approx(row["difference"], abs=within["ratings"])
        assert gap.se_robust == pytest.approx(row["se_robust"], abs=within["se"])
        assert gap.se_fisher == pytest.approx(row["se_fisher"], abs=within["se"])
    for a, b, rate in expected.get("win_rate_half_ties", ()):
        i, j = counts.codes([a, b])
        assert counts.win_rates()[i, j] == pytest.approx(rate, abs=1e-6)


@pytest.mark.parametrize(
    "vector", [vector for vector in vectors("bradley_terry") if "rank_ci_overlap" in vector["expected"]], ids=vector_id
)
def test_ranks(vector: Vector) -> None:
    counts = counts_of(vector["counts"])
    (group,) = fit_bradley_terry(counts).groups
    overlap = overlap_ranks(group.ratings - Z95 * group.se, group.ratings + Z95 * group.se)
    assert by_name(counts.models, overlap) == vector["expected"]["rank_ci_overlap"]
    tested = difference_ranks(group)
    assert by_name(counts.models, tested) == vector["expected"]["rank_difference_test"]
    shown = {row.model: row.rank for row in leaderboard(counts).rows}
    assert shown == vector["expected"]["rank_ci_overlap"]


def test_fit_of_a_cycle() -> None:
    (vector,) = (vector for vector in vectors("bradley_terry") if "fit_p" in vector["expected"])
    counts = counts_of(vector["counts"])
    (group,) = fit_bradley_terry(counts).groups
    found = goodness_of_fit(counts, group)
    assert found.chi2 == pytest.approx(vector["expected"]["fit_pearson_chi2"], abs=vector["tolerance"]["chi2"])
    assert found.degrees == vector["expected"]["fit_df"]
    assert found.p == pytest.approx(vector["expected"]["fit_p"], abs=vector["tolerance"]["p"])


@pytest.mark.parametrize("vector", vectors("anchored"), ids=vector_id)
def test_anchored(vector: Vector) -> None:
    expected, within = vector["expected"], vector["tolerance"]
    ((model, rating),) = vector["options"]["anchor"].items()
    fit = fit_bradley_terry(counts_of(vector["counts"]), anchor=Anchor(model, rating))
    assert by_name(fit.models, fit.ratings) == pytest.approx(expected["ratings"], abs=within["ratings"])
    assert by_name(fit.models, fit.se) == pytest.approx(expected["se_robust"], abs=within["se"])


@pytest.mark.parametrize("vector", vectors("structure"), ids=vector_id)
def test_structure(vector: Vector) -> None:
    expected, within = vector["expected"], vector["tolerance"]
    fit = fit_bradley_terry(counts_of(vector["counts"]))

    def names(places: np.typing.NDArray[np.int64]) -> list[str]:
        return [fit.models[place] for place in places]

    islands = fit.structure.islands
    assert [names(island.members) for island in islands] == expected["components"]
    assert [names(group) for island in islands for group in island.groups] == expected["strongly_connected"]
    assert [name for island in islands for name in names(island.above)] == expected["unbounded_above"]
    assert [name for island in islands for name in names(island.below)] == expected["unbounded_below"]
    for inside in expected["finite_gaps_inside"].values():
        for row in inside["differences"]:
            gap = fit.gap(row["first"], row["second"])
            assert gap is not None
            assert gap.difference == pytest.approx(row["difference"], abs=within["difference"])
            assert gap.se_robust == pytest.approx(row["se_robust"], abs=within["se"])
    for a, b, comparable in expected.get("comparable", ()):
        assert (fit.gap(a, b) is not None) is comparable


def test_limit_of_an_unbeaten_model() -> None:
    (vector,) = (vector for vector in vectors("structure") if "lower_bound_97_5_of_gap" in vector["expected"])
    limit = vector["expected"]["lower_bound_97_5_of_gap"]
    assert lowest_unbeaten(np.array([0.0]), np.array([3.0])) == pytest.approx(limit["value"], abs=1e-3)
    rows = {row.model: row for row in leaderboard(counts_of(vector["counts"])).rows}
    unbeaten, opponent = (rows[name] for name in limit["pair"])
    assert unbeaten.low is not None
    assert opponent.rating is not None
    assert unbeaten.low - opponent.rating == pytest.approx(limit["value"], abs=1e-3)
    assert unbeaten.rating is unbeaten.high is unbeaten.rank is None


@pytest.mark.parametrize("vector", vectors("elo", "elo_order"), ids=vector_id)
def test_elo(vector: Vector) -> None:
    battles = vector["battles"] * vector.get("repeat", 1)
    models = sorted({battle[side] for battle in battles for side in ("model_a", "model_b")})
    listed = vector["options"]["order"] == "as listed"
    times = [float(place) if listed else battle["timestamp"] for place, battle in enumerate(battles)]
    ids = ["" if listed else battle["id"] for battle in battles]
    first, second = ([models.index(battle[side]) for battle in battles] for side in ("model_a", "model_b"))
    winners = [WINNER_CODES[battle["winner"]] for battle in battles]
    rules = EloRules(k=vector["options"]["k"], initial=vector["options"]["initial"])
    state = elo_pass(models, first, second, winners, timestamps=times, vote_ids=ids, rules=rules)
    expected = vector["expected"]
    assert dict(state.ratings) == pytest.approx(expected["ratings"], abs=vector["tolerance"]["ratings"])
    order = elo_order(np.array(times), ids)
    if "order" in expected:
        assert [ids[place] for place in order] == expected["order"]
    step = EloState(rules)
    places: list[int] = order.tolist()
    for place in places:
        a, b = battles[place]["model_a"], battles[place]["model_b"]
        step = step.apply(VoteKey(times[place], ids[place]), a, b, WINNERS[winners[place]])
    assert step == state


@pytest.mark.parametrize("vector", vectors("voter_cluster"), ids=vector_id)
def test_voter_clusters(vector: Vector) -> None:
    battles, expected, within = vector["battles"], vector["expected"], vector["tolerance"]
    voters = [battle["voter"] for battle in battles]
    people = sorted(set(voters))
    first, second = ([("A", "B").index(battle[side]) for battle in battles] for side in ("model_a", "model_b"))
    winners = [WINNER_CODES[battle["winner"]] for battle in battles]
    everything = np.ones(len(battles), dtype=np.bool_)
    cases = [(everything, expected)]
    if "capped" in expected:
        keep = capped(voters, first, second, limit=expected["capped"]["votes_per_voter"])
        assert keep.sum() == expected["capped"]["kept"]
        cases.append((keep, expected["capped"]))
    for keep, wanted in cases:
        a, b, w, v = (np.array(column)[keep] for column in (first, second, winners, [people.index(x) for x in voters]))
        fit = fit_bradley_terry(PairCounts.from_codes(("A", "B"), a, b, w))
        gap = fit.gap("A", "B")
        assert gap is not None
        assert gap.difference == pytest.approx(wanted["difference"], abs=within["difference"])
        assert gap.se_robust == pytest.approx(wanted["se_battle"], abs=within["se"])
        clustered = clustered_errors(fit.groups[0], a, b, w, v).of_gap(0, 1)
        assert clustered == pytest.approx(wanted["se_voter_cluster"], abs=within["se"])


@pytest.mark.parametrize("vector", vectors("tie_models"), ids=vector_id)
def test_tie_models(vector: Vector) -> None:
    expected, within = vector["expected"], vector["tolerance"]
    counts = counts_of(vector["counts"])
    for ties, name in ((Ties.HALF, "half_tie"), (Ties.DROP, "drop_ties")):
        rows = board_of(counts, BoardOptions(ties=ties)).board.rows
        assert {row.model: row.rating for row in rows} == pytest.approx(
            expected[name]["ratings"], abs=within["ratings"]
        )
    for model, name, parameter in (
        (TieModel.DAVIDSON, "davidson", "nu"),
        (TieModel.RAO_KUPPER, "rao_kupper", "theta"),
    ):
        fit = fit_ties(counts, model)
        wanted = expected[name]
        assert by_name(fit.models, fit.ratings) == pytest.approx(wanted["ratings"], abs=within["ratings"])
        assert fit.parameter == pytest.approx(wanted[parameter], abs=within["parameters"])
        assert fit.log_likelihood == pytest.approx(wanted["log_likelihood"], abs=1e-6)
        assert fit.gradient < 1e-9
