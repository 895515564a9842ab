"""What `reward.json` says of a model: how texts become numbers, and how good the model was found to be."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agon.core.errors import InvalidInput, NotFound
from agon.scoring.reward.features import FEATURE_NAMES, FEATURES_VERSION
from agon.scoring.reward.scales import FeatureScale

FORMAT: Final = 1
SPEC_FILE: Final = "reward.json"
GRAPH_FILE: Final = "model.onnx"
VOCABULARY_FILE: Final = "vocab.txt"


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
    """What the raw scores were divided by. It is in the graph already: P(a beats b) = sigmoid(s_a - s_b)."""
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
        if data["features_version"] != FEATURES_VERSION:
            raise InvalidInput(f"{where} was made for other features: build it again.", code="bad_reward_model")
        fields = {name: data[name] for name in RewardSpec.__dataclass_fields__ if name != "features"}
        spec = RewardSpec(**fields, features=tuple(FeatureScale(**each) for each in data["features"]))
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{where} does not describe a reward model: {error}.", code="bad_reward_model") from None
    if tuple(each.name for each in spec.features) not in {(), FEATURE_NAMES}:
        raise InvalidInput(f"{where} wants other features than this Agon has.", code="bad_reward_model")
    return spec


def spec_text(spec: RewardSpec) -> str:
    """Return the JSON text of `reward.json`, the same bytes for the same spec."""
    return (
        json.dumps(
            {"format": FORMAT, "features_version": FEATURES_VERSION, **asdict(spec)},
            ensure_ascii=False,
            indent=1,
            sort_keys=True,
        )
        + "\n"
    )
