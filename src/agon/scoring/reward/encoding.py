"""Prompt and answer as one sequence of tokens: `[CLS] prompt [SEP] answer [SEP]`, the long ones cut in their middle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from agon.core.scoring import Sample
from agon.scoring.reward.features import features
from agon.scoring.reward.spec import RewardSpec

CLIP: Final = 4.0
"""Bound on a standardised feature, so that no odd text gets a score from one number alone."""
MAX_CHARACTERS: Final = 20_000
"""What is read of a text: far more than the tokens can hold. Longer texts lose their middle here already."""


class Tokeniser(Protocol):
    """Cuts texts into tokens. Thread-safe."""

    @property
    def start(self) -> int: ...

    @property
    def separator(self) -> int: ...

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, without special ones."""
        ...


@dataclass(frozen=True, slots=True)
class Encoded:
    """One sample, unpadded."""

    ids: list[int]
    types: list[int]
    """0 in the prompt's part, 1 in the answer's."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs of the graph, padded to the longest sequence."""

    input_ids: NDArray[np.int64]
    attention_mask: NDArray[np.int64]
    token_type_ids: NDArray[np.int64]
    features: NDArray[np.float32]

    def feed(self) -> dict[str, NDArray[np.int64] | NDArray[np.float32]]:
        """The arrays by the names of the graph's inputs; a graph without features has no such input."""
        inputs: dict[str, NDArray[np.int64] | NDArray[np.float32]] = {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            "token_type_ids": self.token_type_ids,
        }
        if self.features.shape[1]:
            inputs["features"] = self.features
        return inputs


def shortened(text: str) -> str:
    """Return the text without the middle part that nobody would read."""
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[:half]} {text[-half:]}"


def cut(ids: Sequence[int], room: int) -> list[int]:
    """Return head and tail of a sequence that is longer than its room: both ends say much of an answer."""
    if len(ids) <= room:
        return list(ids)
    head = (room + 1) // 2
    return [*ids[:head], *ids[len(ids) - (room - head) :]]


def join(prompt: Sequence[int], answer: Sequence[int], spec: RewardSpec, tokens: Tokeniser) -> Encoded:
    """Return the sequence of one sample. A short prompt leaves its room to the answer, and the other way round."""
    room = spec.max_tokens - 3
    for_prompt = max(spec.prompt_tokens - 2, room - len(answer))
    first = [tokens.start, *cut(prompt, for_prompt), tokens.separator]
    second = [*cut(answer, spec.max_tokens - len(first) - 1), tokens.separator]
    return Encoded(first + second, [0] * len(first) + [1] * len(second))


def encode_each(spec: RewardSpec, tokens: Tokeniser, samples: Sequence[Sample]) -> list[Encoded]:
    """Return the unpadded sequences, so that a runtime can put those of similar length together."""
    prompts = tokens.ids([shortened(sample.prompt) for sample in samples])
    answers = tokens.ids([shortened(sample.answer) for sample in samples])
    return [join(prompt, answer, spec, tokens) for prompt, answer in zip(prompts, answers, strict=True)]


def feature_rows(spec: RewardSpec, samples: Sequence[Sample]) -> NDArray[np.float32]:
    """Return standardised features as the graph takes them, one row a sample."""
    if not spec.features:
        return np.zeros((len(samples), 0), np.float32)
    raw = np.stack([features(shortened(sample.prompt), shortened(sample.answer)) for sample in samples])
    centre = np.array([each.centre for each in spec.features])
    scale = np.array([each.scale for each in spec.features])
    return np.clip((raw - centre) / scale, -CLIP, CLIP).astype(np.float32)


def pad(sequences: Sequence[Encoded], rows: NDArray[np.float32], *, to: int | None = None) -> Batch:
    """Return one batch, padded to its longest sequence or to a given length."""
    width = max([to or 1, *(len(each.ids) for each in sequences)])
    ids, mask, types = (np.zeros((len(sequences), width), np.int64) for _ in range(3))
    for row, each in enumerate(sequences):
        size = len(each.ids)
        ids[row, :size], mask[row, :size], types[row, :size] = each.ids, 1, each.types
    return Batch(ids, mask, types, rows)


def encode(spec: RewardSpec, tokens: Tokeniser, samples: Sequence[Sample]) -> Batch:
    """Return the samples as one batch of the graph's inputs."""
    return pad(encode_each(spec, tokens, samples), feature_rows(spec, samples))
