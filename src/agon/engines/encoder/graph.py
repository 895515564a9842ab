"""The encoder and a head as one ONNX graph, written node by node.

One pass takes prompt and answer together. Each part's tokens are averaged by themselves, and the head reads the
answer's average, its product with the prompt's, and features of the texts.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from agon.engines.encoder.weights import Tensors
from agon.scoring.reward.head import HIDDEN, Head

OPSET: Final = 20
_IR_VERSION: Final = 10
HEADS: Final = 12
LAYERS: Final = 6
_EPSILON: Final = 1e-12
_MASKED: Final = -1e4
"""Added to the attention to padding: below any real logit, and still a number in half precision."""


class _Writer:
    """Collects nodes and constants under names that tell where they belong."""

    def __init__(self, tensors: Tensors) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._tensors = tensors

    def node(self, kind: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value, dtype=dtype), name))
        return name

    def shape(self, *sizes: int) -> str:
        return self.constant("shape_" + "_".join(map(str, sizes)).replace("-", "m"), sizes, np.int64)

    def weight(self, name: str, *, turned: bool = False) -> str:
        tensor = self._tensors[name]
        return self.constant(name, tensor.T if turned else tensor)

    def dense(self, source: str, weights: str) -> str:
        product = self.node("MatMul", [source, self.weight(f"{weights}.weight", turned=True)], f"{weights}.product")
        return self.node("Add", [product, self.weight(f"{weights}.bias")], f"{weights}.out")

    def normalised(self, source: str, weights: str) -> str:
        inputs = [source, self.weight(f"{weights}.weight"), self.weight(f"{weights}.bias")]
        return self.node("LayerNormalization", inputs, f"{weights}.out", axis=-1, epsilon=_EPSILON)


ANSWER: Final = "answer"
PAIR: Final = "pair"


def with_vectors(graph: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with two more outputs, from which heads are trained: the `answer`, and its `pair` product."""
    wider = onnx.ModelProto()
    wider.CopyFrom(graph)
    wider.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", HIDDEN]) for name in (ANSWER, PAIR)
    )
    return wider


def reward_graph(tensors: Tensors, head: Head) -> onnx.ModelProto:
    """Return the model: tokens (and features, where the head has any) in, `score` out."""
    writer = _Writer(tensors)
    bias = _attention_bias(writer)
    hidden = _embeddings(writer)
    for layer in range(LAYERS):
        hidden = _layer(writer, hidden, bias, f"encoder.layer.{layer}")
    _head(writer, hidden, head)
    batch, tokens = "batch", "tokens"
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [batch, tokens])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    if head.scales:
        inputs.append(helper.make_tensor_value_info("features", TensorProto.FLOAT, [batch, len(head.scales)]))
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, [batch])
    graph = helper.make_graph(writer.nodes, "reward", inputs, [score], list(writer.constants.values()))
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION, producer_name="agon"
    )


def check_graph(graph: onnx.ModelProto) -> None:
    """Raise if the graph breaks a rule of ONNX, which would be a mistake of ours."""
    checker: Any = onnx.checker
    checker.check_model(graph)


def _attention_bias(writer: _Writer) -> str:
    mask = writer.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    absent = writer.node("Sub", [writer.constant("one", 1.0), mask], "absent")
    bias = writer.node("Mul", [absent, writer.constant("masked", _MASKED)], "bias")
    return writer.node("Unsqueeze", [bias, writer.constant("bias_axes", [1, 2], np.int64)], "attention_bias")


def _embeddings(writer: _Writer) -> str:
    width = writer.node("Shape", ["input_ids"], "width", start=1, end=2)
    positions = writer.weight("embeddings.position_embeddings.weight")
    zero, rows = writer.constant("zero", [0], np.int64), writer.constant("rows", [0], np.int64)
    places = writer.node("Slice", [positions, zero, width, rows], "places")
    words = writer.node("Gather", [writer.weight("embeddings.word_embeddings.weight"), "input_ids"], "words")
    types = writer.node("Gather", [writer.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"], "types")
    summed = writer.node("Add", [writer.node("Add", [words, types], "typed"), places], "embedded")
    return writer.normalised(summed, "embeddings.LayerNorm")


def _layer(writer: _Writer, hidden: str, bias: str, name: str) -> str:
    context = _attention(writer, hidden, bias, f"{name}.attention")
    attended = writer.dense(context, f"{name}.attention.output.dense")
    residual = writer.node("Add", [attended, hidden], f"{name}.attention.residual")
    middle = writer.normalised(residual, f"{name}.attention.output.LayerNorm")
    wide = writer.node("Gelu", [writer.dense(middle, f"{name}.intermediate.dense")], f"{name}.gelu")
    narrow = writer.dense(wide, f"{name}.output.dense")
    return writer.normalised(writer.node("Add", [narrow, middle], f"{name}.residual"), f"{name}.output.LayerNorm")


def _attention(writer: _Writer, hidden: str, bias: str, name: str) -> str:
    size = HIDDEN // HEADS
    split = writer.shape(0, 0, HEADS, size)

    def heads(part: str, order: list[int]) -> str:
        whole = writer.dense(hidden, f"{name}.self.{part}")
        apart = writer.node("Reshape", [whole, split], f"{name}.{part}.apart")
        return writer.node("Transpose", [apart], f"{name}.{part}.heads", perm=order)

    query, key, value = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]), heads("value", [0, 2, 1, 3])
    logits = writer.node("MatMul", [query, key], f"{name}.logits")
    scaled = writer.node("Div", [logits, writer.constant("root", size**0.5)], f"{name}.scaled")
    shares = writer.node("Softmax", [writer.node("Add", [scaled, bias], f"{name}.biased")], f"{name}.shares", axis=-1)
    mixed = writer.node("MatMul", [shares, value], f"{name}.mixed")
    joined = writer.node("Transpose", [mixed], f"{name}.joined", perm=[0, 2, 1, 3])
    return writer.node("Reshape", [joined, writer.shape(0, 0, HIDDEN)], f"{name}.context")


def _averages(writer: _Writer, hidden: str) -> tuple[str, str]:
    """Unit vectors in the directions of the mean token of the prompt's and of the answer's part."""
    answer = writer.node("Cast", ["token_type_ids"], "typed_float", to=TensorProto.FLOAT)
    in_answer = writer.node("Mul", [answer, "mask"], "in_answer")
    in_prompt = writer.node("Sub", ["mask", in_answer], "in_prompt")

    def average(part: str, name: str) -> str:
        weights = writer.node("Unsqueeze", [part, writer.constant("axis_1", [1], np.int64)], f"{name}.weights")
        total = writer.node("MatMul", [weights, hidden], f"{name}.total")
        flat = writer.node("Reshape", [total, writer.shape(-1, HIDDEN)], f"{name}.flat")
        return writer.node("LpNormalization", [flat], name, axis=-1, p=2)

    return average(in_prompt, "prompt"), average(in_answer, ANSWER)


def _head(writer: _Writer, hidden: str, head: Head) -> None:
    prompt, answer = _averages(writer, hidden)
    product = writer.node("Mul", [prompt, answer], PAIR)
    weights = [head.answer_weights, head.product_weights, head.feature_weights]
    parts = [answer, product, *(["features"] if head.scales else [])]
    joined = writer.node("Concat", parts, "head.input", axis=1)
    column = writer.constant("head.weight", np.concatenate(weights)[:, None])
    weighed = writer.node("MatMul", [joined, column], "head.product")
    biased = writer.node("Add", [weighed, writer.constant("head.bias", head.bias)], "head.out")
    writer.node("Reshape", [biased, writer.shape(-1)], "score")
