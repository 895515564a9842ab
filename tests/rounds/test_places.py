"""How much of a contestant rounds may take."""

from hypothesis import given
from hypothesis import strategies as st

from agon.core.contestants import Contestant, ContestantKind, ContestantState, EngineState
from agon.core.placement import ReplicaStatus
from agon.core.roster import Roster
from agon.rounds.places import places, room_of


def one(name: str, state: ContestantState = ContestantState.ACTIVE) -> Contestant:
    return Contestant(name, ContestantKind.OPENAI, name, state=state)


def replica(
    contestant: str, state: EngineState = EngineState.READY, *, capacity: int = 2, turns: int = 0, at: str = "here"
) -> ReplicaStatus:
    return ReplicaStatus(f"{contestant}@{at}", contestant, state, capacity=capacity, turns=turns)


def test_a_share_of_all_replicas_together_rounded_down() -> None:
    roster = Roster.of([one("x")], [replica("x", capacity=3, turns=1), replica("x", capacity=4, at="there")])
    assert places(["x"], roster, 0.5) == {"x": 3}
    [entry] = roster.entries
    room = room_of(entry, 0.5)
    assert (room.capacity, room.taken, room.free) == (7, 1, 6)


def test_one_place_in_any_case() -> None:
    assert places(["x"], Roster.of([one("x")], [replica("x", capacity=1)]), 0.1) == {"x": 1}


def test_nobody_asks_what_cannot_answer() -> None:
    paused = one("paused", ContestantState.PAUSED)
    states = [EngineState.LOADING, EngineState.FAILED, EngineState.DRAINING, EngineState.UNKNOWN]
    replicas = [replica("x", state, at=state.value) for state in states]
    roster = Roster.of([one("x"), paused, one("unserved")], [*replicas, replica("paused")])
    assert places(["x", "paused", "unserved"], roster, 1.0) == {}


def test_one_that_was_ejected_is_asked_where_there_is_no_other() -> None:
    roster = Roster.of([one("x")], [replica("x", EngineState.EJECTED)])
    assert places(["x"], roster, 0.5) == {"x": 1}


def test_models_that_must_be_loaded_wait_until_those_that_are_there_are_done() -> None:
    contestants = [one("there"), one("cold"), one("other")]
    replicas = [replica("there"), replica("cold", EngineState.COLD), replica("other", EngineState.COLD)]
    roster = Roster.of(contestants, replicas)
    assert places(["cold", "there"], roster, 0.5) == {"there": 1}
    assert places(["cold"], roster, 0.5) == {"cold": 1}


def test_answers_of_a_contestant_that_is_gone_are_taken_on_to_be_ended() -> None:
    gone = one("gone", ContestantState.REMOVED)
    assert places(["gone", "never"], Roster.of([gone], [replica("gone")]), 0.5) == {"gone": 64, "never": 64}


@given(
    st.lists(st.tuples(st.sampled_from(list(EngineState)), st.integers(0, 64), st.integers(0, 64)), max_size=4),
    st.floats(0.01, 1.0),
)
def test_rounds_never_take_more_than_there_is(rows: list[tuple[EngineState, int, int]], share: float) -> None:
    replicas = [
        replica("x", state, capacity=capacity, turns=turns, at=str(at))
        for at, (state, capacity, turns) in enumerate(rows)
    ]
    given = places(["x"], Roster.of([one("x")], replicas), share)
    usable = sum(
        each.capacity for each in replicas if each.state in {EngineState.READY, EngineState.COLD, EngineState.EJECTED}
    )
    assert given.get("x", 0) <= max(usable, 0)
    assert given.get("x", 0) <= max(1, share * usable)
