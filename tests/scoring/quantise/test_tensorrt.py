"""What can be known of the path to TensorRT without a GPU."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from tests.scoring.quantise.conftest import workshop
from tests.scoring.quantise.small import LAYERS, small_graph, small_model
from tests.scoring.quantise.test_packing import scores

from agon.core.errors import Unavailable
from agon.engines.encoder.gpu import load_tensorrt, open_on
from agon.engines.encoder.nodes import GraphView
from agon.engines.encoder.providers import Provider, available
from agon.engines.encoder.tensorrt import (
    Gpu,
    Shapes,
    find_gpu,
    operators,
    placement,
    provider_options,
    read_gpu,
    to_qdq,
)
from agon.engines.encoder.texts import Texts

HOPPER = Gpu("NVIDIA H200", "9.0", "10.9.0.34")


@pytest.fixture(scope="module")
def qdq(tmp_path_factory: pytest.TempPathFactory, texts: Texts) -> onnx.ModelProto:
    folder = small_model(tmp_path_factory.mktemp("qdq"))
    calibration, _ = workshop(folder, texts).calibration()
    return to_qdq(small_graph(), calibration)


def test_standard_operators_only(qdq: onnx.ModelProto) -> None:
    assert operators(qdq) == {""}
    onnx.checker.check_model(qdq)  # pyright: ignore[reportUnknownMemberType]


def test_scales_are_fixed_signed_and_symmetric(qdq: onnx.ModelProto) -> None:
    view = GraphView(qdq.graph)
    nodes = [node for node in qdq.graph.node if node.op_type in {"QuantizeLinear", "DequantizeLinear"}]
    # Queries, keys, values, what attention gives, and the widening: five a layer, each with a pair and a weight.
    assert len(nodes) == LAYERS * 5 * 3
    for node in nodes:
        zero, scale = view.constant(node.input[2]), view.constant(node.input[1])
        assert zero is not None
        assert scale is not None
        assert zero.dtype == np.int8
        assert not zero.any()
        assert (scale > 0).all()


def test_weights_have_a_scale_for_each_column(qdq: onnx.ModelProto) -> None:
    view = GraphView(qdq.graph)
    weights = [node for node in qdq.graph.node if node.name.endswith("weight.dequantise")]
    assert len(weights) == LAYERS * 5
    for node in weights:
        values, scales = view.constant(node.input[0]), view.constant(node.input[1])
        assert values is not None
        assert scales is not None
        assert values.dtype == np.int8
        assert scales.shape == (values.shape[1],)
        assert node.attribute[0].i == 1


def test_outliers_and_attention_stay_in_half_precision(qdq: onnx.ModelProto) -> None:
    view = GraphView(qdq.graph)
    for layer in range(LAYERS):
        for name in ("down.product", "logits", "mixed"):
            node = next(node for node in qdq.graph.node if node.name == f"layer{layer}.{name}")
            assert view.maker(node.input[0], "DequantizeLinear") is None


def test_the_processor_computes_nearly_the_same(qdq: onnx.ModelProto) -> None:
    full = scores(small_graph())
    assert np.abs(full - scores(qdq)).mean() < 0.1 * full.std()


def test_engines_are_kept_by_gpu_and_version(tmp_path: Path) -> None:
    assert HOPPER.key == "nvidia-h200-sm9.0-trt10.9.0.34"
    place = placement(tmp_path, HOPPER)
    cache = tmp_path / "engines" / HOPPER.key
    assert place.provider is Provider.TENSORRT
    assert cache.is_dir()
    assert place.options["trt_engine_cache_path"] == place.options["trt_timing_cache_path"] == str(cache)
    other = placement(tmp_path, Gpu("NVIDIA H200", "9.0", "10.10.0"))
    assert other.options["trt_engine_cache_path"] != str(cache)


def test_options_say_everything(tmp_path: Path) -> None:
    options = provider_options(tmp_path, features=3, shapes=Shapes(tokens=(8, 128, 256)), device=1)
    on = ("trt_int8_enable", "trt_fp16_enable", "trt_engine_cache_enable", "trt_timing_cache_enable")
    assert {options[name] for name in on} == {"True"}
    assert options["device_id"] == "1"
    assert "trt_int8_calibration_table_name" not in options
    assert options["trt_profile_max_shapes"] == (
        "input_ids:32x256,attention_mask:32x256,token_type_ids:32x256,features:32x3"
    )
    assert options["trt_profile_min_shapes"].startswith("input_ids:1x8,")
    assert all(isinstance(value, str) for value in options.values())


def test_what_nvidia_smi_says_is_read() -> None:
    assert read_gpu("NVIDIA H200, 9.0\nNVIDIA L4, 8.9\n", "10.9.0.34") == HOPPER
    for nothing in ("", "\n", "No devices were found\n"):
        with pytest.raises(Unavailable) as raised:
            read_gpu(nothing, "10")
        assert raised.value.code == "no_gpu"


def test_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable) as raised:
        find_gpu()
    assert raised.value.code == "no_gpu"


def test_loading_needs_gpu_runtime_and_artefact(tmp_path: Path, texts: Texts) -> None:
    if Provider.TENSORRT in available():
        pytest.skip("this runtime knows TensorRT")
    folder = small_model(tmp_path / "model")
    with pytest.raises(Unavailable) as raised:
        open_on(folder, HOPPER)
    assert raised.value.code == "tensorrt_missing"
    workshop(folder, texts).tensorrt()
    for attempt in (lambda: open_on(folder, HOPPER), lambda: load_tensorrt(folder)):
        with pytest.raises(Unavailable) as raised:
            attempt()
        assert raised.value.code == "provider_missing"


@pytest.mark.parametrize("answer", ["echo broken >&2; exit 9", "exit 1"])
def test_a_driver_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable) as raised:
        find_gpu()
    assert raised.value.code == "no_gpu"
