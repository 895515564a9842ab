"""Requests by a model's name, to wherever that model is."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID, uuid5

from agon.core.contestants import Contestant, ContestantState, EngineState
from agon.core.errors import InvalidInput, Unavailable
from agon.core.placement import ReplicaReport
from agon.core.ports import Dispatch
from agon.relay.answers import Answer
from agon.relay.asks import Ask, unknown
from agon.relay.bused import Bused
from agon.relay.direct import Direct, Target
from agon.relay.passage import Renaming
from agon.relay.ports import Access, Reach, Rosters

log = logging.getLogger(__name__)

_FRESH_S = 0.25
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
        monotonic_s: Callable[[], float],
    ) -> None:
        self._rosters = rosters
        self._reach = reach
        self._direct = direct
        self._bused = bused
        self._dispatch = dispatch
        self._draw_seed = draw_seed
        self._monotonic_s = monotonic_s
        self._targets: dict[str, Target] = {}
        self._known_s = float("-inf")
        self._refreshing: asyncio.Task[None] | None = None

    async def names(self) -> Sequence[str]:
        """Every model that can be asked, by name."""
        await self._refresh()
        return list(self._targets)

    async def answer(self, ask: Ask) -> Answer:
        """The answer once it has begun.

        Raises `NotFound` for an unknown model, `Busy` and `Unavailable` as `Dispatch.reserve`, `EngineError` where the
        model could not answer.
        """
        target = await self._named(ask.model)
        seed = None
        if ask.key is not None:
            named = uuid5(_KEYS, f"{ask.client}\n{ask.key}")
            seed = await self._dispatch.seed(named, 1, self._draw_seed())
        if target.replicas:
            return await self._direct.answer(ask, target, seed)
        return await self._bused.answer(ask, seed)

    def reports(self) -> Sequence[ReplicaReport]:
        """What this process measures of servers, without offering to serve them."""
        return [
            ReplicaReport(replica, target.contestant.name, EngineState.UNKNOWN)
            for target in self._targets.values()
            for replica in target.replicas
        ]

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await self._refreshing

    async def _named(self, name: str) -> Target:
        """Nobody waits for news of a model that is known already."""
        target = self._targets.get(name)
        if target is None:
            await self._refresh()
            target = self._targets.get(name)
        elif self._refreshing is None and self._monotonic_s() - self._known_s > _FRESH_S:
            self._refreshing = asyncio.create_task(self._refresh_behind())
        if target is None:
            raise unknown(name)
        return target

    async def _refresh_behind(self) -> None:
        try:
            await self._refresh()
        except Unavailable as error:
            log.warning("%s", error.message)
        finally:
            self._known_s = self._monotonic_s()
            self._refreshing = None

    async def _refresh(self) -> None:
        roster = await self._rosters.roster()
        contestants = [entry.contestant for entry in roster.entries if entry.contestant.state is ContestantState.ACTIVE]
        before = self._targets
        self._targets = {one.name: self._target(one, before.get(one.name)) for one in contestants}

    def _target(self, contestant: Contestant, before: Target | None) -> Target:
        if before is not None and before.contestant == contestant:
            return before
        try:
            access = self._reach(contestant)
        except InvalidInput as error:
            # A key that cannot be sent, for one: the others are to be reached all the same.
            log.warning("%s is not reached directly: %s", contestant.name, error.message)
            access = Access()
        return Target(
            contestant=contestant,
            access=access,
            model=json.dumps(contestant.model).encode(),
            renaming=Renaming.between(contestant.model, contestant.name),
            replicas=tuple(access.servers),
        )
