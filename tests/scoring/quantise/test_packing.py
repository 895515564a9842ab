"""Ways to reduce a graph, each by itself."""

import numpy as np
import onnx
import pytest
from tests.scoring.quantise.small import WIDE, small_graph
from tests.scoring.quantise.test_fusion import feed

from agon.engines.encoder.calibration import Range, matrices
from agon.engines.encoder.nodes import GraphView, prune
from agon.engines.encoder.packing import narrows, shrink_blocks, shrink_rows, smooth, to_int8
from agon.engines.encoder.providers import Placement, open_session
from agon.engines.encoder.quantise import Recipe, alike, recipes


def scores(model: onnx.ModelProto) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return open_session(model.SerializeToString(), Placement()).run(feed(6, 20), ["score"])[0]


def contrib(model: onnx.ModelProto) -> onnx.ModelProto:
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return model


def everything(_: onnx.NodeProto) -> bool:
    return True


def test_the_head_is_left_alone() -> None:
    names = {node.name for node in matrices(small_graph().graph)}
    assert "layer1.down.product" in names
    assert "head.product" not in names
    assert not any("logits" in name or "mixed" in name for name in names)


def test_smoothing_changes_no_score_and_evens_out_channels() -> None:
    model = small_graph()
    before = scores(model)
    chance = np.random.default_rng(0)
    ranges = {
        node.input[0]: Range(-1, 1, chance.uniform(0.1, 9, WIDE if "down" in node.name else 32).astype(np.float32))
        for node in matrices(model.graph)
    }
    first = next(iter(matrices(model.graph)))
    seen = ranges[first.input[0]].channels
    smooth(model.graph, ranges, 0.75, everything)
    assert alike(before, scores(model))
    factors = GraphView(model.graph).constant(f"{first.name}.factors")
    assert factors is not None
    even = np.array(seen * factors, np.float64)
    assert even.max() / even.min() < seen.max() / seen.min()


def test_rows_have_their_own_scales() -> None:
    model = small_graph()
    before, size = scores(model), model.ByteSize()
    shrink_rows(model.graph)
    prune(model.graph)
    assert model.ByteSize() < 0.35 * size
    found = scores(model)
    assert not np.array_equal(before, found)
    assert np.abs(before - found).max() < 0.05 * np.ptp(before)


def test_blocks_are_closer_than_one_scale_for_all() -> None:
    model = small_graph()
    before = scores(model)
    view = GraphView(model.graph)
    chosen = {node.name for node in matrices(model.graph) if narrows(node, view)}
    assert chosen == {"layer0.down.product", "layer1.down.product"}
    shrink_blocks(model.graph, 32, lambda node: node.name in chosen)
    packed = [node for node in model.graph.node if node.op_type == "MatMulNBits"]
    assert {node.name for node in packed} == chosen
    found = scores(contrib(model))
    assert np.abs(before - found).max() < 0.05 * np.ptp(before)


def test_columns_are_reduced_by_their_own_scale() -> None:
    weight = np.array([[1.0, 100.0], [-0.5, 50.0], [0.0, -100.0]], np.float32)
    values, scales = to_int8(weight)
    assert values.tolist() == [[127, 127], [-64, 64], [0, -127]]
    assert scales.tolist() == pytest.approx([1 / 127, 100 / 127])


def test_no_candidate_is_static() -> None:
    assert all(isinstance(recipe, Recipe) and recipe.reduce_range for recipe in recipes(overflows=True))
    assert not any(recipe.reduce_range for recipe in recipes(overflows=False))
