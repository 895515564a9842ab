"""Ways to make a graph smaller and still exact: outliers moved into the weights, rows and blocks with own scales."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from agon.engines.encoder.calibration import Range, matrices
from agon.engines.encoder.fusion import CONTRIB
from agon.engines.encoder.nodes import Array, GraphView

_LEAST = 1e-5
_MAX = 127.0

Chosen = Callable[[onnx.NodeProto], bool]


def narrows(node: onnx.NodeProto, view: GraphView) -> bool:
    """Whether a matrix brings the wide middle of a layer back to its width: what it sees has the largest outliers."""
    weight = view.constant(node.input[1])
    return weight is not None and node.op_type == "MatMul" and weight.shape[0] > weight.shape[1]


def smooth(graph: onnx.GraphProto, ranges: Mapping[str, Range], strength: float, chosen: Chosen) -> None:
    """Divide what a matrix sees by a factor for each channel, and multiply the matrix's rows by it.

    The product stays the same. The factors, channels' ranges to the power of `strength` over weights' ranges to the
    rest, even out channels of which a few are far larger than all others: one scale for all of them then loses less.
    """
    view = GraphView(graph)
    for node in matrices(graph):
        weight, seen = view.constant(node.input[1]), ranges.get(node.input[0])
        if weight is None or seen is None or not chosen(node):
            continue
        factors = _factors(seen.channels, weight, strength)
        _put(graph, node.input[1], f"{node.name}.smoothed", weight * factors[:, None])
        node.input[1] = f"{node.name}.smoothed"
        graph.initializer.append(numpy_helper.from_array((1 / factors).astype(np.float32), f"{node.name}.factors"))
        product = helper.make_node(
            "Mul", [node.input[0], f"{node.name}.factors"], [f"{node.name}.even"], f"{node.name}.even"
        )
        graph.node.insert(_place(graph, node), product)
        node.input[0] = f"{node.name}.even"


def shrink_rows(graph: onnx.GraphProto) -> None:
    """Keep look-up tables of words as 8-bit rows, each with its own scale; only rows that are read are made whole."""
    view = GraphView(graph)
    for node in list(graph.node):
        table = view.constant(node.input[0]) if node.op_type == "Gather" else None
        if table is None or table.ndim != 2 or table.dtype != np.float32 or table.shape[0] < 256:
            continue
        scales = np.abs(table).max(axis=1, keepdims=True) / _MAX
        scales[scales == 0] = 1.0
        name, rows = node.name, node.input[1]
        graph.initializer.extend(
            [
                numpy_helper.from_array(np.rint(table / scales).astype(np.int8), f"{name}.rows"),
                numpy_helper.from_array(scales.astype(np.float32), f"{name}.scales"),
            ]
        )
        made = [
            helper.make_node("Gather", [f"{name}.rows", rows], [f"{name}.small"], f"{name}.small"),
            helper.make_node("Cast", [f"{name}.small"], [f"{name}.wide"], f"{name}.wide", to=TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}.scales", rows], [f"{name}.scale"], f"{name}.scale"),
            helper.make_node("Mul", [f"{name}.wide", f"{name}.scale"], [node.output[0]], name),
        ]
        place = _place(graph, node)
        graph.node.remove(node)
        for step, each in enumerate(made):
            graph.node.insert(place + step, each)


def shrink_blocks(graph: onnx.GraphProto, size: int, chosen: Chosen) -> None:
    """Keep matrices as 8-bit blocks with own scales, multiplied with 8-bit rows of which each has own scales, too."""
    view = GraphView(graph)
    for node in matrices(graph):
        weight = view.constant(node.input[1])
        if weight is None or node.op_type != "MatMul" or weight.shape[0] % size or not chosen(node):
            continue
        values, scales = _blocks(weight, size)
        graph.initializer.extend(
            [
                numpy_helper.from_array(values, f"{node.name}.blocks"),
                numpy_helper.from_array(scales, f"{node.name}.scales"),
            ]
        )
        inputs = [node.input[0], f"{node.name}.blocks", f"{node.name}.scales"]
        packed = helper.make_node(
            "MatMulNBits",
            inputs,
            list(node.output),
            node.name,
            domain=CONTRIB,
            K=weight.shape[0],
            N=weight.shape[1],
            bits=8,
            block_size=size,
            accuracy_level=4,
        )
        place = _place(graph, node)
        graph.node.remove(node)
        graph.node.insert(place, packed)


def to_int8(weight: Array) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return a matrix in 8 bits with a scale for each of its columns, symmetric around zero."""
    scales = np.maximum(np.abs(weight).max(axis=0), _LEAST) / _MAX
    return np.clip(np.rint(weight / scales), -_MAX, _MAX).astype(np.int8), scales.astype(np.float32)


def _blocks(weight: Array, size: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    turned = weight.T
    blocks = turned.reshape(turned.shape[0], -1, size)
    scales = np.maximum(np.abs(blocks).max(axis=-1), _LEAST) / _MAX
    values = np.clip(np.rint(blocks / scales[..., None]), -_MAX, _MAX) + 128
    return values.astype(np.uint8), scales.astype(np.float32)


def _factors(channels: npt.NDArray[np.float32], weight: Array, strength: float) -> npt.NDArray[np.float32]:
    rows = np.maximum(np.abs(weight).max(axis=1), _LEAST)
    factors = np.maximum(channels, _LEAST) ** strength / rows ** (1 - strength)
    return (factors / np.exp(np.log(factors).mean())).astype(np.float32)


def _put(graph: onnx.GraphProto, old: str, name: str, values: Array) -> None:
    """Add a constant, and drop the one it replaces if nobody else uses it."""
    if sum(old in node.input for node in graph.node) == 1:
        for tensor in graph.initializer:
            if tensor.name == old:
                graph.initializer.remove(tensor)
                break
    graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))


def _place(graph: onnx.GraphProto, node: onnx.NodeProto) -> int:
    return next(place for place, each in enumerate(graph.node) if each is node or each.output == node.output)
