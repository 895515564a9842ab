"""The runtime of a reward model: texts in, scores out; one engine a process, shared by all its threads."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from agon.core.errors import Unavailable
from agon.core.scoring import MAX_SCORE, Poison, Sample, Score, Scored
from agon.engines.encoder.artefact import INT8_FOLDER, MODEL_FILE, current, sha256_of
from agon.engines.encoder.batches import ALONE, Batching, Run, plan
from agon.engines.encoder.buffers import Buffers
from agon.engines.encoder.processor import overflows
from agon.engines.encoder.providers import FOREIGN, Placement, Session, open_session, translated
from agon.engines.encoder.tokeniser import WordPieces
from agon.scoring.drift import EngineName, Precision
from agon.scoring.reward.encoding import Encoded, Tokeniser, encode_each, feature_rows
from agon.scoring.reward.spec import GRAPH_FILE, VOCABULARY_FILE, RewardSpec, load_spec

_WARM_UP: Final = (
    Sample("What is the capital of France?", "Paris."),
    Sample("Tell me a story.", "Once upon a time there was an arena. " * 60),
)

Rows = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ready:
    """A sample as the graph takes it."""

    sequence: Encoded
    features: Rows


class ScoreEngine:
    """Scores samples on one session. Thread-safe: calls from many threads share its threads and its memory."""

    def __init__(
        self,
        session: Session,
        *,
        spec: RewardSpec,
        tokens: Tokeniser,
        name: EngineName,
        batching: Batching,
        threads: int,
    ) -> None:
        self.name = name
        self.spec = spec
        self._session: Session | None = session
        self._tokens = tokens
        self._batching = batching
        self._buffers = Buffers(max(batching.run_tokens, spec.max_tokens), batching.run_samples, len(spec.features))
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="encoder")
        self._warm = threading.Event()
        self._closing = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether it is loaded, and has scored."""
        return self._warm.is_set()

    def warm_up(self) -> None:
        """Score a short and a long text, so that nobody waits for what is made once. Raises `Unavailable`."""
        for scored in self.score(_WARM_UP):
            if not isinstance(scored, Score):
                raise Unavailable(f"The reward model cannot score: {scored}.", code="encoder_unusable")
        self._warm.set()

    def score(self, samples: Sequence[Sample], *, batching: Batching | None = None) -> list[Scored]:
        """Return one result for each sample, in order. Raises `Unavailable` where the engine is closed or broken.

        What fails with others in its run is tried by itself, so that a sample that cannot be scored harms no other.
        """
        results: list[Scored | None] = [None] * len(samples)
        places, ready = self._read(samples, results)
        for place, scored in zip(places, self.score_ready(ready, batching=batching), strict=True):
            results[place] = scored
        return [result if result is not None else Poison("was not scored") for result in results]

    def read(self, samples: Sequence[Sample]) -> list[Ready]:
        """Return the samples as the graph takes them; raises whatever a text makes raise."""
        rows = feature_rows(self.spec, samples)
        sequences = encode_each(self.spec, self._tokens, samples)
        return [Ready(sequence, row) for sequence, row in zip(sequences, rows, strict=True)]

    def score_ready(self, ready: Sequence[Ready], *, batching: Batching | None = None) -> list[Scored]:
        """Score samples that have been read."""
        results: list[Scored] = [Poison("was not scored")] * len(ready)
        runs = plan([len(each.sequence.ids) for each in ready], batching or self._batching)
        futures = [(run, self._submit(ready, run)) for run in runs]
        broken: Exception | None = None
        for run, future in futures:
            try:
                scores: Sequence[float | Poison] = future.result().tolist()
            except FOREIGN as error:
                broken = error
                scores = self._one_by_one(ready, run)
            for place, score in zip(run.places, scores, strict=True):
                results[place] = score if isinstance(score, Poison) else _checked(score)
        if broken is not None and not any(isinstance(result, Score) for result in results):
            raise translated(broken)
        return results

    def scores(self, samples: Sequence[Sample], *, batching: Batching | None = None) -> npt.NDArray[np.float64]:
        """Return plain scores. Raises `Unavailable` where any sample cannot be scored."""
        return np.array(values_of(self.score(samples, batching=batching)))

    def close(self) -> None:
        """Let the session go once what runs has ended."""
        with self._closing:
            self._warm.clear()
            self._threads.shutdown(wait=True)
            self._session = None

    def _read(self, samples: Sequence[Sample], results: list[Scored | None]) -> tuple[list[int], list[Ready]]:
        """Make sequences and features of all samples; what cannot be read is poison."""
        try:
            return list(range(len(samples))), self.read(samples)
        except Exception:  # noqa: BLE001 - texts come from anywhere: look for the one that it was
            return self._read_each(samples, results)

    def _read_each(self, samples: Sequence[Sample], results: list[Scored | None]) -> tuple[list[int], list[Ready]]:
        places: list[int] = []
        ready: list[Ready] = []
        for place, sample in enumerate(samples):
            try:
                ready.extend(self.read([sample]))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this sample's
                results[place] = Poison(f"The text cannot be read: {type(error).__name__}: {error}")
                continue
            places.append(place)
        return places, ready

    def _submit(self, ready: Sequence[Ready], run: Run) -> "Future[Rows]":
        try:
            return self._threads.submit(self._run, [ready[place] for place in run.places], run.width)
        except RuntimeError:
            raise Unavailable("The reward model is closed.", code="encoder_closed") from None

    def _run(self, members: Sequence[Ready], width: int) -> Rows:
        session = self._session
        if session is None:
            raise Unavailable("The reward model is closed.", code="encoder_closed")
        feed = self._buffers.fill([each.sequence for each in members], [each.features for each in members], width)
        return session.run(feed, ["score"])[0]

    def _one_by_one(self, ready: Sequence[Ready], run: Run) -> list[float | Poison]:
        scores: list[float | Poison] = []
        for place in run.places:
            member = ready[place]
            try:
                scores.append(float(self._run([member], len(member.sequence.ids))[0]))
            except FOREIGN as error:
                scores.append(Poison(f"The engine fails on it: {translated(error).message}"))
        return scores


def values_of(found: Sequence[Scored]) -> list[float]:
    """Return plain scores. Raises `Unavailable` (`encoder_unusable`) where any sample has none."""
    values = [each.value for each in found if isinstance(each, Score)]
    if len(values) < len(found):
        without = next(each for each in found if not isinstance(each, Score))
        raise Unavailable(f"A sample cannot be scored: {without}.", code="encoder_unusable")
    return values


def _checked(score: float) -> Scored:
    return Score(score) if abs(score) <= MAX_SCORE else Poison(f"The engine's score is {score}.")


# --- loading ----------------------------------------------------------------------------------------------------------


def load(folder: Path, precision: Precision, placement: Placement | None = None) -> ScoreEngine:
    """Open the engine of a model folder on the CPU; it is not warm yet.

    Raises `NotFound` or `InvalidInput` for a folder that holds no model, and `Unavailable` (`int8_missing`) where the
    8-bit engine is missing, broken, or made from another model.
    """
    where = placement or Placement()
    spec = load_spec(folder)
    tokens = WordPieces(folder / VOCABULARY_FILE)
    graph, name, batching = folder / GRAPH_FILE, EngineName(spec.revision), Batching()
    if precision is Precision.INT8:
        graph = folder / INT8_FOLDER / MODEL_FILE
        name = EngineName(spec.revision, precision, int8_digest(folder)[:16])
        batching = ALONE
    session = open_session(graph, where)
    return ScoreEngine(session, spec=spec, tokens=tokens, name=name, batching=batching, threads=where.threads)


def int8_digest(folder: Path) -> str:
    """Return the digest of a model's 8-bit engine. Raises `Unavailable` (`int8_missing`)."""
    artefact = current(folder / INT8_FOLDER, sha256_of(folder / GRAPH_FILE))
    if artefact is None or (overflows() and not artefact.options.get("reduce_range")):
        raise Unavailable(
            f"{folder} has no 8-bit engine, or one that is broken, made from another model or for another processor: "
            "run `agon quantise`.",
            code="int8_missing",
        )
    return artefact.digest


class Engines:
    """The engines of a process: each is loaded once, by whoever comes first, while the others wait for it."""

    def __init__(self, opened: Callable[[Path, Precision], ScoreEngine] = load) -> None:
        self._opened = opened
        self._lock = threading.Lock()
        self._engines: dict[tuple[Path, Precision], Future[ScoreEngine]] = {}

    def get(self, folder: Path, precision: Precision) -> ScoreEngine:
        """Return a warm engine. Raises what `load` raises; then the next one tries anew."""
        key = folder.resolve(), precision
        with self._lock:
            future = self._engines.get(key)
            mine = future is None
            if future is None:
                future = self._engines[key] = Future()
        return self._make(key, future) if mine else future.result()

    def drop(self, folder: Path, precision: Precision) -> None:
        """Close an engine, once it is idle; the next `get` opens what lies in the folder then."""
        with self._lock:
            future = self._engines.pop((folder.resolve(), precision), None)
        if future is not None and future.exception() is None:
            future.result().close()

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            keys = list(self._engines)
        for folder, precision in keys:
            self.drop(folder, precision)

    def _make(self, key: tuple[Path, Precision], future: "Future[ScoreEngine]") -> ScoreEngine:
        try:
            engine = self._opened(*key)
            engine.warm_up()
        except BaseException as error:
            with self._lock:
                self._engines.pop(key, None)
            future.set_exception(error)
            raise
        future.set_result(engine)
        return engine
