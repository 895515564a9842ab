"""What scores an answer while its sender waits."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agon.core.scoring import Sample, Score, Scored
from agon.engines.encoder.buffers import Buffers
from agon.engines.encoder.providers import Placement, open_session
from agon.engines.encoder.session import ScoreEngine, load
from agon.scoring.drift import Precision
from agon.scoring.reward.spec import GRAPH_FILE

CORES = os.cpu_count() or 1

Judge = Callable[[Sample], Awaitable[float]]


class Plain:
    """The graph as it is exported, in full precision, each answer by itself and padded to the longest there can be.

    One thread for each core, since answers that wait for each other leave no core idle.
    """

    def __init__(self, folder: Path) -> None:
        self._reader = load(folder, Precision.FP32, Placement(threads=1))
        self._session = open_session(folder / GRAPH_FILE, Placement(threads=1))
        self._buffers = Buffers(self._reader.spec.max_tokens, 1, len(self._reader.spec.features))
        self._threads = ThreadPoolExecutor(CORES, thread_name_prefix="plain")

    async def judge(self, sample: Sample) -> float:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._score, sample)

    def close(self) -> None:
        self._threads.shutdown()
        self._reader.close()

    def _score(self, sample: Sample) -> float:
        ready = self._reader.read([sample])[0]
        feed = self._buffers.fill([ready.sequence], [ready.features], self._reader.spec.max_tokens)
        return float(self._session.run(feed, ["score"])[0][0])


class Fast:
    """The product's engine in one of its precisions, each answer by itself."""

    def __init__(self, folder: Path, precision: Precision) -> None:
        self._engine: ScoreEngine = load(folder, precision)
        self._engine.warm_up()
        self._threads = ThreadPoolExecutor(CORES, thread_name_prefix="fast")

    async def judge(self, sample: Sample) -> float:
        return worth(await asyncio.get_running_loop().run_in_executor(self._threads, self._score, sample))

    @property
    def revision(self) -> str:
        return str(self._engine.name)

    def close(self) -> None:
        self._threads.shutdown()
        self._engine.close()

    def _score(self, sample: Sample) -> Scored:
        return self._engine.score([sample])[0]


def worth(scored: Scored) -> float:
    if not isinstance(scored, Score):
        raise TypeError(f"an answer of the benchmark has no score: {scored}")
    return scored.value
