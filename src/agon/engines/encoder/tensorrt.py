"""The artefact for TensorRT: 8-bit pairs of quantise and dequantise around what its tensor cores multiply.

Scales are fixed, from the same calibration as the CPU's engine: TensorRT wants signed, symmetric ones. The matrices
whose activations have the largest outliers, and the products inside attention, stay in half precision.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx import helper, numpy_helper

from agon.core.errors import Unavailable
from agon.engines.encoder.calibration import Calibration, matrices
from agon.engines.encoder.nodes import Array, GraphView, prune
from agon.engines.encoder.packing import narrows, smooth, to_int8
from agon.engines.encoder.providers import Placement, Provider

_SMOOTHING: Final = 0.75
_MAX: Final = 127.0
_LEAST_SHARE: Final = 0.9
"""Share of the nodes that must be on TensorRT; shapes may be computed elsewhere."""
_ASK_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """What an engine of TensorRT is built for: it runs on no other."""

    name: str
    capability: str
    """Compute capability, as `9.0`."""
    tensorrt: str
    """Version of TensorRT."""

    @property
    def key(self) -> str:
        """Names it in the file system."""
        words = f"{self.name} sm{self.capability} trt{self.tensorrt}".lower()
        return re.sub(r"[^a-z0-9.]+", "-", words).strip("-")


@dataclass(frozen=True, slots=True)
class Shapes:
    """The input shapes one engine is built for."""

    samples: tuple[int, int, int] = (1, 8, 32)
    """Least, usual and most."""
    tokens: tuple[int, int, int] = (1, 128, 384)


def to_qdq(model: onnx.ModelProto, calibration: Calibration) -> onnx.ModelProto:
    """Return a copy of the full model (standard operators only) with explicit 8-bit scales."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    view = GraphView(copy.graph)
    chosen = {node.name for node in matrices(copy.graph) if not narrows(node, view)}
    before = {node.name: node.input[0] for node in matrices(copy.graph)}
    smooth(copy.graph, calibration.ranges, _SMOOTHING, lambda node: node.name in chosen)
    view = GraphView(copy.graph)
    for node in matrices(copy.graph):
        seen = calibration.ranges.get(before[node.name])
        weight = view.constant(node.input[1])
        if node.name not in chosen or seen is None or weight is None:
            continue
        factors = view.constant(f"{node.name}.factors")
        even = seen.channels if factors is None else seen.channels * factors
        _wrap_input(copy.graph, node, float(np.max(even)))
        _wrap_weight(copy.graph, node, weight)
    prune(copy.graph)
    return copy


def _wrap_input(graph: onnx.GraphProto, node: onnx.NodeProto, widest: float) -> None:
    name = f"{node.name}.in"
    zero, scale = f"{name}.zero", f"{name}.scale"
    graph.initializer.extend(
        [
            numpy_helper.from_array(np.array(widest / _MAX, np.float32), scale),
            numpy_helper.from_array(np.array(0, np.int8), zero),
        ]
    )
    made = [
        helper.make_node("QuantizeLinear", [node.input[0], scale, zero], [f"{name}.small"], f"{name}.quantise"),
        helper.make_node("DequantizeLinear", [f"{name}.small", scale, zero], [f"{name}.whole"], f"{name}.dequantise"),
    ]
    _insert_before(graph, node, made)
    node.input[0] = f"{name}.whole"


def _wrap_weight(graph: onnx.GraphProto, node: onnx.NodeProto, weight: Array) -> None:
    name = f"{node.name}.weight"
    values, scales = to_int8(weight)
    graph.initializer.extend(
        [
            numpy_helper.from_array(values, f"{name}.small"),
            numpy_helper.from_array(scales, f"{name}.scale"),
            numpy_helper.from_array(np.zeros(len(scales), np.int8), f"{name}.zero"),
        ]
    )
    inputs = [f"{name}.small", f"{name}.scale", f"{name}.zero"]
    _insert_before(
        graph, node, [helper.make_node("DequantizeLinear", inputs, [f"{name}.whole"], f"{name}.dequantise", axis=1)]
    )
    node.input[1] = f"{name}.whole"


def _insert_before(graph: onnx.GraphProto, node: onnx.NodeProto, made: list[onnx.NodeProto]) -> None:
    place = next(place for place, each in enumerate(graph.node) if each.output == node.output)
    for step, each in enumerate(made):
        graph.node.insert(place + step, each)


# --- running it -------------------------------------------------------------------------------------------------------


def find_gpu() -> Gpu:
    """Return this machine's first GPU and its TensorRT. Raises `Unavailable` (`no_gpu`, `no_tensorrt`)."""
    program = shutil.which("nvidia-smi")
    if program is None:
        raise Unavailable("There is no NVIDIA GPU here: nvidia-smi is missing.", code="no_gpu")
    try:
        answer = subprocess.run(
            [program, "--query-gpu=name,compute_cap", "--format=csv,noheader"],
            check=True,
            capture_output=True,
            text=True,
            timeout=_ASK_S,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"nvidia-smi does not answer: {error}.", code="no_gpu") from None
    return read_gpu(answer, tensorrt_version())


def read_gpu(answer: str, tensorrt: str) -> Gpu:
    """Read what nvidia-smi says of the first GPU. Raises `Unavailable` (`no_gpu`)."""
    name, _, capability = (answer.splitlines() or [""])[0].rpartition(",")
    if not name.strip() or not capability.strip():
        raise Unavailable("nvidia-smi names no GPU.", code="no_gpu")
    return Gpu(name.strip(), capability.strip(), tensorrt)


def tensorrt_version() -> str:
    """Return the version of the installed TensorRT. Raises `Unavailable` (`no_tensorrt`)."""
    for package in ("tensorrt-cu13", "tensorrt-cu12", "tensorrt"):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    raise Unavailable("TensorRT is not installed here.", code="no_tensorrt")


def placement(folder: Path, gpu: Gpu, *, features: int = 0, shapes: Shapes | None = None, device: int = 0) -> Placement:
    """Return where the artefact runs: TensorRT, whose engine is built once and kept in the artefact's folder."""
    cache = folder / "engines" / gpu.key
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{cache} cannot be made: {error.strerror or error}.", code="encoder_storage") from None
    options = provider_options(cache, features=features, shapes=shapes or Shapes(), device=device)
    return Placement(Provider.TENSORRT, threads=1, options=options, least_share=_LEAST_SHARE)


def provider_options(cache: Path, *, features: int, shapes: Shapes, device: int) -> Mapping[str, str]:
    """Return the options of the execution provider, all of them said, none left to a default that may change."""
    least, usual, most = (_profile(place, features, shapes) for place in range(3))
    return {
        "device_id": str(device),
        "trt_int8_enable": "True",
        "trt_fp16_enable": "True",
        "trt_engine_cache_enable": "True",
        "trt_engine_cache_path": str(cache),
        "trt_engine_cache_prefix": "reward",
        "trt_engine_hw_compatible": "False",
        "trt_timing_cache_enable": "True",
        "trt_timing_cache_path": str(cache),
        "trt_force_timing_cache": "False",
        "trt_builder_optimization_level": "3",
        "trt_max_workspace_size": str(2 << 30),
        "trt_profile_min_shapes": least,
        "trt_profile_opt_shapes": usual,
        "trt_profile_max_shapes": most,
    }


def _profile(place: int, features: int, shapes: Shapes) -> str:
    samples, tokens = shapes.samples[place], shapes.tokens[place]
    parts = [f"{name}:{samples}x{tokens}" for name in ("input_ids", "attention_mask", "token_type_ids")]
    if features:
        parts.append(f"features:{samples}x{features}")
    return ",".join(parts)


def operators(model: onnx.ModelProto) -> set[str]:
    """Return the domains of a model's operators; TensorRT knows those of the standard only."""
    return {node.domain for node in model.graph.node}
