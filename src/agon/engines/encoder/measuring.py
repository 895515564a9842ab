"""A reduced engine beside the full one: size, time to load, latency, and what each means is worth on mixed texts."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from agon.core.scoring import Sample
from agon.engines.encoder.artefact import INT8_FOLDER, MODEL_FILE
from agon.engines.encoder.batches import Batching
from agon.engines.encoder.buffers import Buffers
from agon.engines.encoder.making import Workshop
from agon.engines.encoder.providers import Placement, Session, open_session
from agon.engines.encoder.session import Ready, ScoreEngine, load
from agon.engines.encoder.texts import Texts
from agon.scoring.drift import Precision
from agon.scoring.fidelity import Fidelity, Scores, compare, pair_accuracy
from agon.scoring.reward.encoding import Encoded
from agon.scoring.reward.spec import GRAPH_FILE

BATCHES: Final = (1, 8, 32)
TOKENS: Final = 128
"""Length of the texts that latencies are compared at."""
BATCH: Final = 16
"""What the plain path puts together, in the order of arrival."""

PLAIN: Final = "plain: as exported, padded to the longest the model takes"
LONGEST: Final = "plain, but padded to the longest of each batch"
FUSION: Final = "plain + fusion"
BUCKETING: Final = "+ runs of similar length, without padding"
INT8: Final = "+ 8 bits"
STEPS: Final = (PLAIN, FUSION, BUCKETING, INT8)
"""Each has what the one before has, and one thing more."""

Way = Callable[[Sequence[Ready]], None]


@dataclass(frozen=True, slots=True)
class Quality:
    fidelity: Fidelity
    accuracy_full: float
    """On the same pairs, as people judged them; an engine cannot be more faithful than its model is good."""
    accuracy_int8: float


@dataclass(frozen=True, slots=True)
class Weight:
    """What an engine takes before it scores anything."""

    size: int
    """Of the graph's file, in bytes."""
    load_s: float
    """Until it is warm."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of one call, and of the same call on the full graph as exported, repeat by repeat."""

    batch: int
    plain_ms: Sequence[float]
    full_ms: Sequence[float]
    int8_ms: Sequence[float]


@dataclass(frozen=True, slots=True)
class Mixed:
    """Seconds for the same texts of all lengths, repeat by repeat, by the way they are scored."""

    samples: int
    tokens_mean: float
    padding: float
    """Share of the plain path's tokens that are padding."""
    read_s: float
    """For making tokens and features of the texts, once, on one core; the same for all ways, and not in `seconds`."""
    seconds: Mapping[str, Sequence[float]]
    processor_s: Mapping[str, Sequence[float]]
    """Of processor time: less than `seconds` says what else ran on the machine."""

    def ratio(self, way: str, over: str = PLAIN, *, processor: bool = False) -> float:
        """Return the median of the repeats' ratios."""
        spent = self.processor_s if processor else self.seconds
        return statistics.median(mine / other for mine, other in zip(spent[way], spent[over], strict=True))


@dataclass(frozen=True, slots=True)
class Report:
    full: Weight
    int8: Weight
    quality: Quality
    latencies: Sequence[Latency]
    mixed: Mixed

    @property
    def size_ratio(self) -> float:
        return self.int8.size / self.full.size


class Rig:
    """The engines of one model folder, side by side."""

    def __init__(self, folder: Path, workshop: Workshop) -> None:
        self.full, self._full_s = _timed(folder, Precision.FP32)
        self.int8, self._int8_s = _timed(folder, Precision.INT8)
        self._folder = folder
        self._plain = open_session(folder / GRAPH_FILE, Placement())
        self._fused_graph = workshop.fused().SerializeToString()
        self._fused = open_session(self._fused_graph, Placement())
        self._fused_engine = workshop.engine(self._fused_graph, Precision.FP32, Batching())
        self._buffers = Buffers(BATCH * self.full.spec.max_tokens, max(BATCHES), len(self.full.spec.features))

    def close(self) -> None:
        for engine in (self.full, self.int8, self._fused_engine):
            engine.close()

    def weights(self) -> tuple[Weight, Weight]:
        full, int8 = self._folder / GRAPH_FILE, self._folder / INT8_FOLDER / MODEL_FILE
        return Weight(full.stat().st_size, self._full_s), Weight(int8.stat().st_size, self._int8_s)

    def quality(self, texts: Texts) -> Quality:
        samples, pairs, wins = texts.held_samples, texts.held_pairs, texts.outcomes
        full, int8 = self.full.scores(samples), self.int8.scores(samples)
        return Quality(compare(full, int8, pairs), pair_accuracy(full, pairs, wins), pair_accuracy(int8, pairs, wins))

    def noise(self, samples: Sequence[Sample]) -> tuple[Scores, Scores]:
        """Score with the full engine one by one, and in batches: what differs is rounding."""
        return self.full.scores(samples), self.full.scores(samples, batching=Batching(4096, 16))

    def latency(self, samples: Sequence[Sample], batch: int, *, repeats: int) -> Latency:
        """Compare calls with texts of `TOKENS` tokens each."""
        ready = _cut_to(self.full.read(samples), TOKENS, batch)
        ways: dict[str, Way] = {
            "plain": lambda group: self._padded(self._plain, group, TOKENS),
            "full": lambda group: _scored(self.full, group),
            "int8": lambda group: _scored(self.int8, group),
        }
        seconds, _ = _in_turns(ways, ready, repeats)
        return Latency(batch, *([value * 1000 for value in seconds[way]] for way in ways))

    def mixed(self, samples: Sequence[Sample], *, repeats: int) -> Mixed:
        """Compare ways to score texts as they come. Reading them is left out: it is the same for all."""
        start = time.perf_counter()
        ready = self.full.read(samples)
        read_s = time.perf_counter() - start
        widest = self.full.spec.max_tokens
        ways: dict[str, Way] = {
            PLAIN: lambda group: self._in_batches(self._plain, group, widest),
            LONGEST: lambda group: self._in_batches(self._plain, group, None),
            FUSION: lambda group: self._in_batches(self._fused, group, widest),
            BUCKETING: lambda group: _scored(self._fused_engine, group),
            INT8: lambda group: _scored(self.int8, group),
        }
        lengths = [len(each.sequence.ids) for each in ready]
        padding = 1 - sum(lengths) / (len(lengths) * widest)
        seconds, processor_s = _in_turns(ways, ready, repeats)
        return Mixed(len(ready), float(np.mean(lengths)), padding, read_s, seconds, processor_s)

    def _in_batches(self, session: Session, ready: Sequence[Ready], width: int | None) -> None:
        for start in range(0, len(ready), BATCH):
            group = ready[start : start + BATCH]
            self._padded(session, group, width or max(len(each.sequence.ids) for each in group))

    def _padded(self, session: Session, group: Sequence[Ready], width: int) -> None:
        feed = self._buffers.fill([each.sequence for each in group], [each.features for each in group], width)
        session.run(feed, ["score"])


def report(folder: Path, workshop: Workshop, texts: Texts, *, mixed: int = 96, repeats: int = 3) -> Report:
    """Measure both engines of a folder; a minute or two of work."""
    rig = Rig(folder, workshop)
    try:
        samples = texts.held_samples
        full, int8 = rig.weights()
        latencies = [rig.latency(samples, batch, repeats=repeats * (3 if batch < 32 else 1)) for batch in BATCHES]
        return Report(full, int8, rig.quality(texts), latencies, rig.mixed(spread(samples, mixed), repeats=repeats))
    finally:
        rig.close()


def spread(samples: Sequence[Sample], count: int) -> list[Sample]:
    """Return so many samples, evenly out of all, in a fixed order that has nothing to do with their length."""
    if not samples:
        return []
    order = np.random.default_rng(0).permutation(len(samples))
    return [samples[int(order[place % len(samples)])] for place in range(min(count, len(samples)))]


def shares(ratios: Mapping[str, float]) -> Mapping[str, float]:
    """Return what each step is worth by itself: its time over the time of the step before."""
    before = 1.0
    found: dict[str, float] = {}
    for step in STEPS[1:]:
        found[step] = ratios[step] / before
        before = ratios[step]
    return found


def _timed(folder: Path, precision: Precision) -> tuple[ScoreEngine, float]:
    start = time.perf_counter()
    engine = load(folder, precision)
    engine.warm_up()
    return engine, time.perf_counter() - start


def _scored(engine: ScoreEngine, ready: Sequence[Ready]) -> None:
    engine.score_ready(ready)


def _in_turns(
    ways: Mapping[str, Way], ready: Sequence[Ready], repeats: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Time each way, in turns within each repeat, after one short turn that does not count: seconds, and processor."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    processor_s: dict[str, list[float]] = {way: [] for way in ways}
    for repeat in range(repeats + 1):
        for way, score in ways.items():
            start, started = time.perf_counter(), time.process_time()
            score(ready if repeat else ready[:BATCH])
            if repeat:
                seconds[way].append(time.perf_counter() - start)
                processor_s[way].append(time.process_time() - started)
    return seconds, processor_s


def _cut_to(ready: Sequence[Ready], tokens: int, count: int) -> list[Ready]:
    """Return real sequences, cut or continued from the next one to just this length."""
    made: list[Ready] = []
    place = 0
    while len(made) < count:
        ids: list[int] = []
        types: list[int] = []
        first = ready[place % len(ready)]
        while len(ids) < tokens:
            each = ready[place % len(ready)].sequence
            ids, types = [*ids, *each.ids], [*types, *each.types]
            place += 1
        made.append(Ready(Encoded(ids[:tokens], types[:tokens]), first.features))
    return made
