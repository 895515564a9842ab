"""Making reduced engines: calibrate once, try the candidates, keep the best on disk, and find it there next time."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from agon.core.errors import InvalidInput, Unavailable
from agon.core.scoring import Sample
from agon.engines.encoder import calibration as calibrations
from agon.engines.encoder.artefact import (
    INT8_FOLDER,
    TENSORRT_FOLDER,
    Artefact,
    current,
    sha256_of,
    write_artefact,
)
from agon.engines.encoder.batches import ALONE, Batching
from agon.engines.encoder.calibration import SAMPLES, Calibration
from agon.engines.encoder.choosing import Candidate, choose
from agon.engines.encoder.processor import overflows
from agon.engines.encoder.providers import FOREIGN, Placement, open_session, translated
from agon.engines.encoder.quantise import RECIPES_VERSION, Recipe, alike, fused, quantise, recipes
from agon.engines.encoder.session import Ready, ScoreEngine, values_of
from agon.engines.encoder.tensorrt import to_qdq
from agon.engines.encoder.texts import Texts
from agon.engines.encoder.tokeniser import WordPieces
from agon.scoring.drift import EngineName, Precision
from agon.scoring.fidelity import Fidelity, Pairs, Scores, compare
from agon.scoring.reward.encoding import encode_each
from agon.scoring.reward.spec import GRAPH_FILE, VOCABULARY_FILE, RewardSpec, load_spec

_MEASURED: Final = 120
"""Held pairs that candidates are compared on, at most."""
_AT_ONCE: Final = 16

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Made:
    artefact: Artefact
    reused: bool
    """Whether the engine was there already."""
    calibration_reused: bool
    candidates: Sequence[Candidate]
    """What was tried; empty where nothing had to be."""


class Workshop:
    """One model folder and the texts its engines are made with."""

    def __init__(self, folder: Path, texts: Texts, *, seed: int = 0, samples: int = SAMPLES, tell: Told) -> None:
        self._folder = folder
        self._texts = texts
        self._tell = tell
        self.spec: RewardSpec = load_spec(folder)
        self._tokens = WordPieces(folder / VOCABULARY_FILE)
        self._source = sha256_of(folder / GRAPH_FILE)
        self._drawn = self._draw(samples, seed)
        self._digest = calibrations.calibration_digest(self._source, self._drawn)

    def int8(self, *, again: bool = False) -> Made:
        """Return the CPU's engine, making it unless the right one is there.

        Raises `Unavailable` (`int8_unfaithful`) where every candidate loses too much; then nothing is written.
        """
        options = {"made_by": RECIPES_VERSION, "onnxruntime": version("onnxruntime"), "overflows": overflows()}
        if (there := self._there(INT8_FOLDER, options, again=again)) is not None:
            return there
        calibration, reused = self.calibration(again=again)
        graph = self.fused()
        tried = self._try(graph, calibration, recipes(overflows=overflows()))
        best = choose([candidate for candidate, _ in tried])
        if best is None:
            worst = ", ".join(f"{candidate.recipe.name}: KL {candidate.fidelity.kl_mean:.4f}" for candidate, _ in tried)
            raise Unavailable(f"No 8-bit engine is faithful enough ({worst}).", code="int8_unfaithful")
        content = next(content for candidate, content in tried if candidate is best)
        artefact = self._artefact(content, {**options, **best.recipe.options()}, best.fidelity)
        write_artefact(self._folder / INT8_FOLDER, content, artefact)
        return Made(artefact, False, reused, [candidate for candidate, _ in tried])

    def tensorrt(self, *, again: bool = False) -> Made:
        """Return the artefact for TensorRT, making it unless the right one is there. It needs no GPU."""
        options: Mapping[str, Any] = {"made_by": RECIPES_VERSION, "format": "qdq", "signed": True, "symmetric": True}
        if (there := self._there(TENSORRT_FOLDER, options, again=again)) is not None:
            return there
        calibration, reused = self.calibration(again=again)
        self._tell("writing the artefact for TensorRT")
        content = to_qdq(self._graph(), calibration).SerializeToString(deterministic=True)
        # The processor computes what the GPU will, only slowly: the same scales, the same rounding.
        fidelity = self._fidelity(content, self._held(), self._full(self._held()))
        artefact = self._artefact(content, options, fidelity)
        write_artefact(self._folder / TENSORRT_FOLDER, content, artefact)
        return Made(artefact, False, reused, ())

    def calibration(self, *, again: bool = False) -> tuple[Calibration, bool]:
        """Return the calibration, and whether the file beside the model had it."""
        if not again and (kept := calibrations.load(self._folder, self._digest)) is not None:
            self._tell(f"reusing the calibration on {kept.samples} samples")
            return kept, True
        self._tell(f"calibrating on {len(self._drawn)} samples")
        found = calibrations.measure(self._graph(), self.spec, self._tokens, self._drawn, self._digest)
        calibrations.save(self._folder, found)
        return found, False

    def fused(self) -> onnx.ModelProto:
        """Return the optimised graph, or the one that is there if its scores were not the same."""
        graph = self._graph()
        optimised = fused(graph)
        probes = self._held()[:_AT_ONCE]
        before = self._scores(graph.SerializeToString(), probes)
        if alike(before, self._scores(optimised.SerializeToString(), probes)):
            return optimised
        self._tell("the fused graph computes something else and is not used")
        return graph

    def engine(self, content: bytes, precision: Precision = Precision.INT8, batching: Batching = ALONE) -> ScoreEngine:
        """Open a graph with this model's way of reading texts."""
        where = Placement()
        name = EngineName(self.spec.revision, precision)
        session = open_session(content, where)
        return ScoreEngine(
            session, spec=self.spec, tokens=self._tokens, name=name, batching=batching, threads=where.threads
        )

    def _draw(self, count: int, seed: int) -> list[Sample]:
        samples = self._texts.calibration
        lengths = [len(each.ids) for each in encode_each(self.spec, self._tokens, samples)]
        return calibrations.draw(samples, lengths, count, seed)

    def _there(self, name: str, options: Mapping[str, Any], *, again: bool) -> Made | None:
        found = None if again else current(self._folder / name, self._source)
        if found is None or found.calibration != self._digest:
            return None
        if any(found.options.get(option) != value for option, value in options.items()):
            return None
        self._tell(f"the {name} engine is there")
        return Made(found, True, True, ())

    def _artefact(self, content: bytes, options: Mapping[str, Any], fidelity: Fidelity) -> Artefact:
        return Artefact(self._source, self._digest, hashlib.sha256(content).hexdigest(), options, fidelity)

    def _graph(self) -> onnx.ModelProto:
        model = onnx.ModelProto()
        try:
            model.ParseFromString((self._folder / GRAPH_FILE).read_bytes())
        except (OSError, DecodeError) as error:
            raise InvalidInput(
                f"{self._folder / GRAPH_FILE} is no ONNX graph: {error}.", code="bad_reward_model"
            ) from None
        return model

    def _held(self) -> list[Sample]:
        return self._texts.held_samples[: 2 * _MEASURED]

    def _full(self, samples: Sequence[Sample]) -> Scores:
        return self._scores((self._folder / GRAPH_FILE).read_bytes(), samples)

    def _scores(self, content: bytes, samples: Sequence[Sample]) -> Scores:
        engine = self.engine(content)
        try:
            return engine.scores(samples)
        finally:
            engine.close()

    def _fidelity(self, content: bytes, samples: Sequence[Sample], full: Scores) -> Fidelity:
        return compare(full, self._scores(content, samples), _pairs(samples))

    def _try(
        self, graph: onnx.ModelProto, calibration: Calibration, tries: Sequence[Recipe]
    ) -> list[tuple[Candidate, bytes]]:
        samples = self._held()
        full = self._full(samples)
        contents = [quantise(graph, calibration, recipe).SerializeToString(deterministic=True) for recipe in tries]
        engines = [self.engine(content) for content in contents]
        self._tell(f"trying {len(tries)} candidates")
        try:
            scores, seconds = _race(engines, samples)
        except FOREIGN as error:
            raise translated(error) from None
        finally:
            for engine in engines:
                engine.close()
        pairs = _pairs(samples)
        return [
            (Candidate(recipe, compare(full, found, pairs), spent, len(content)), content)
            for recipe, content, found, spent in zip(tries, contents, scores, seconds, strict=True)
        ]


def _race(engines: Sequence[ScoreEngine], samples: Sequence[Sample]) -> tuple[list[Scores], list[float]]:
    """Score all samples with each engine, a few at a time in turns; return scores and seconds of processor time."""
    ready: list[Ready] = engines[0].read(samples)
    scores: list[list[float]] = [[] for _ in engines]
    seconds = [0.0 for _ in engines]
    for engine in engines:
        engine.warm_up()
    for start in range(0, len(ready), _AT_ONCE):
        for place, engine in enumerate(engines):
            begun = time.process_time()
            found = engine.score_ready(ready[start : start + _AT_ONCE])
            seconds[place] += time.process_time() - begun
            scores[place].extend(values_of(found))
    return [np.array(each) for each in scores], seconds


def _pairs(samples: Sequence[Sample]) -> Pairs:
    return Pairs(range(0, len(samples), 2), range(1, len(samples), 2))
