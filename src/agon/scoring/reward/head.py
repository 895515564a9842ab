"""What turns averages of tokens and features of texts into a score, and the small file it is kept in."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from agon.core.errors import InvalidInput
from agon.scoring.reward.features import FEATURE_NAMES, FEATURES_VERSION
from agon.scoring.reward.fitting import Floats
from agon.scoring.reward.scales import FeatureScale, standardised

FORMAT: Final = 1
GRAPH_VERSION: Final = 1
"""Goes up whenever the same weights get another graph."""
HIDDEN: Final = 384
"""Width of the encoder."""
MAX_TOKENS: Final = 256
PROMPT_TOKENS: Final = 96
_DIGITS: Final = 6
"""Significant digits of a kept weight: as many as make a difference, and fewer than machines differ in."""


@dataclass(frozen=True, slots=True)
class Head:
    """A score is features·w + answer·v + (prompt * answer)·u + bias; a difference of scores is the log odds."""

    scales: Sequence[FeatureScale]
    feature_weights: Floats
    answer_weights: Floats
    product_weights: Floats
    bias: float = 0.0

    def scores(self, raw: Floats, signs: Floats, vectors: Floats, products: Floats) -> Floats:
        """Return the scores of rows of raw features, polarities, answers' vectors and products."""
        rows = standardised(raw, self.scales, signs)
        parts = rows @ self.feature_weights, vectors @ self.answer_weights, products @ self.product_weights
        return np.asarray(sum(parts) + self.bias)

    def divided(self, temperature: float) -> "Head":
        """Return the head whose scores are all divided by a temperature."""
        return Head(
            self.scales,
            self.feature_weights / temperature,
            self.answer_weights / temperature,
            self.product_weights / temperature,
            self.bias / temperature,
        )

    def rounded(self) -> "Head":
        """Return the head as it is kept."""
        return Head(
            self.scales,
            _rounded(self.feature_weights),
            _rounded(self.answer_weights),
            _rounded(self.product_weights),
            float(_rounded(np.array([self.bias]))[0]),
        )


def plain_head() -> Head:
    """Return a head without features that knows nothing but how close an answer is to its prompt."""
    return Head((), np.zeros(0), np.zeros(HIDDEN), np.ones(HIDDEN))


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that makes a reward model out of the encoder's weights."""

    head: Head
    encoder: str
    """SHA-256 of the encoder's weights."""
    seed: int = 0
    temperature: float = 1.0
    """What the raw scores were divided by: it is in the head already."""
    training: Mapping[str, Any] | None = None
    """What it was trained on, how, and how well it did on prompts it never saw, as JSON."""
    max_tokens: int = MAX_TOKENS
    prompt_tokens: int = PROMPT_TOKENS

    @property
    def revision(self) -> str:
        """Digest of everything that decides a score at full precision."""
        deciding = {
            name: value for name, value in _plain(self).items() if name not in {"seed", "temperature", "training"}
        }
        return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:16]


def recipe_text(recipe: Recipe) -> str:
    """Return the recipe as JSON, the same bytes for the same recipe."""
    return json.dumps(_plain(recipe), ensure_ascii=False, sort_keys=True, indent=0) + "\n"


def parse_recipe(text: str, where: str) -> Recipe:
    """Return the recipe in a JSON text. Raises `InvalidInput` where it is none, or fits other features than ours."""
    try:
        data = cast("dict[str, Any]", json.loads(text))
        versions = data["format"], data["features_version"], data["graph_version"]
        if versions != (FORMAT, FEATURES_VERSION, GRAPH_VERSION):
            raise InvalidInput(f"{where} was made by another version of Agon: train it again.", code="bad_reward_model")
        rows = cast("list[dict[str, Any]]", data["features"])
        head = Head(
            tuple(FeatureScale(row["name"], row["centre"], row["scale"]) for row in rows),
            np.array([row["weight"] for row in rows], np.float64),
            np.array(data["answer"], np.float64),
            np.array(data["product"], np.float64),
            float(data["bias"]),
        )
        names = tuple(scale.name for scale in head.scales)
        shapes = head.answer_weights.shape, head.product_weights.shape
        if names not in {(), FEATURE_NAMES} or shapes != ((HIDDEN,), (HIDDEN,)):
            raise InvalidInput(f"{where} does not fit this Agon's features: train it again.", code="bad_reward_model")
        kept = ("encoder", "seed", "temperature", "training", "max_tokens", "prompt_tokens")
        return Recipe(head, **{name: data[name] for name in kept})
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{where} is no recipe of a reward model: {error}.", code="bad_reward_model") from None


def _plain(recipe: Recipe) -> dict[str, Any]:
    head = recipe.head
    weights: list[float] = head.feature_weights.tolist()
    return {
        "format": FORMAT,
        "features_version": FEATURES_VERSION,
        "graph_version": GRAPH_VERSION,
        "features": [
            {"name": scale.name, "centre": scale.centre, "scale": scale.scale, "weight": weight}
            for scale, weight in zip(head.scales, weights, strict=True)
        ],
        "answer": head.answer_weights.tolist(),
        "product": head.product_weights.tolist(),
        "bias": head.bias,
        "encoder": recipe.encoder,
        "seed": recipe.seed,
        "temperature": recipe.temperature,
        "training": recipe.training,
        "max_tokens": recipe.max_tokens,
        "prompt_tokens": recipe.prompt_tokens,
    }


def _rounded(values: Floats) -> Floats:
    # Adding 0 turns a negative zero into a plain one.
    return np.array([float(f"{value:.{_DIGITS}g}") + 0.0 for value in values.tolist()], np.float64)
