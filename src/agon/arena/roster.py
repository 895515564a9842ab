"""Who takes part: the ledger's contestants and what the runners say of their engines."""

from collections.abc import Callable, Sequence

from agon.core.contestants import Contestant, ContestantState, EngineState, EngineStatus, Roster, RosterEntry
from agon.core.errors import InvalidInput, NotFound, Unavailable
from agon.core.placement import ReplicaStatus
from agon.core.ports import ContestantLedger, Dispatch

_FRESH_S = 0.25
_FROM_BEST = (
    EngineState.READY,
    EngineState.COLD,
    EngineState.EJECTED,
    EngineState.LOADING,
    EngineState.DRAINING,
    EngineState.FAILED,
    EngineState.UNKNOWN,
)


class Contestants:
    """Reads and changes the roster. A reading is reused for a quarter of a second."""

    def __init__(self, ledger: ContestantLedger, dispatch: Dispatch, monotonic_s: Callable[[], float]) -> None:
        self._ledger = ledger
        self._dispatch = dispatch
        self._monotonic_s = monotonic_s
        self._read_at_s = float("-inf")
        self._roster = Roster(())

    async def roster(self) -> Roster:
        if self._monotonic_s() - self._read_at_s > _FRESH_S:
            self._roster = await self._read()
            self._read_at_s = self._monotonic_s()
        return self._roster

    async def named(self, name: str, field: str) -> RosterEntry:
        """A contestant that a person asked for by name. Raises if it cannot answer."""
        entry = (await self.roster()).get(name)
        if entry is None:
            raise InvalidInput(f"There is no model named {name!r}.", code="unknown_model", field=field)
        if not entry.playable:
            raise Unavailable(f"{name} is not ready.", code="model_not_ready", field=field)
        return entry

    async def add(self, contestant: Contestant) -> None:
        await self._ledger.put_contestant(contestant, replace=False)
        self._read_at_s = float("-inf")

    async def change(self, name: str, change: Callable[[Contestant], Contestant]) -> Contestant:
        """Apply a change to a contestant that is there. Raises `NotFound`."""
        for contestant in await self._ledger.contestants():
            if contestant.name == name:
                changed = change(contestant)
                await self._ledger.put_contestant(changed, replace=True)
                self._read_at_s = float("-inf")
                return changed
        raise NotFound(f"There is no contestant named {name!r}.", code="contestant_not_found", field="name")

    async def _read(self) -> Roster:
        contestants = [c for c in await self._ledger.contestants() if c.state is not ContestantState.REMOVED]
        replicas: dict[str, list[ReplicaStatus]] = {}
        for replica in await self._dispatch.replicas():
            replicas.setdefault(replica.contestant, []).append(replica)
        return Roster(tuple(RosterEntry(c, status_of(replicas.get(c.name, []))) for c in contestants))


def status_of(replicas: Sequence[ReplicaStatus]) -> EngineStatus:
    """How a contestant is that these replicas answer for: as well as the best of them."""
    if not replicas:
        return EngineStatus(EngineState.UNKNOWN)
    best = min(replicas, key=lambda replica: _FROM_BEST.index(replica.state))
    active = sum(replica.active for replica in replicas)
    waiting = max(0, sum(replica.turns for replica in replicas) - active)
    return EngineStatus(best.state, best.detail, active, sum(replica.capacity for replica in replicas), waiting)
