"""Logs and metrics. Metric names and labels are part of the product: see docs/reference/metrics.md."""

import logging
import sys
import time

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0)


class Metrics:
    """The gateway's metrics. Routes are templates, so labels stay bounded."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.registry = registry
        self.requests = Counter("arena_req", "Requests answered", ["route", "method", "status"], registry=registry)
        self.latency_s = Histogram(
            "arena_req_latency_seconds",
            "Time to the start of the response",
            ["route", "method"],
            buckets=_LATENCY_BUCKETS_S,
            registry=registry,
        )
        self.streams = Gauge("arena_streams_open", "Event streams open now", registry=registry)
        self.votes = Counter("arena_votes", "Votes committed", ["winner"], registry=registry)


def set_up_logs(level: str) -> None:
    """One line an event on standard error, with the time in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("aiohttp").setLevel(logging.WARNING)
