import math

import numpy as np
import pytest
from tests.ranking.support import draw_votes

from agon.core.errors import Conflict, InvalidInput
from agon.core.votes import Winner
from agon.ranking import elo
from agon.ranking.elo import EloRules, EloState, VoteKey, elo_in_order, elo_pass
from agon.ranking.outcomes import WINNERS


def test_one_by_one_equals_a_full_pass_over_shuffled_votes() -> None:
    votes = draw_votes(3, np.linspace(-1.0, 1.0, 6), 500)
    rng = np.random.default_rng(3)
    # Few distinct times, so that ids decide often; v10 sorts before v9, as text does.
    times = rng.integers(0, 60, 500).astype(np.float64)
    ids = [f"v{place}" for place in rng.permutation(500)]
    whole = elo_pass(votes.models, votes.first, votes.second, votes.winners, timestamps=times, vote_ids=ids)
    state = EloState()
    for place in sorted(range(500), key=lambda place: VoteKey(times[place], ids[place])):
        a, b, winner = (int(column[place]) for column in (votes.first, votes.second, votes.winners))
        key = VoteKey(float(times[place]), ids[place])
        state = state.apply(key, votes.models[a], votes.models[b], WINNERS[winner])
    assert state == whole
    assert sum(whole.ratings.values()) == pytest.approx(6000.0)


def test_a_latecomer_is_refused() -> None:
    state = EloState().apply(VoteKey(2.0, "b"), "x", "y", Winner.A)
    for late in (VoteKey(1.0, "z"), VoteKey(2.0, "a"), VoteKey(2.0, "b")):
        with pytest.raises(Conflict) as caught:
            state.apply(late, "x", "y", Winner.B)
        assert caught.value.code == "vote_out_of_order"
    assert state.apply(VoteKey(2.0, "c"), "x", "y", Winner.B).last == VoteKey(2.0, "c")


def test_a_state_does_not_change_under_its_holder() -> None:
    before = EloState().apply(VoteKey(1.0, "a"), "x", "y", Winner.A)
    before.apply(VoteKey(2.0, "b"), "x", "z", Winner.A)
    assert dict(before.ratings) == {"x": 1002.0, "y": 998.0}


def test_no_votes_no_ratings() -> None:
    assert elo_pass(("x", "y"), [], [], [], timestamps=[], vote_ids=[]) == EloState()


@pytest.mark.parametrize(
    ("second", "winner", "time", "code"),
    [(0, 0, 1.0, "self_battle"), (2, 0, 1.0, "bad_votes"), (1, 4, 1.0, "bad_votes"), (1, 0, math.nan, "bad_timestamp")],
)
def test_bad_votes_are_refused(second: int, winner: int, time: float, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        elo_pass(("x", "y"), [0], [second], [winner], timestamps=[time], vote_ids=["v"])
    assert caught.value.code == code


def test_a_vote_counted_twice_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        elo_pass(("x", "y"), [0, 0], [1, 1], [0, 0], timestamps=[1.0, 1.0], vote_ids=["v", "v"])
    assert caught.value.code == "repeated_vote"


def test_the_last_votes_are_enough_where_the_first_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = draw_votes(5, np.linspace(-1.0, 1.0, 5), 60_000)
    columns = votes.models, votes.first, votes.second, votes.winners
    played: list[int] = []
    both = elo.play_both

    def noted(ratings: list[float], others: list[float], battles: elo.Listed, rules: EloRules) -> None:
        played.append(len(battles[0]))
        both(ratings, others, battles, rules)

    monkeypatch.setattr(elo, "play_both", noted)
    part = elo_in_order(*columns)
    assert played == sorted(played)
    assert 0 < played[-1] < 20_000
    assert dict(part) == pytest.approx(dict(elo_in_order(*columns, whole=True)), abs=1e-8)


def test_a_model_that_left_early_is_not_forgotten() -> None:
    votes = draw_votes(5, np.linspace(-1.0, 1.0, 4), 40_000)
    first, second, winners = (np.concatenate(([code], column)) for code, column in (
        (4, votes.first), (0, votes.second), (0, votes.winners)
    ))  # fmt: skip
    columns = (*votes.models, "gone"), first, second, winners
    assert dict(elo_in_order(*columns)) == dict(elo_in_order(*columns, whole=True))
    assert elo_in_order(*columns)["gone"] == 1002.0


def test_faster_rules_forget_sooner() -> None:
    votes = draw_votes(5, np.linspace(-0.5, 0.5, 4), 20_000)
    columns = votes.models, votes.first, votes.second, votes.winners
    for rules in (EloRules(k=32.0), EloRules(k=0.0), EloRules(k=1.0, initial=0.0)):
        part, whole = elo_in_order(*columns, rules=rules), elo_in_order(*columns, rules=rules, whole=True)
        assert dict(part) == pytest.approx(dict(whole), abs=1e-8)
