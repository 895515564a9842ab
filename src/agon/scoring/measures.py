"""What the drift guard tells of itself. Whoever keeps metrics implements it."""

from typing import Protocol

from agon.scoring.fidelity import Decision, Fidelity


class DriftMeasures(Protocol):
    """Suggested names: `arena_drift_checks_total{verdict}`, `arena_drift_kl_mean`, `arena_drift_kl_p99`,
    `arena_drift_top1`, `arena_drift_rolled_back`.
    """

    def checked(self, decision: Decision, found: Fidelity | None) -> None:
        """A check has ended; without figures where there was nothing to compare."""
        ...

    def in_force(self, precision: str) -> None:
        """This precision scores from here on."""
        ...
