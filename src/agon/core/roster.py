"""The roster: every contestant, and its replicas as the whole fleet sees them now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agon.core.contestants import Contestant, ContestantState, EngineState, EngineStatus
from agon.core.placement import ReplicaStatus

_BEST_FIRST = (
    EngineState.READY,
    EngineState.COLD,
    EngineState.EJECTED,
    EngineState.LOADING,
    EngineState.DRAINING,
    EngineState.FAILED,
    EngineState.UNKNOWN,
)
_USABLE = {EngineState.READY, EngineState.COLD, EngineState.EJECTED}


@dataclass(frozen=True, slots=True)
class RosterEntry:
    contestant: Contestant
    replicas: tuple[ReplicaStatus, ...] = ()
    cold_plays: bool = True
    """Whether one that must be loaded first may be asked."""

    @property
    def engine(self) -> EngineStatus:
        """All replicas as one: in the state of the best of them."""
        if not self.replicas:
            return EngineStatus(EngineState.UNKNOWN)
        best = min(self.replicas, key=lambda replica: _BEST_FIRST.index(replica.state))
        return EngineStatus(
            best.state,
            best.detail,
            active=sum(replica.active for replica in self.replicas),
            capacity=sum(replica.capacity for replica in self.replicas),
            waiting=sum(max(0, replica.turns - replica.active) for replica in self.replicas),
        )

    @property
    def playable(self) -> bool:
        return self.contestant.state is ContestantState.ACTIVE and any(map(self._answers, self.replicas))

    @property
    def asleep(self) -> bool:
        """Whether it would play if it were loaded."""
        active = self.contestant.state is ContestantState.ACTIVE
        return active and not self.playable and any(one.state is EngineState.COLD for one in self.replicas)

    def _answers(self, replica: ReplicaStatus) -> bool:
        return replica.state in _USABLE and (self.cold_plays or replica.state is not EngineState.COLD)


@dataclass(frozen=True, slots=True)
class Roster:
    """Every contestant that is not removed, by name."""

    entries: tuple[RosterEntry, ...]

    @classmethod
    def of(
        cls, contestants: Sequence[Contestant], replicas: Sequence[ReplicaStatus], *, cold_plays: bool = True
    ) -> "Roster":
        by_contestant: dict[str, list[ReplicaStatus]] = {}
        for replica in replicas:
            by_contestant.setdefault(replica.contestant, []).append(replica)
        entries = [
            RosterEntry(
                contestant, tuple(_drained(contestant, by_contestant.get(contestant.name, ()))), cold_plays=cold_plays
            )
            for contestant in contestants
            if contestant.state is not ContestantState.REMOVED
        ]
        return cls(tuple(entries))

    def get(self, name: str) -> RosterEntry | None:
        return next((entry for entry in self.entries if entry.contestant.name == name), None)

    @property
    def fighters(self) -> tuple[RosterEntry, ...]:
        """Those that may be drawn for a battle now."""
        return tuple(entry for entry in self.playable if entry.contestant.weight > 0)

    @property
    def playable(self) -> tuple[RosterEntry, ...]:
        return tuple(entry for entry in self.entries if entry.playable)

    @property
    def replicas(self) -> tuple[ReplicaStatus, ...]:
        return tuple(replica for entry in self.entries for replica in entry.replicas)


def _drained(contestant: Contestant, replicas: Sequence[ReplicaStatus]) -> list[ReplicaStatus]:
    """What the ledger drains counts as drained, also before its runner has heard of it."""
    return [
        replace(one, state=EngineState.DRAINING) if one.id in contestant.draining and one.state in _USABLE else one
        for one in replicas
    ]
