"""The reward model on an NVIDIA GPU: the artefact for TensorRT, and the engine that TensorRT builds from it once."""

from pathlib import Path
from typing import Final

from agon.core.errors import Unavailable
from agon.engines.encoder.artefact import MODEL_FILE, TENSORRT_FOLDER, current, sha256_of
from agon.engines.encoder.batches import Batching
from agon.engines.encoder.providers import Provider, available, open_session
from agon.engines.encoder.session import ScoreEngine
from agon.engines.encoder.tensorrt import Gpu, Shapes, find_gpu, placement
from agon.engines.encoder.tokeniser import WordPieces
from agon.scoring.drift import EngineName, Precision
from agon.scoring.reward.spec import GRAPH_FILE, VOCABULARY_FILE, load_spec

_SAMPLES: Final = (1, 8, 32)
_USUAL_TOKENS: Final = 128
_CALLERS: Final = 2
"""Threads that hand runs to the GPU: while one runs, the next is filled."""


def load_tensorrt(folder: Path) -> ScoreEngine:
    """Open a model's engine on this machine's GPU; it is not warm yet, and the first run may build it for minutes.

    Raises `Unavailable`: `provider_missing`, `no_gpu`, `no_tensorrt`, `tensorrt_missing` where the artefact is missing
    or broken, `provider_fell_back` where it would have run elsewhere.
    """
    if Provider.TENSORRT not in available():
        raise Unavailable(f"This ONNX Runtime has no {Provider.TENSORRT}.", code="provider_missing")
    return open_on(folder, find_gpu())


def open_on(folder: Path, gpu: Gpu) -> ScoreEngine:
    """Open the engine on a GPU that has been found."""
    spec = load_spec(folder)
    artefact = current(folder / TENSORRT_FOLDER, sha256_of(folder / GRAPH_FILE))
    if artefact is None:
        raise Unavailable(
            f"{folder} has no artefact for TensorRT, or a broken one: run `agon quantise --target tensorrt`.",
            code="tensorrt_missing",
        )
    most = max(_USUAL_TOKENS, spec.max_tokens)
    shapes = Shapes(_SAMPLES, (1, _USUAL_TOKENS, most))
    where = placement(folder / TENSORRT_FOLDER, gpu, features=len(spec.features), shapes=shapes)
    session = open_session(folder / TENSORRT_FOLDER / MODEL_FILE, where)
    # Scales are fixed, so samples may share a run: a score does not depend on the others.
    batching = Batching(run_tokens=_SAMPLES[-1] * most, run_samples=_SAMPLES[-1])
    return ScoreEngine(
        session,
        spec=spec,
        tokens=WordPieces(folder / VOCABULARY_FILE),
        name=EngineName(spec.revision, Precision.INT8, artefact.digest[:16]),
        batching=batching,
        threads=_CALLERS,
    )
