"""Prompt and answer as one sequence of tokens: `[CLS] prompt [SEP] answer [SEP]`, the long ones cut in their middle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agon.core.scoring import Sample
from agon.scoring.reward.features import features, polarity, shortened
from agon.scoring.reward.scales import standardised
from agon.scoring.reward.spec import RewardSpec


class Tokeniser(Protocol):
    """Cuts texts into tokens. Thread-safe."""

    @property
    def start(self) -> int: ...

    @property
    def separator(self) -> int: ...

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, without special ones."""
        ...


class Limits(Protocol):
    """How long sequences may be; a `RewardSpec` says it."""

    @property
    def max_tokens(self) -> int: ...

    @property
    def prompt_tokens(self) -> int: ...


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


def cut(ids: Sequence[int], room: int) -> list[int]:
    """Return head and tail of a sequence that is longer than its room: both ends say much of an answer."""
    if len(ids) <= room:
        return list(ids)
    head = (room + 1) // 2
    return [*ids[:head], *ids[len(ids) - (room - head) :]]


def join(prompt: Sequence[int], answer: Sequence[int], limits: Limits, tokens: Tokeniser) -> Encoded:
    """Return the sequence of one sample. A short answer leaves its room to the prompt, and the other way round."""
    room = limits.max_tokens - 3
    for_prompt = max(limits.prompt_tokens - 2, room - len(answer))
    first = [tokens.start, *cut(prompt, for_prompt), tokens.separator]
    second = [*cut(answer, limits.max_tokens - len(first) - 1), tokens.separator]
    return Encoded(first + second, [0] * len(first) + [1] * len(second))


def encode_each(limits: Limits, tokens: Tokeniser, samples: Sequence[Sample]) -> list[Encoded]:
    """Return the unpadded sequences, so that a runtime can put those of similar length together."""
    prompts = tokens.ids([shortened(sample.prompt) for sample in samples])
    answers = tokens.ids([shortened(sample.answer) for sample in samples])
    return [join(prompt, answer, limits, tokens) for prompt, answer in zip(prompts, answers, strict=True)]


def feature_rows(spec: RewardSpec, samples: Sequence[Sample]) -> NDArray[np.float32]:
    """Return standardised features, one row a sample."""
    if not spec.features or not samples:
        return np.zeros((len(samples), len(spec.features)), np.float32)
    raw = np.stack([features(sample.prompt, sample.answer) for sample in samples])
    signs = np.array([polarity(sample.prompt) for sample in samples], np.float64)
    return standardised(raw, spec.features, signs).astype(np.float32)


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
