"""The ONNX graph against a forward pass that was written apart from it, in plain numpy and 64 bits."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from tests.scoring.reward.support import random_tensors

from agon.engines.encoder.graph import ANSWER, PAIR, check_graph, reward_graph, with_vectors
from agon.engines.encoder.providers import Placement, open_session
from agon.engines.encoder.weights import ensure_encoder, read_tensors
from agon.scoring.reward.features import FEATURE_NAMES
from agon.scoring.reward.head import HIDDEN, Head
from agon.scoring.reward.scales import FeatureScale

Array = NDArray[np.float64]


def normalised(values: Array, weight: Array, bias: Array) -> Array:
    mean = values.mean(-1, keepdims=True)
    spread = np.sqrt(((values - mean) ** 2).mean(-1, keepdims=True) + 1e-12)
    return (values - mean) / spread * weight + bias


def forward(tensors: Mapping[str, NDArray[np.float32]], ids: list[int], types: list[int]) -> Array:
    """Hidden states of one sequence without any padding."""
    exact = {name: value.astype(np.float64) for name, value in tensors.items()}

    def dense(values: Array, name: str) -> Array:
        return values @ exact[f"{name}.weight"].T + exact[f"{name}.bias"]

    def norm(values: Array, name: str) -> Array:
        return normalised(values, exact[f"{name}.weight"], exact[f"{name}.bias"])

    hidden = exact["embeddings.word_embeddings.weight"][ids]
    hidden = hidden + exact["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = hidden + exact["embeddings.token_type_embeddings.weight"][types]
    hidden = norm(hidden, "embeddings.LayerNorm")
    for number in range(6):
        layer = f"encoder.layer.{number}"
        parts = {
            part: dense(hidden, f"{layer}.attention.self.{part}").reshape(len(ids), 12, 32)
            for part in ("query", "key", "value")
        }
        logits = np.einsum("ihd,jhd->hij", parts["query"], parts["key"]) / math.sqrt(32)
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        context = np.einsum("hij,jhd->ihd", shares, parts["value"]).reshape(len(ids), HIDDEN)
        middle = norm(dense(context, f"{layer}.attention.output.dense") + hidden, f"{layer}.attention.output.LayerNorm")
        wide = dense(middle, f"{layer}.intermediate.dense")
        bent = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        hidden = norm(dense(bent, f"{layer}.output.dense") + middle, f"{layer}.output.LayerNorm")
    return hidden


def parts_of(hidden: Array, types: list[int]) -> tuple[Array, Array]:
    """The answer's unit vector, and its product with the prompt's."""
    sides = [hidden[np.array(types) == side].mean(0) for side in (0, 1)]
    units = [side / np.linalg.norm(side) for side in sides]
    return units[1], units[0] * units[1]


def head_of(features: int, seed: int = 1) -> Head:
    chance = np.random.default_rng(seed)
    scales = [FeatureScale(name, 0.0, 1.0) for name in FEATURE_NAMES[:features]]
    return Head(scales, chance.normal(size=features), chance.normal(size=HIDDEN), chance.normal(size=HIDDEN), 0.25)


def batch(
    lengths: list[tuple[int, int]], words: int
) -> tuple[list[list[int]], list[list[int]], dict[str, NDArray[np.int64]]]:
    chance = np.random.default_rng(5)
    ids = [chance.integers(0, words, size=first + second).tolist() for first, second in lengths]
    types = [[0] * first + [1] * second for first, second in lengths]
    width = max(map(len, ids))
    feed = {name: np.zeros((len(ids), width), np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
    for row, (each, kinds) in enumerate(zip(ids, types, strict=True)):
        feed["input_ids"][row, : len(each)] = each
        feed["attention_mask"][row, : len(each)] = 1
        feed["token_type_ids"][row, : len(each)] = kinds
    return ids, types, feed


def compare(tensors: Mapping[str, NDArray[np.float32]], words: int, tolerance: float) -> None:
    head = head_of(len(FEATURE_NAMES))
    ids, types, feed = batch([(3, 4), (20, 9), (2, 60)], words)
    rows = np.random.default_rng(2).normal(size=(3, len(FEATURE_NAMES))).astype(np.float32)
    graph = with_vectors(reward_graph(tensors, head))
    check_graph(graph)
    session = open_session(graph.SerializeToString(), Placement(threads=1))
    score, answer, pair = session.run({**feed, "features": rows}, ["score", ANSWER, PAIR])
    assert score.shape == (3,)
    for row in range(3):
        unit, product = parts_of(forward(tensors, ids[row], types[row]), types[row])
        np.testing.assert_allclose(answer[row], unit, atol=tolerance)
        np.testing.assert_allclose(pair[row], product, atol=tolerance)
        expected = (
            rows[row].astype(np.float64) @ head.feature_weights
            + unit @ head.answer_weights
            + product @ head.product_weights
            + head.bias
        )
        assert score[row] == pytest.approx(expected, abs=100 * tolerance)


def test_the_graph_computes_what_a_second_forward_pass_does() -> None:
    compare(random_tensors(), 300, 2e-6)


@pytest.mark.models
def test_the_real_encoder_agrees_too(encoder: Path) -> None:
    compare(read_tensors(encoder), 30_522, 1e-6)


def test_padding_changes_nothing() -> None:
    session = open_session(reward_graph(random_tensors(), head_of(0)).SerializeToString(), Placement(threads=1))
    _, _, feed = batch([(3, 4)], 300)
    padded = {name: np.pad(value, ((0, 0), (0, 50))) for name, value in feed.items()}
    alone, wide = (session.run(each, ["score"])[0] for each in (feed, padded))
    np.testing.assert_allclose(alone, wide, atol=1e-5)


def test_a_graph_without_features_has_no_such_input() -> None:
    graph: onnx.GraphProto = reward_graph(random_tensors(), head_of(0)).graph
    assert [each.name for each in graph.input] == ["input_ids", "attention_mask", "token_type_ids"]


def test_equal_inputs_make_equal_bytes() -> None:
    first, second = (reward_graph(random_tensors(), head_of(3)).SerializeToString(deterministic=True) for _ in range(2))
    assert first == second


@pytest.mark.models
def test_the_encoder_is_fetched_once(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert ensure_encoder(encoder.parent) == encoder
