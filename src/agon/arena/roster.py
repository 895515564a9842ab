"""Who takes part: the ledger's contestants, and what dispatch knows of their replicas."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from agon.core.contestants import Contestant
from agon.core.conversation import Side
from agon.core.errors import InvalidInput, NotFound, Unavailable
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.placement import AnswerRef, Cost, Job, ReplicaStatus, replica_id
from agon.core.ports import ContestantLedger, Dispatch
from agon.core.roster import Roster, RosterEntry

_FRESH_S = 0.25
_WAKE_AGAIN_S = 5.0


class Contestants:
    """Reads and changes the roster. A reading is reused for a quarter of a second."""

    def __init__(
        self,
        ledger: ContestantLedger,
        dispatch: Dispatch,
        monotonic_s: Callable[[], float],
        *,
        cold_plays: bool = True,
    ) -> None:
        self._ledger = ledger
        self._dispatch = dispatch
        self._monotonic_s = monotonic_s
        self._cold_plays = cold_plays
        self._read_at_s = float("-inf")
        self._roster = Roster(())
        self._reading = asyncio.Lock()
        self._woken_s: dict[str, float] = {}

    async def roster(self) -> Roster:
        # Whoever comes while it is read waits for that reading: a crowd reads once.
        async with self._reading:
            if self._monotonic_s() - self._read_at_s > _FRESH_S:
                begun_s = self._monotonic_s()
                self._roster = await self._read()
                self._read_at_s = begun_s
            return self._roster

    async def named(self, name: str, field: str) -> RosterEntry:
        """A contestant that a person asked for by name. Raises if it cannot answer."""
        entry = (await self.roster()).get(name)
        if entry is None:
            raise InvalidInput(f"There is no model named {name!r}.", code="unknown_model", field=field)
        if not entry.playable:
            if entry.asleep:
                await self._wake(name)
            words = "is being loaded; try again in a moment" if entry.asleep else "is not ready"
            raise Unavailable(f"{name} {words}.", code="model_not_ready", field=field)
        return entry

    async def add(self, contestant: Contestant) -> None:
        await self._ledger.put_contestant(contestant, replace=False)
        await self._forget()

    async def change(self, name: str, change: Callable[[Contestant], Contestant]) -> Contestant:
        """Apply a change to a contestant that is there. Raises `NotFound`."""
        for contestant in await self._ledger.contestants():
            if contestant.name == name:
                changed = change(contestant)
                await self._ledger.put_contestant(changed, replace=True)
                await self._forget()
                return changed
        raise NotFound(f"There is no contestant named {name!r}.", code="contestant_not_found", field="name")

    async def replicas(self) -> tuple[ReplicaStatus, ...]:
        """Every replica, by contestant; one that has just been drained is shown so before its runner knows."""
        return (await self.roster()).replicas

    async def drain(self, replica: str, *, draining: bool) -> ReplicaStatus:
        """Take a replica out of use, or back: its runner reads it from the ledger. Raises `NotFound`."""
        found = next((one for one in await self.replicas() if one.id == replica), None)
        if found is None:
            raise NotFound(f"There is no replica {replica!r}.", code="replica_not_found", field="id")
        known = {one.id for one in await self.replicas()}

        def changed(contestant: Contestant) -> Contestant:
            # Those of runners that are gone never come back under their ids.
            kept = {one for one in contestant.draining if one in known or one in _servers_of(contestant)}
            drained = kept | {replica} if draining else kept - {replica}
            return replace(contestant, draining=tuple(sorted(drained)))

        await self.change(found.contestant, changed)
        return next((one for one in await self.replicas() if one.id == replica), found)

    async def _wake(self, name: str) -> None:
        """Have a model loaded that whoever asked for it is not to wait for, by a turn that nobody hears of."""
        if self._monotonic_s() - self._woken_s.get(name, float("-inf")) < _WAKE_AGAIN_S:
            return
        self._woken_s[name] = self._monotonic_s()
        request = GenerationRequest((Message("user", "Hello."),), Sampling(max_tokens=1), seed=0)
        job = Job(AnswerRef(uuid4(), 1, Side.A, name), Cost(prompt=1, output=1), request=request)
        await self._dispatch.send(await self._dispatch.reserve([job]))

    async def _forget(self) -> None:
        """Have the roster read anew, once a reading that may have missed the change is over."""
        async with self._reading:
            self._read_at_s = float("-inf")

    async def _read(self) -> Roster:
        contestants, replicas = await asyncio.gather(self._ledger.contestants(), self._dispatch.replicas())
        return Roster.of(contestants, replicas, cold_plays=self._cold_plays)


def _servers_of(contestant: Contestant) -> set[str]:
    return {replica_id(contestant.name, url) for url in contestant.urls}
