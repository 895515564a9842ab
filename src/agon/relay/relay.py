"""Requests by a model's name, to wherever that model is."""

import json
from collections.abc import Callable, Sequence
from uuid import UUID, uuid5

from agon.core.contestants import Contestant, ContestantState, Roster
from agon.core.ports import Dispatch
from agon.relay.answers import Answer
from agon.relay.asks import Ask, unknown
from agon.relay.bused import Bused
from agon.relay.direct import Direct, Target
from agon.relay.passage import Renaming
from agon.relay.ports import Reach, Rosters

_KEYS = UUID("3f0f1f0c-56a3-4d0e-8f6a-0d1f6bb6b3a7")
"""Where the ids are that stand for clients' keys."""


class Relay:
    """Answers requests, each over the shorter of two ways."""

    def __init__(
        self,
        rosters: Rosters,
        *,
        reach: Reach,
        direct: Direct,
        bused: Bused,
        dispatch: Dispatch,
        draw_seed: Callable[[], int],
    ) -> None:
        self._rosters = rosters
        self._reach = reach
        self._direct = direct
        self._bused = bused
        self._dispatch = dispatch
        self._draw_seed = draw_seed
        self._roster = Roster(())
        self._targets: dict[str, Target] = {}

    async def names(self) -> Sequence[str]:
        """Every model that can be asked, by name."""
        await self._refresh()
        return list(self._targets)

    async def answer(self, ask: Ask) -> Answer:
        """The answer once it has begun.

        Raises `NotFound` for an unknown model, `Busy` and `Unavailable` as `Dispatch.reserve`, `EngineError` where the
        model could not answer.
        """
        await self._refresh()
        target = self._targets.get(ask.model)
        if target is None:
            raise unknown(ask.model)
        seed = None
        if ask.key is not None:
            named = uuid5(_KEYS, f"{ask.client}\n{ask.key}")
            seed = await self._dispatch.seed(named, 1, self._draw_seed())
        if target.replicas:
            return await self._direct.answer(ask, target, seed)
        return await self._bused.answer(ask, seed)

    async def _refresh(self) -> None:
        roster = await self._rosters.roster()
        if roster is self._roster:
            return
        self._roster = roster
        contestants = [entry.contestant for entry in roster.entries if entry.contestant.state is ContestantState.ACTIVE]
        before = self._targets
        self._targets = {one.name: self._target(one, before.get(one.name)) for one in contestants}

    def _target(self, contestant: Contestant, before: Target | None) -> Target:
        if before is not None and before.contestant == contestant:
            return before
        access = self._reach(contestant)
        return Target(
            contestant=contestant,
            access=access,
            model=json.dumps(contestant.model).encode(),
            renaming=Renaming(contestant.model, contestant.name),
            replicas=tuple(access.servers),
        )
