"""Data and small models for the tests of the reward model."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agon.scoring.reward.features import FEATURE_NAMES
from agon.scoring.reward.head import HIDDEN
from agon.scoring.reward.preferences import Preference, Reading, read_preferences
from agon.scoring.reward.training import Numbers

DATA = Path(__file__).parents[1] / "data" / "preferences"
FILES = sorted(DATA.glob("*.jsonl"))


def reading(path: Path) -> Reading:
    return read_preferences(path.name, path.read_bytes().split(b"\n"))


def pair(prompt: str, answer_a: str = "yes", answer_b: str = "no", outcome: float = 1.0, file: str = "f") -> Preference:
    return Preference(prompt, answer_a, answer_b, outcome, file, file)


def numbers(count: int, seed: int = 0) -> Numbers:
    """Noise: no answer is better than another."""
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(count, 2, HIDDEN))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return Numbers(
        features=chance.normal(size=(count, 2, len(FEATURE_NAMES))),
        signs=np.ones(count),
        vectors=vectors,
        products=vectors * vectors[:, ::-1],
        outcomes=chance.integers(0, 2, size=count).astype(np.float64),
    )


def random_tensors(words: int = 300, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """An encoder of the right shape that has learnt nothing, with a small word list."""
    chance = np.random.default_rng(seed)
    wide = 4 * HIDDEN

    def dense(name: str, out: int, into: int) -> dict[str, NDArray[np.float32]]:
        return {
            f"{name}.weight": (chance.normal(size=(out, into)) / np.sqrt(into)).astype(np.float32),
            f"{name}.bias": (0.1 * chance.normal(size=out)).astype(np.float32),
        }

    def normal(name: str) -> dict[str, NDArray[np.float32]]:
        return {
            f"{name}.weight": (1 + 0.1 * chance.normal(size=HIDDEN)).astype(np.float32),
            f"{name}.bias": (0.1 * chance.normal(size=HIDDEN)).astype(np.float32),
        }

    tensors = {
        f"embeddings.{name}_embeddings.weight": chance.normal(size=(rows, HIDDEN)).astype(np.float32)
        for name, rows in (("word", words), ("position", 512), ("token_type", 2))
    } | normal("embeddings.LayerNorm")
    for number in range(6):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            tensors |= dense(f"{layer}.attention.self.{part}", HIDDEN, HIDDEN)
        tensors |= dense(f"{layer}.attention.output.dense", HIDDEN, HIDDEN)
        tensors |= dense(f"{layer}.intermediate.dense", wide, HIDDEN) | dense(f"{layer}.output.dense", HIDDEN, wide)
        tensors |= normal(f"{layer}.attention.output.LayerNorm") | normal(f"{layer}.output.LayerNorm")
    return tensors
