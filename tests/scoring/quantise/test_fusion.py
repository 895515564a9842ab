"""The fused graph computes what the plain one does, and is fused indeed."""

from collections import Counter

import numpy as np
import onnx
import pytest
from tests.scoring.quantise.small import HEADS, LAYERS, small_graph

from agon.engines.encoder.fusion import fuse
from agon.engines.encoder.providers import Placement, open_session
from agon.engines.encoder.quantise import alike


def feed(samples: int, tokens: int, seed: int = 0) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    chance = np.random.default_rng(seed)
    lengths = chance.integers(1, tokens + 1, samples)
    mask = (np.arange(tokens) < lengths[:, None]).astype(np.int64)
    ids = chance.integers(5, 30_000, (samples, tokens)) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": mask * (np.arange(tokens) > 2)}


def scores(model: onnx.ModelProto, samples: int, tokens: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    session = open_session(model.SerializeToString(), Placement())
    return session.run(feed(samples, tokens), ["score"])[0]


def test_attention_and_residuals_become_one_operator_each() -> None:
    fused = fuse(small_graph())
    kinds = Counter(node.op_type for node in fused.model.graph.node)
    assert (fused.attentions, fused.normalisations) == (LAYERS, 2 * LAYERS)
    assert (kinds["Attention"], kinds["SkipLayerNormalization"]) == (LAYERS, 2 * LAYERS)
    assert kinds["Softmax"] == 0
    assert {node.attribute[0].i for node in fused.model.graph.node if node.op_type == "Attention"} == {HEADS}


@pytest.mark.parametrize(("samples", "tokens"), [(1, 1), (1, 7), (5, 23), (3, 64)])
def test_the_scores_stay_the_same(samples: int, tokens: int) -> None:
    plain = small_graph()
    before = scores(plain, samples, tokens)
    assert np.ptp(before) > 0 or samples == 1
    assert alike(before, scores(fuse(plain).model, samples, tokens))


def test_the_model_that_was_given_stays_as_it_is() -> None:
    plain = small_graph()
    before = plain.SerializeToString(deterministic=True)
    fuse(plain)
    assert plain.SerializeToString(deterministic=True) == before


def test_what_has_another_form_is_left_alone() -> None:
    plain = small_graph()
    for node in plain.graph.node:
        if node.name == "layer0.joined":
            # Heads in another order: no attention that the fused operator could compute.
            node.attribute[0].ints[:] = [2, 0, 1, 3]
    assert fuse(plain).attentions == LAYERS - 1


def test_alike_tells_rounding_from_difference() -> None:
    assert alike(np.array([1.0, 2.0]), np.array([1.0 + 1e-6, 2.0]))
    assert not alike(np.array([1.0, 2.0]), np.array([1.001, 2.0]))
