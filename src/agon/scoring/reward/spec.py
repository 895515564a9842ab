"""What `reward.json` says of a model: how texts become numbers, and how good the model was found to be."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agon.core.errors import InvalidInput, NotFound

FORMAT: Final = 1
SPEC_FILE: Final = "reward.json"
GRAPH_FILE: Final = "model.onnx"
VOCABULARY_FILE: Final = "vocab.txt"


@dataclass(frozen=True, slots=True)
class FeatureScale:
    """How one feature becomes an input of the graph: (value - centre) / scale, kept within ±`CLIP`."""

    name: str
    centre: float
    scale: float


@dataclass(frozen=True, slots=True)
class RewardSpec:
    revision: str
    """Digest of everything that decides a score at full precision."""
    max_tokens: int
    """Longest sequence, special tokens included."""
    prompt_tokens: int
    """What the prompt may take of them, special tokens included."""
    features: Sequence[FeatureScale]
    temperature: float
    """P(a beats b) = sigmoid((s_a - s_b) / temperature)."""
    encoder: str
    """SHA-256 of the encoder's weights."""
    seed: int
    training: Mapping[str, Any]
    """Files with their digests, settings, measured accuracy and licences, as JSON."""


def load_spec(folder: Path) -> RewardSpec:
    """Read a model folder's `reward.json`. Raises `NotFound`, or `InvalidInput` where it is not one of ours."""
    path = folder / SPEC_FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f"There is no reward model in {folder}: it has no {SPEC_FILE}.", code="no_reward_model"
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", code="bad_reward_model") from None
    return parse_spec(data, str(path))


def parse_spec(data: Any, where: str) -> RewardSpec:
    """Return the spec that a JSON value holds. Raises `InvalidInput`."""
    try:
        if data["format"] != FORMAT:
            raise InvalidInput(
                f"{where} has format {data['format']}; this Agon reads format {FORMAT}.", code="bad_reward_model"
            )
        fields = {name: data[name] for name in RewardSpec.__dataclass_fields__ if name != "features"}
        return RewardSpec(**fields, features=tuple(FeatureScale(**each) for each in data["features"]))
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{where} does not describe a reward model: {error}.", code="bad_reward_model") from None


def spec_text(spec: RewardSpec) -> str:
    """Return the JSON text of `reward.json`, the same bytes for the same spec."""
    return json.dumps({"format": FORMAT, **asdict(spec)}, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def revision_of(graph: bytes, vocabulary: bytes, recipe: Mapping[str, Any]) -> str:
    """Return the digest of a graph, its vocabulary and the recipe by which texts become its inputs."""
    digest = hashlib.sha256()
    for part in (graph, vocabulary, json.dumps(recipe, sort_keys=True).encode()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]
