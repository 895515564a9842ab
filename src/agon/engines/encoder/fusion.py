"""Fusing an encoder's graph: attention as one operator, and a residual with its normalisation as another.

The runtime's own optimiser knows these only in the shapes that a few exporters write, and its Python companion wants a
computer algebra system. What is found here is found by what it computes, from each softmax outwards, and whoever
calls this compares the numbers before and after.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from agon.engines.encoder.nodes import Array, GraphView, attribute, prune

CONTRIB = "com.microsoft"

_HEADS_FIRST = [0, 2, 1, 3]
_KEYS_TURNED = [0, 2, 3, 1]


@dataclass(frozen=True, slots=True)
class Fused:
    """A fused graph, and how much of it is fused."""

    model: onnx.ModelProto
    attentions: int
    normalisations: int


@dataclass(frozen=True, slots=True)
class _Linear:
    """x·W + b."""

    input: str
    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class _Attention:
    queries: _Linear
    keys: _Linear
    values: _Linear
    heads: int
    scale: float
    mask: str
    """The graph input that says which tokens count."""
    output: str


def fuse(model: onnx.ModelProto) -> Fused:
    """Return a fused copy of a model; what has no known form stays as it is."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    attentions = _fuse_attentions(copy.graph)
    normalisations = _fuse_normalisations(copy.graph)
    prune(copy.graph)
    if attentions or normalisations:
        copy.opset_import.append(helper.make_opsetid(CONTRIB, 1))
    return Fused(copy, attentions, normalisations)


# --- attention --------------------------------------------------------------------------------------------------------


def _fuse_attentions(graph: onnx.GraphProto) -> int:
    view = GraphView(graph)
    found = [_read_attention(view, node) for node in graph.node if node.op_type == "Softmax"]
    ready = [attention for attention in found if attention is not None]
    masks: dict[str, str] = {}
    for number, attention in enumerate(ready):
        _write_attention(graph, view, attention, number, masks)
    return len(ready)


def _read_attention(view: GraphView, softmax: onnx.NodeProto) -> _Attention | None:
    context = view.only_user(softmax.output[0], "MatMul")
    scores = _read_scores(view, softmax.input[0])
    if context is None or scores is None or context.input[0] != softmax.output[0]:
        return None
    product, scale, mask = scores
    queries, keys = _head(view, product.input[0], _HEADS_FIRST), _head(view, product.input[1], _KEYS_TURNED)
    values = _head(view, context.input[1], _HEADS_FIRST)
    output = _joined(view, context.output[0])
    if queries is None or keys is None or values is None or output is None:
        return None
    if not queries[0].input == keys[0].input == values[0].input or not queries[1] == keys[1] == values[1]:
        return None
    return _Attention(queries[0], keys[0], values[0], queries[1], scale, mask, output)


def _read_scores(view: GraphView, name: str) -> tuple[onnx.NodeProto, float, str] | None:
    """Follow what a softmax sees up to the product of queries and keys: the product, its scale, the mask's input."""
    scale, mask = 1.0, ""
    while (node := view.maker(name, "Add", "Mul", "Div", "MatMul")) is not None:
        if node.op_type == "MatMul":
            return (node, scale, mask) if mask else None
        if node.op_type == "Add":
            branch = _masked(view, node)
            if branch is None or mask:
                return None
            name, mask = branch
            continue
        scaled = view.split(node)
        if scaled is None or scaled[1].size != 1:
            return None
        name, factor = scaled[0], float(scaled[1].reshape(-1)[0])
        scale = scale * factor if node.op_type == "Mul" else scale / factor
    return None


def _masked(view: GraphView, node: onnx.NodeProto) -> tuple[str, str] | None:
    """For scores + mask: the scores, and the one graph input that the mask comes from."""
    for scores, bias in ((node.input[0], node.input[1]), (node.input[1], node.input[0])):
        sources = view.sources(bias)
        if len(sources) == 1 and len(view.sources(scores)) > 1:
            return scores, sources.pop()
    return None


def _head(view: GraphView, name: str, order: list[int]) -> tuple[_Linear, int] | None:
    """Read transpose(reshape(x·W + b)): the linear map, and into how many heads it is cut."""
    turned = view.maker(name, "Transpose")
    if turned is None:
        return None
    turns, source = [list(_whole(attribute(turned, "perm")))], turned.input[0]
    if (inner := view.maker(source, "Transpose")) is not None:
        turns.append(list(_whole(attribute(inner, "perm"))))
        source = inner.input[0]
    reshaped = view.maker(source, "Reshape")
    if reshaped is None or _composed(turns) != order:
        return None
    shape, linear = view.constant(reshaped.input[1]), _linear(view, reshaped.input[0])
    if shape is None or shape.size != 4 or linear is None:
        return None
    heads = int(shape[2])
    if heads < 1:
        size = int(shape[3])
        heads = linear.bias.size // size if size > 0 else 0
    return (linear, heads) if heads > 0 and linear.bias.size % heads == 0 else None


def _composed(turns: list[list[int]]) -> list[int]:
    order = turns[-1]
    for turn in reversed(turns[:-1]):
        order = [order[place] for place in turn]
    return order


def _linear(view: GraphView, name: str) -> _Linear | None:
    added = view.maker(name, "Add")
    bias = view.split(added) if added is not None else None
    product = view.maker(bias[0], "MatMul") if bias is not None else None
    if bias is None or product is None:
        return None
    weight = view.constant(product.input[1])
    if weight is None or weight.ndim != 2 or bias[1].size != weight.shape[1]:
        return None
    return _Linear(product.input[0], weight, bias[1].reshape(-1))


def _joined(view: GraphView, name: str) -> str | None:
    """Read reshape(transpose(context)), which puts the heads side by side again."""
    turned = view.only_user(name, "Transpose")
    if turned is None or list(_whole(attribute(turned, "perm"))) != _HEADS_FIRST:
        return None
    reshaped = view.only_user(turned.output[0], "Reshape")
    return None if reshaped is None else reshaped.output[0]


def _write_attention(
    graph: onnx.GraphProto, view: GraphView, found: _Attention, number: int, masks: dict[str, str]
) -> None:
    """Put one operator in the place of the nodes that make `found.output`."""
    prefix = f"attention_{number}"
    parts = (found.queries, found.keys, found.values)
    weight = np.concatenate([part.weight for part in parts], axis=1)
    bias = np.concatenate([part.bias for part in parts])
    graph.initializer.extend([_constant(f"{prefix}.weight", weight), _constant(f"{prefix}.bias", bias)])
    if found.mask not in masks:
        masks[found.mask] = f"{found.mask}.int32"
        graph.node.append(
            helper.make_node("Cast", [found.mask], [masks[found.mask]], "mask_to_int32", to=TensorProto.INT32)
        )
    maker = view.maker(found.output)
    assert maker is not None
    graph.node.remove(maker)
    inputs = [found.queries.input, f"{prefix}.weight", f"{prefix}.bias", masks[found.mask]]
    node = helper.make_node(
        "Attention", inputs, [found.output], prefix, domain=CONTRIB, num_heads=found.heads, scale=found.scale
    )
    graph.node.append(node)


# --- residuals with their normalisation -------------------------------------------------------------------------------


def _fuse_normalisations(graph: onnx.GraphProto) -> int:
    view = GraphView(graph)
    fused = 0
    for node in list(graph.node):
        if node.op_type == "LayerNormalization" and _fuse_normalisation(graph, view, node):
            fused += 1
    return fused


def _fuse_normalisation(graph: onnx.GraphProto, view: GraphView, node: onnx.NodeProto) -> bool:
    added = view.maker(node.input[0], "Add")
    if added is None or len(view.users(added.output[0])) != 1 or not _same_shape(view, added):
        return False
    inputs = [added.input[0], added.input[1], node.input[1], node.input[2]]
    epsilon = attribute(node, "epsilon")
    skip = helper.make_node(
        "SkipLayerNormalization",
        inputs,
        [node.output[0]],
        f"{node.name}.skip",
        domain=CONTRIB,
        epsilon=1e-5 if epsilon is None else float(_number(epsilon)),
    )
    graph.node.remove(node)
    graph.node.append(skip)
    return True


def _same_shape(view: GraphView, added: onnx.NodeProto) -> bool:
    """Whether both sides are outputs of a layer; a sum that stretches one side is no residual."""
    makers = [view.maker(name, "Add", "LayerNormalization", "SkipLayerNormalization") for name in added.input]
    sides = [maker for maker in makers if maker is not None]
    return len(sides) == 2 and any(_linear(view, name) is not None for name in added.input)


def _constant(name: str, values: npt.NDArray[Any]) -> TensorProto:
    return numpy_helper.from_array(np.ascontiguousarray(values), name)


def _whole(value: object) -> list[int]:
    return [int(item) for item in cast("Sequence[int]", value)] if isinstance(value, list | tuple) else []


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
