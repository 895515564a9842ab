"""The fleet in a gateway's metrics, as its roster has it."""

from collections import Counter

from agon.api.admin_schemas import replica_label
from agon.core.contestants import EngineState
from agon.core.roster import Roster
from agon.telemetry import Metrics

_MOST_SHOWN = 1000
"""Replicas with series of their own, so that a large fleet does not flood whoever reads them."""


def show_fleet(metrics: Metrics, roster: Roster) -> None:
    """Set the gauges to this reading; replicas that are gone go from the metrics too."""
    states = Counter(replica.state for replica in roster.replicas)
    for state in EngineState:
        metrics.replicas.labels(state.value).set(states[state])
    metrics.outstanding.clear()
    metrics.rate.clear()
    for replica in roster.replicas[:_MOST_SHOWN]:
        label = replica_label(replica.id)
        metrics.outstanding.labels(label).set(replica.outstanding_tokens)
        metrics.rate.labels(label).set(replica.rate_tokens_per_s)
