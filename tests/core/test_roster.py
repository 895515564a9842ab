"""What a contestant is, made of what its replicas are."""

from dataclasses import replace

import pytest

from agon.core.contestants import Contestant, ContestantKind, ContestantState, EngineState
from agon.core.placement import ReplicaStatus
from agon.core.roster import Roster, RosterEntry

MODEL = Contestant("model", ContestantKind.OPENAI, "model")
READY, COLD, EJECTED = EngineState.READY, EngineState.COLD, EngineState.EJECTED
LOADING, DRAINING, FAILED, UNKNOWN = (
    EngineState.LOADING,
    EngineState.DRAINING,
    EngineState.FAILED,
    EngineState.UNKNOWN,
)


def replicas(*states: EngineState) -> tuple[ReplicaStatus, ...]:
    return tuple(
        ReplicaStatus(f"model@{number}", "model", state, f"words {number}", capacity=4, active=1, turns=3)
        for number, state in enumerate(states)
    )


@pytest.mark.parametrize(
    ("states", "shown", "playable"),
    [
        ((), UNKNOWN, False),
        ((READY,), READY, True),
        ((FAILED, LOADING, READY), READY, True),
        ((FAILED, EJECTED), EJECTED, True),
        ((COLD, FAILED), COLD, True),
        ((LOADING, FAILED), LOADING, False),
        ((DRAINING, FAILED), DRAINING, False),
        ((FAILED,), FAILED, False),
    ],
)
def test_the_best_replica_speaks_for_all(
    states: tuple[EngineState, ...], shown: EngineState, *, playable: bool
) -> None:
    entry = RosterEntry(MODEL, replicas(*states))
    assert entry.engine.state is shown
    assert entry.playable is playable
    assert not RosterEntry(replace(MODEL, state=ContestantState.PAUSED), replicas(*states)).playable


def test_figures_are_summed_up() -> None:
    engine = RosterEntry(MODEL, replicas(READY, FAILED)).engine
    assert (engine.detail, engine.capacity, engine.active, engine.waiting) == ("words 0", 8, 2, 4)


def test_whether_one_that_must_be_loaded_plays_is_a_choice() -> None:
    asleep = RosterEntry(MODEL, replicas(COLD, FAILED), cold_plays=False)
    assert (asleep.playable, asleep.asleep) == (False, True)
    for awake in (
        RosterEntry(MODEL, replicas(COLD, READY), cold_plays=False),
        RosterEntry(MODEL, replicas(COLD, FAILED), cold_plays=True),
    ):
        assert (awake.playable, awake.asleep) == (True, False)
    assert not RosterEntry(MODEL, replicas(FAILED), cold_plays=False).asleep


def test_what_the_ledger_drains_is_drained_before_its_runner_knows() -> None:
    drained = replace(MODEL, draining=("model@0", "model@2"))
    roster = Roster.of(
        [drained, replace(MODEL, name="gone", state=ContestantState.REMOVED)], replicas(READY, READY, FAILED)
    )
    assert [replica.state for replica in roster.replicas] == [DRAINING, READY, FAILED]
    assert [entry.contestant.name for entry in roster.entries] == ["model"]
    assert roster.get("gone") is None
    assert roster.fighters == roster.playable == roster.entries
