"""Watching a round from its ledger: until it is over, or cannot go on."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID, uuid4

from agon.core.contestants import Contestant, ContestantKind, ContestantState, EngineState
from agon.core.errors import Unavailable
from agon.core.placement import ReplicaStatus
from agon.core.roster import Roster
from agon.core.round_ports import Progress, Total
from agon.core.rounds import AnswerStage, Round, RoundContestant
from agon.rounds.following import RoundFollowing, Snapshot, Standstill

Stages = Mapping[AnswerStage, int]
ROUND = Round(uuid4(), "r", "s", (RoundContestant("x", made_here=True),), 3)


class Telling:
    """A ledger, as far as it is watched, that tells one thing after the other; the last one for ever."""

    def __init__(self, *told: tuple[Stages, int] | None) -> None:
        self._told = list(told)
        self._now: tuple[Stages, int] = ({}, 0)

    async def find(self, round_id: UUID) -> Round:
        del round_id
        now = self._told.pop(0) if len(self._told) > 1 else self._told[0]
        if now is None:
            raise Unavailable("The ledger cannot be reached.")
        self._now = now
        return ROUND

    async def progress(self, round_id: UUID) -> list[Progress]:
        del round_id
        return [Progress("x", self._now[0])]

    async def totals(self, round_id: UUID) -> list[Total]:
        del round_id
        return [Total("x", self._now[1], 0)]


async def watch(telling: Telling, roster: Roster | None = None) -> tuple[Snapshot, list[Snapshot], list[Standstill]]:
    async def rostered() -> Roster:
        return roster or Roster(())

    seen: list[Snapshot] = []
    stands: list[Standstill] = []
    following = RoundFollowing(cast("Any", telling), telling, rostered, ROUND.id)  # pyright: ignore[reportArgumentType]
    last = await following.until_over(seen.append, stands.append, still_s=0.0)
    return last, seen, stands


def served(state: EngineState, contestant: ContestantState = ContestantState.ACTIVE) -> Roster:
    return Roster.of(
        [Contestant("x", ContestantKind.EMBEDDED, "x", state=contestant)],
        [ReplicaStatus("x@here", "x", state, "no such file", capacity=2)],
    )


async def test_it_is_over_once_the_board_has_every_score() -> None:
    made = {AnswerStage.SCORED: 2, AnswerStage.FAILED: 1}
    telling = Telling(({AnswerStage.PENDING: 3}, 0), None, (made, 1), (made, 2))
    last, seen, _ = await watch(telling, served(EngineState.LOADING))
    assert [one.is_over for one in seen] == [False, False, True]
    assert (last.merged, last.troubled, last.count(*AnswerStage)) == (2, 1, 3)


async def test_answers_that_a_dead_model_owes_are_not_waited_for_for_ever() -> None:
    telling = Telling(({AnswerStage.PENDING: 3}, 0))
    last, _, [still] = await watch(telling, served(EngineState.FAILED))
    assert still == Standstill({"x": "it is failed. no such file"}, is_hopeless=True)
    assert not last.is_over
    _, _, [gone] = await watch(telling)
    assert "no contestant" in gone.reasons["x"]
    _, _, [paused] = await watch(telling, served(EngineState.READY, ContestantState.PAUSED))
    assert paused.reasons == {"x": "it is paused"}


async def test_what_may_still_come_is_waited_for() -> None:
    waits = ({AnswerStage.PENDING: 1, AnswerStage.ANSWERED: 2}, 0)
    over = ({AnswerStage.SCORED: 3}, 3)
    _, _, stands = await watch(Telling(waits, waits, waits, over), served(EngineState.FAILED))
    assert [still.is_hopeless for still in stands] == [False]
    _, _, stands = await watch(Telling(waits, waits, waits, over), served(EngineState.LOADING))
    assert stands == [Standstill()]
