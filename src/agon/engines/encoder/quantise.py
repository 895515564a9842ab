"""From the full graph and its calibration to candidates for the 8-bit engine of the CPU."""

import importlib
import logging
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper

from agon.engines.encoder.calibration import Calibration, matrices
from agon.engines.encoder.fusion import CONTRIB, fuse
from agon.engines.encoder.nodes import GraphView, prune
from agon.engines.encoder.packing import narrows, shrink_blocks, shrink_rows, smooth

_quantisation: Any = importlib.import_module("onnxruntime.quantization")

_SMOOTHING: Final = 0.75
_BLOCK: Final = 128
_ALIKE: Final = 1e-4
"""How far fused and full scores may be apart: a hundred times the rounding, a hundredth of what 8 bits cost."""


RECIPES_VERSION: Final = 1
"""Changes when the same recipe makes another graph."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a graph is reduced. Weights are always signed, with a scale for each column at least."""

    name: str
    smoothing: float = 0.0
    """Strength with which outliers are moved from activations into weights; needs the calibration."""
    block: int = 0
    """Size of the blocks of those matrices that see the largest outliers; 0 leaves them as the others are."""
    reduce_range: bool = False
    """7-bit weights, for processors whose 8-bit products overflow 16 bits (AVX2 and AVX-512 without VNNI)."""

    def options(self) -> dict[str, Any]:
        return asdict(self)


def recipes(*, overflows: bool) -> list[Recipe]:
    """The candidates that are safe on a processor: static 8-bit activations of both signs never are on a CPU."""
    return [
        Recipe("dynamic", reduce_range=overflows),
        Recipe("smoothed", smoothing=_SMOOTHING, reduce_range=overflows),
        Recipe("smoothed, blocks", smoothing=_SMOOTHING, block=_BLOCK, reduce_range=overflows),
    ]


def fused(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the optimised graph that the candidates start from."""
    return fuse(model).model


def quantise(model: onnx.ModelProto, calibration: Calibration, recipe: Recipe) -> onnx.ModelProto:
    """Return a reduced copy of a fused model."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    view = GraphView(copy.graph)
    blocks = {node.name for node in matrices(copy.graph) if recipe.block and narrows(node, view)}
    if recipe.smoothing:
        # Blocks have scales of their own; they need no smoothing.
        smooth(copy.graph, calibration.ranges, recipe.smoothing, lambda node: node.name not in blocks)
    if blocks:
        shrink_blocks(copy.graph, recipe.block, lambda node: node.name in blocks)
    shrink_rows(copy.graph)
    if not any(domain.domain == CONTRIB for domain in copy.opset_import):
        copy.opset_import.append(helper.make_opsetid(CONTRIB, 1))
    left = [node.name for node in matrices(copy.graph)]
    reduced = _dynamic(copy, left, reduce_range=recipe.reduce_range) if left else copy
    prune(reduced.graph)
    return reduced


def _dynamic(model: onnx.ModelProto, nodes: list[str], *, reduce_range: bool) -> onnx.ModelProto:
    """Multiply 8-bit weights with activations that are reduced when they are known, run by run."""
    with tempfile.TemporaryDirectory(prefix="agon-quantise-") as folder:
        source, target = Path(folder) / "full.onnx", Path(folder) / "int8.onnx"
        # The runtime looks for this mark of its own, and would tell people to optimise the graph first.
        helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
        source.write_bytes(model.SerializeToString())
        with _no_chatter():
            _quantisation.quantize_dynamic(
                source,
                target,
                op_types_to_quantize=["MatMul", "Attention"],
                nodes_to_quantize=nodes,
                per_channel=True,
                reduce_range=reduce_range,
                weight_type=_quantisation.QuantType.QInt8,
                # Behind operators of the runtime's own, no type can be inferred.
                extra_options={"DefaultTensorType": TensorProto.FLOAT},
            )
        reduced = onnx.ModelProto()
        reduced.ParseFromString(target.read_bytes())
        return reduced


@contextmanager
def _no_chatter() -> Generator[None]:
    """The runtime tells the root logger of every tensor it looks at; what others say there still passes."""
    root = logging.getLogger()

    def matters(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or "onnxruntime" not in record.pathname

    root.addFilter(matters)
    try:
        yield
    finally:
        root.removeFilter(matters)


def alike(full: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether two engines of full precision compute the same."""
    return bool(np.abs(full - other).max(initial=0.0) <= _ALIKE * max(1.0, float(np.abs(full).max(initial=0.0))))
