"""A reward model as a folder: graph, word list and `reward.json`, there as a whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agon.core.errors import Unavailable
from agon.engines.encoder.graph import Head, check_graph, reward_graph
from agon.engines.encoder.weights import VOCABULARY, read_tensors
from agon.engines.fetch_hub import digest_of
from agon.scoring.reward.spec import (
    GRAPH_FILE,
    SPEC_FILE,
    VOCABULARY_FILE,
    FeatureScale,
    RewardSpec,
    revision_of,
    spec_text,
)

MAX_TOKENS = 384
PROMPT_TOKENS = 128


def build_model(
    weights: Path,
    out: Path,
    *,
    head: Head,
    features: Sequence[FeatureScale] = (),
    temperature: float = 1.0,
    seed: int = 0,
    training: Mapping[str, Any] | None = None,
    max_tokens: int = MAX_TOKENS,
    prompt_tokens: int = PROMPT_TOKENS,
) -> RewardSpec:
    """Write a model folder from the encoder's weights and a head, replacing one that is there; return its spec.

    Equal inputs make equal bytes. Raises `InvalidInput` where the weights cannot be read, `Unavailable` where the
    folder cannot be written.
    """
    if len(features) != head.features:
        raise ValueError(f"the head takes {head.features} features, and {len(features)} are described")
    graph = reward_graph(read_tensors(weights), head)
    check_graph(graph)
    content, vocabulary = graph.SerializeToString(deterministic=True), VOCABULARY.read_bytes()
    recipe = {
        "max_tokens": max_tokens,
        "prompt_tokens": prompt_tokens,
        "features": [[each.name, each.centre, each.scale] for each in features],
    }
    spec = RewardSpec(
        revision=revision_of(content, vocabulary, recipe),
        max_tokens=max_tokens,
        prompt_tokens=prompt_tokens,
        features=tuple(features),
        temperature=temperature,
        encoder=digest_of(weights),
        seed=seed,
        training=training or {},
    )
    _write(out, {GRAPH_FILE: content, VOCABULARY_FILE: vocabulary, SPEC_FILE: spec_text(spec).encode()})
    return spec


def _write(out: Path, files: Mapping[str, bytes]) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
        try:
            for name, content in files.items():
                with (part / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            part.chmod(0o755)
            if out.is_dir():
                shutil.rmtree(out)
            part.replace(out)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise Unavailable(f"{out} cannot be written: {error.strerror or error}.", code="reward_storage") from None
