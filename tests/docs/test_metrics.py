"""Every metric is documented, as what it is."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.docs.markdown import ROOT

from agon.telemetry import CacheMetrics, Metrics, RunnerMetrics, WorkerMetrics

PAGE = ROOT / "docs" / "reference" / "metrics.md"
KINDS = {"Counter", "Gauge", "Histogram", "Summary", "Info", "Enum", "CounterMetricFamily", "GaugeMetricFamily"}
ROW = re.compile(r"^\| `(arena_\w+)` \| (\w+) \| ([^|]*) \|", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Metric:
    name: str
    kind: str
    labels: tuple[str, ...]


def made_in(source: str) -> Iterator[Metric]:
    """The metrics that a module makes."""
    tree = ast.parse(source)
    if not any(isinstance(node, ast.ImportFrom) and node.module == "prometheus_client" for node in ast.walk(tree)):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            yield _metric(node.func.id.removesuffix("MetricFamily").lower(), node)


def _metric(kind: str, call: ast.Call) -> Metric:
    name = str(ast.literal_eval(call.args[0]))
    named = [keyword.value for keyword in call.keywords if keyword.arg == "labels"]
    labels: list[str] = ast.literal_eval([*call.args[2:3], *named][0]) if call.args[2:3] or named else []
    shown = f"{name}_total" if kind == "counter" and not name.endswith("_total") else name
    return Metric(shown, kind, tuple(labels))


def documented(text: str) -> list[Metric]:
    return [Metric(name, kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in ROW.findall(text)]


def test_the_page_lists_every_metric_and_no_other() -> None:
    made = [metric for path in (ROOT / "src" / "agon").rglob("*.py") for metric in made_in(path.read_text("utf-8"))]
    assert made
    assert sorted(documented(PAGE.read_text("utf-8"))) == sorted(made)


def test_the_names_are_those_that_are_sent() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    RunnerMetrics(registry)
    CacheMetrics(registry)
    WorkerMetrics(registry)
    sent = set(re.findall(r"^# TYPE (\w+) (\w+)$", generate_latest(registry).decode(), re.MULTILINE))
    told = {(metric.name, metric.kind) for metric in documented(PAGE.read_text("utf-8"))}
    assert told <= sent


@pytest.mark.parametrize(
    ("source", "metric"),
    [
        ('Counter("arena_x", "X", ["a", "b"])', Metric("arena_x_total", "counter", ("a", "b"))),
        ('Gauge("arena_y", "Y", registry=r)', Metric("arena_y", "gauge", ())),
        ('Gauge("arena_z", "Z", labels=["a"])', Metric("arena_z", "gauge", ("a",))),
    ],
)
def test_a_metric_is_found_wherever_it_is_made(source: str, metric: Metric) -> None:
    module = f"from prometheus_client import Counter, Gauge\nmade = {source}\n"
    assert list(made_in(module)) == [metric]
