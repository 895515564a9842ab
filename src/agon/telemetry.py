"""Logs and metrics. Metric names and labels are part of the product: see docs/reference/metrics.md."""

import logging
import sys
import time
from collections.abc import Iterator, Sequence

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agon.core.conversation import AnswerState
from agon.core.generation import Finish
from agon.core.round_ports import Backlog
from agon.dispatch.breaker import BreakerState
from agon.dispatch.measures import Cause, ReplicaFigures
from agon.rounds.caches import TieredCache
from agon.scoring.fidelity import Decision, Fidelity

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
        self.turns = Counter("arena_turns", "Turns that were let in", ["kind"], registry=registry)
        self.refusals = Counter("arena_refusals", "Turns that were refused", ["reason"], registry=registry)
        self.submissions = Counter(
            "arena_round_submissions", "Answers that were submitted to rounds", ["outcome"], registry=registry
        )
        self.first_token_s = Histogram(
            "arena_watch_first_token_seconds",
            "Time from a watcher's coming to the first text of a turn",
            buckets=_LATENCY_BUCKETS_S,
            registry=registry,
        )
        self.watchers = Gauge("arena_watchers", "People who watch a turn on this gateway now", registry=registry)
        self.replicas = Gauge("arena_replicas", "Replicas of the whole fleet", ["state"], registry=registry)
        self.outstanding = Gauge(
            "arena_replica_outstanding_tokens", "Tokens still to be read or written", ["replica"], registry=registry
        )
        self.rate = Gauge(
            "arena_replica_rate_tokens_per_second", "What a replica writes at most", ["replica"], registry=registry
        )


_WAIT_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 7.5, 10.0, 15.0, 30.0)
_GAP_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


class RunnerMetrics:
    """A runner's metrics: `Measures` for Prometheus. Contestants and replicas are those of the configuration."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.registry = registry
        self._replicas: frozenset[str] = frozenset()
        self._make_times(registry)
        self._make_counts(registry)
        self._make_gauges(registry)

    def _make_times(self, registry: CollectorRegistry) -> None:
        self._queue_wait_s = Histogram(
            "arena_queue_wait_seconds",
            "Time from asking until an engine was given the turn",
            ["contestant"],
            buckets=_WAIT_BUCKETS_S,
            registry=registry,
        )
        self._first_token_s = Histogram(
            "arena_first_token_seconds",
            "Time from asking to the first token",
            ["contestant"],
            buckets=_WAIT_BUCKETS_S,
            registry=registry,
        )
        self._inter_token_s = Histogram(
            "arena_inter_token_seconds",
            "Mean time between two tokens of an answer",
            ["contestant"],
            buckets=_GAP_BUCKETS_S,
            registry=registry,
        )

    def _make_counts(self, registry: CollectorRegistry) -> None:
        self._answers = Counter("arena_answers", "Answers that are over", ["contestant", "state"], registry=registry)
        self._retries = Counter("arena_retries", "Turns given to another replica", ["cause"], registry=registry)
        self._cancellations = Counter(
            "arena_cancellations", "Generations ended early", ["contestant"], registry=registry
        )
        self._prompt_tokens = Counter("arena_prompt_tokens", "Tokens of prompts", ["contestant"], registry=registry)
        self._cached_tokens = Counter(
            "arena_cached_prompt_tokens", "Tokens of prompts that were cached", ["contestant"], registry=registry
        )
        self._completion_tokens = Counter(
            "arena_completion_tokens", "Tokens of answers", ["contestant"], registry=registry
        )
        self._drafted_tokens = Counter(
            "arena_drafted_tokens", "Tokens that speculation proposed", ["contestant"], registry=registry
        )
        self._accepted_tokens = Counter(
            "arena_accepted_tokens", "Proposed tokens that were accepted", ["contestant"], registry=registry
        )
        self._loads = Counter("arena_model_loads", "Models brought into memory", ["contestant"], registry=registry)
        self._evictions = Counter(
            "arena_model_evictions", "Models put out of memory", ["contestant"], registry=registry
        )

    def _make_gauges(self, registry: CollectorRegistry) -> None:
        self._active = Gauge("arena_turns_active", "Turns that run", ["replica"], registry=registry)
        self._waiting = Gauge("arena_turns_waiting", "Turns that wait for a place", ["replica"], registry=registry)
        self._occupancy = Gauge("arena_batch_occupancy_ratio", "Share of places taken", ["replica"], registry=registry)
        self._outstanding = Gauge(
            "arena_outstanding_tokens", "Tokens that remain of the turns held here", ["replica"], registry=registry
        )
        self._breaker = Gauge("arena_breaker_state", "1 for the present state", ["replica", "state"], registry=registry)

    def began(self, contestant: str, *, waited_s: float) -> None:
        self._queue_wait_s.labels(contestant).observe(waited_s)

    def spoke(self, contestant: str, *, after_s: float) -> None:
        self._first_token_s.labels(contestant).observe(after_s)

    def ended(self, contestant: str, state: AnswerState, *, gap_s: float | None = None) -> None:
        self._answers.labels(contestant, state.value).inc()
        if gap_s is not None:
            self._inter_token_s.labels(contestant).observe(gap_s)

    def finished(self, contestant: str, finish: Finish) -> None:
        counts = (
            (self._prompt_tokens, finish.prompt_tokens),
            (self._cached_tokens, finish.cached_tokens),
            (self._completion_tokens, finish.completion_tokens),
            (self._drafted_tokens, finish.drafted_tokens),
            (self._accepted_tokens, finish.accepted_tokens),
        )
        for counter, tokens in counts:
            if tokens:
                counter.labels(contestant).inc(tokens)

    def retried(self, cause: Cause) -> None:
        self._retries.labels(cause.value).inc()

    def cancelled(self, contestant: str) -> None:
        self._cancellations.labels(contestant).inc()

    def loaded(self, contestant: str) -> None:
        """A model was brought into memory."""
        self._loads.labels(contestant).inc()

    def evicted(self, contestant: str) -> None:
        """A model had to make room for another."""
        self._evictions.labels(contestant).inc()

    def stated(self, figures: Sequence[ReplicaFigures]) -> None:
        for each in figures:
            report = each.report
            self._active.labels(report.id).set(report.active)
            self._waiting.labels(report.id).set(each.waiting)
            self._occupancy.labels(report.id).set(report.active / report.capacity if report.capacity else 0.0)
            self._outstanding.labels(report.id).set(each.outstanding_tokens)
            for state in BreakerState:
                self._breaker.labels(report.id, state.value).set(state is each.breaker)
        self._drop_others(frozenset(each.report.id for each in figures))

    def _drop_others(self, replicas: frozenset[str]) -> None:
        for gone in self._replicas - replicas:
            for gauge in (self._active, self._waiting, self._occupancy, self._outstanding):
                gauge.remove(gone)
            for state in BreakerState:
                self._breaker.remove(gone, state.value)
        self._replicas = replicas


class CacheMetrics(Collector):
    """Caches, by their names, for Prometheus. They count by themselves, and are read when somebody asks."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._caches: dict[str, TieredCache] = {}
        registry.register(self)

    def watch(self, name: str, cache: TieredCache) -> None:
        """A cache of the same name takes the place of the former one."""
        self._caches[name] = cache

    def collect(self) -> Iterator[Metric]:
        hits = CounterMetricFamily("arena_cache_hits", "Keys found", labels=["cache", "level"])
        misses = CounterMetricFamily("arena_cache_misses", "Keys that no level has", labels=["cache"])
        rejections = CounterMetricFamily(
            "arena_cache_bloom_rejections", "Keys missed without asking a level", labels=["cache"]
        )
        evictions = CounterMetricFamily("arena_cache_evictions", "Values that left memory", labels=["cache"])
        entries = GaugeMetricFamily("arena_cache_entries", "Values in memory", labels=["cache"])
        size_bytes = GaugeMetricFamily("arena_cache_bytes", "Memory of these values", labels=["cache"])
        known = GaugeMetricFamily("arena_cache_bloom_keys", "Keys that the filter knows", labels=["cache"])
        wrong = GaugeMetricFamily(
            "arena_cache_bloom_wrong_ratio", "Share of unknown keys let through", labels=["cache"]
        )
        for name, cache in self._caches.items():
            counts = cache.counts
            for level, found in enumerate((counts.memory, counts.shared, counts.ledger), 1):
                hits.add_metric([name, str(level)], found)
            misses.add_metric([name], counts.missed)
            rejections.add_metric([name], counts.rejected)
            evictions.add_metric([name], cache.hot.evicted)
            entries.add_metric([name], len(cache.hot))
            size_bytes.add_metric([name], cache.hot.size_bytes)
            known.add_metric([name], len(cache.known))
            wrong.add_metric([name], cache.known.wrong)
        yield from (hits, misses, rejections, evictions, entries, size_bytes, known, wrong)


_SIZE_BUCKETS = (1, 4, 16, 64, 128, 256, 512, 1024, 2048)
_SAMPLE_BUCKETS_S = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0)


class WorkerMetrics:
    """A worker's metrics: what the pipeline, the pump and the drift guard tell. Scorers are those that rounds name."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.registry = registry
        self._scored = Counter(
            "arena_round_answers_scored", "Answers that a scorer has judged", ["scorer", "outcome"], registry=registry
        )
        self._batch_size = Histogram(
            "arena_batch_size",
            "Samples in one call of a scorer",
            ["scorer"],
            buckets=_SIZE_BUCKETS,
            registry=registry,
        )
        self._sample_s = Histogram(
            "arena_round_sample_seconds",
            "Time of a scorer for a sample, as a share of its call",
            ["scorer"],
            buckets=_SAMPLE_BUCKETS_S,
            registry=registry,
        )
        self._sent = Counter("arena_round_batches", "Batches that were sent", ["cause"], registry=registry)
        self.waiting = Gauge("arena_round_answers_waiting", "Answers in no batch yet", registry=registry)
        self.lag_s = Gauge(
            "arena_round_lag_seconds", "Age of the oldest answer that is to be scored", registry=registry
        )
        self.parked = Gauge("arena_round_answers_parked", "Answers that no scorer could judge", registry=registry)
        self.open_batches = Gauge("arena_round_batches_open", "Batches in the pipeline", registry=registry)
        self.ready = Gauge("arena_worker_ready", "Whether the worker has loaded what it needs", registry=registry)
        self.stall_s = Gauge(
            "arena_worker_stall_seconds", "How long jobs have waited for this idle worker", registry=registry
        )

        self._checks = Counter("arena_drift_checks", "Looks at the drift", ["verdict"], registry=registry)
        self._kl_mean = Gauge("arena_drift_kl_mean_nats", "Mean divergence at the last look", registry=registry)
        self._kl_p99 = Gauge("arena_drift_kl_p99_nats", "Its 99th percentile", registry=registry)
        self._top1 = Gauge("arena_drift_top1_ratio", "Share of pairs that both prefer alike", registry=registry)
        self._rolled_back = Gauge("arena_drift_rolled_back", "Whether the full engine scores", registry=registry)

    def checked(self, decision: Decision, found: Fidelity | None) -> None:
        self._checks.labels(decision.verdict.value).inc()
        if found is not None:
            self._kl_mean.set(found.kl_mean)
            self._kl_p99.set(found.kl_p99)
            self._top1.set(found.top1)

    def in_force(self, precision: str) -> None:
        self._rolled_back.set(precision == "fp32")

    def scored(self, scorer: str, outcome: str, answers: int) -> None:
        self._scored.labels(scorer, outcome).inc(answers)

    def took(self, scorer: str, samples: int, seconds: float) -> None:
        if samples:
            self._batch_size.labels(scorer).observe(samples)
            self._sample_s.labels(scorer).observe(seconds / samples)

    def sent(self, *, again: bool) -> None:
        self._sent.labels("again" if again else "new").inc()

    def stated(self, backlog: Backlog) -> None:
        self.waiting.set(backlog.waiting)
        self.lag_s.set(backlog.oldest_s)
        self.parked.set(backlog.parked)
        self.open_batches.set(backlog.open_batches)


def set_up_logs(level: str) -> None:
    """One line an event on standard error, with the time in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("aiohttp").setLevel(logging.WARNING)
