"""Measuring a reward model."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from agon.bootstrap.reward_pairs import Judged, Watch, require_pairs, unwatched
from agon.core.scoring import Sample
from agon.engines.encoder.providers import Placement
from agon.engines.encoder.session import load
from agon.scoring.drift import Precision
from agon.scoring.reward.evaluation import evaluation, lengthened, padding_of
from agon.scoring.reward.preferences import Preference

_CHUNK: Final = 256
_PADDED: Final = 100
"""Answers that are made longer to see what becomes of their scores."""


def evaluate(
    judged: Judged,
    folder: Path,
    *,
    precision: Precision = Precision.FP32,
    threads: int | None = None,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Return what `evaluation` measures of a model on judged pairs, with what padding does to its scores.

    Raises `NotFound` or `InvalidInput` for a folder without a model or no decided pair.
    """
    require_pairs(judged)
    engine = load(folder, precision, Placement(threads=threads) if threads else None)
    try:
        samples = [Sample(pair.prompt, answer) for pair in judged.pairs for answer in (pair.answer_a, pair.answer_b)]
        padded = _padded(judged.pairs)
        total = len(samples) + sum(map(len, padded.values()))

        def scored(texts: Sequence[Sample]) -> np.ndarray[Any, np.dtype[np.float64]]:
            chunks: list[np.ndarray[Any, np.dtype[np.float64]]] = []
            for start in range(0, len(texts), _CHUNK):
                chunk = texts[start : start + _CHUNK]
                chunks.append(engine.scores(chunk))
                watch("scoring", len(chunk), total)
            return np.concatenate(chunks)

        scores = scored(samples).reshape(-1, 2)
        after = {name: scored(texts) for name, texts in padded.items()}
    finally:
        engine.close()
    spec = engine.spec
    found = evaluation(judged.pairs, [scores[:, 0] - scores[:, 1]], seen=set(spec.training.get("prompts", ())))
    padding = padding_of(after.pop("as_it_is"), after)
    return found | {
        "padding": {name: asdict(part) for name, part in padding.items()},
        "model": {"revision": spec.revision, "precision": str(precision), "folder": str(folder)},
        "left_out": len(judged.faults),
    }


def _padded(pairs: Sequence[Preference]) -> dict[str, list[Sample]]:
    """A few answers as they are, and made longer in each way."""
    chosen: list[int] = np.random.default_rng(0).permutation(len(pairs))[:_PADDED].tolist()
    versions: dict[str, list[Sample]] = {"as_it_is": []}
    for place in chosen:
        pair = pairs[place]
        versions["as_it_is"].append(Sample(pair.prompt, pair.answer_a))
        for name, answer in lengthened(pair.answer_a).items():
            versions.setdefault(name, []).append(Sample(pair.prompt, answer))
    return versions
