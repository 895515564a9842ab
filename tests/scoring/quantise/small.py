"""A reward model that is small enough to be made in a test: two layers of 32, written as a plain exporter would."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from agon.core.scoring import Sample
from agon.engines.encoder.weights import VOCABULARY
from agon.scoring.reward.spec import GRAPH_FILE, SPEC_FILE, VOCABULARY_FILE, RewardSpec, spec_text

HIDDEN, HEADS, LAYERS, WORDS, PLACES, WIDE = 32, 4, 2, 30_522, 64, 128
Weights = npt.NDArray[np.float32]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._chance = np.random.default_rng(seed)

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        if name not in {tensor.name for tensor in self.constants}:
            self.constants.append(numpy_helper.from_array(np.array(value, dtype, order="C"), name))
        return name

    def drawn(self, name: str, *shape: int, scale: float = 0.2) -> str:
        return self.constant(name, self._chance.normal(scale=scale, size=shape))

    def node(self, kind: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def dense(self, source: str, name: str, rows: int, columns: int) -> str:
        product = self.node("MatMul", [source, self.drawn(f"{name}.w", rows, columns)], f"{name}.product")
        return self.node("Add", [product, self.drawn(f"{name}.b", columns)], f"{name}.out")

    def normalised(self, source: str, name: str) -> str:
        # A few channels far larger than the others, as in encoders that were trained.
        gain = np.where(np.arange(HIDDEN) % 11 == 0, 6.0, 1.0)
        inputs = [source, self.constant(f"{name}.gain", gain), self.drawn(f"{name}.shift", HIDDEN)]
        return self.node("LayerNormalization", inputs, f"{name}.out", axis=-1, epsilon=1e-12)


def small_graph(seed: int = 0) -> onnx.ModelProto:
    writer = _Writer(seed)
    mask = writer.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    absent = writer.node("Sub", [writer.constant("one", 1.0), mask], "absent")
    bias = writer.node("Mul", [absent, writer.constant("masked", -1e4)], "bias")
    bias = writer.node("Unsqueeze", [bias, writer.constant("axes", [1, 2], np.int64)], "attention_bias")
    words = writer.node("Gather", [writer.drawn("words.table", WORDS, HIDDEN, scale=1.0), "input_ids"], "words")
    types = writer.node("Gather", [writer.drawn("types.table", 2, HIDDEN), "token_type_ids"], "types")
    hidden = writer.normalised(writer.node("Add", [words, types], "embedded"), "embedding")
    for layer in range(LAYERS):
        hidden = _layer(writer, hidden, bias, f"layer{layer}")
    column = writer.node("Unsqueeze", [mask, writer.constant("last", [2], np.int64)], "column")
    total = writer.node("ReduceSum", [writer.node("Mul", [hidden, column], "kept"), "one_axis"], "total", keepdims=0)
    writer.constant("one_axis", [1], np.int64)
    count = writer.node("ReduceSum", [column, "one_axis"], "count", keepdims=0)
    mean = writer.node("Div", [total, count], "mean")
    scored = writer.node("MatMul", [mean, writer.drawn("head", HIDDEN, 1, scale=0.5)], "head.product")
    writer.node("Reshape", [scored, writer.constant("flat", [-1], np.int64)], "score")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["batch"])
    graph = helper.make_graph(writer.nodes, "small", inputs, [score], writer.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _layer(writer: _Writer, hidden: str, bias: str, name: str) -> str:
    shape = writer.constant("apart", [0, 0, HEADS, HIDDEN // HEADS], np.int64)
    heads: dict[str, str] = {}
    for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        whole = writer.dense(hidden, f"{name}.{part}", HIDDEN, HIDDEN)
        apart = writer.node("Reshape", [whole, shape], f"{name}.{part}.apart")
        heads[part] = writer.node("Transpose", [apart], f"{name}.{part}.heads", perm=order)
    logits = writer.node("MatMul", [heads["q"], heads["k"]], f"{name}.logits")
    scaled = writer.node("Div", [logits, writer.constant("root", (HIDDEN // HEADS) ** 0.5)], f"{name}.scaled")
    biased = writer.node("Add", [scaled, bias], f"{name}.biased")
    share = writer.node("Softmax", [biased], f"{name}.shares", axis=-1)
    mixed = writer.node("MatMul", [share, heads["v"]], f"{name}.mixed")
    joined = writer.node("Transpose", [mixed], f"{name}.joined", perm=[0, 2, 1, 3])
    context = writer.node("Reshape", [joined, writer.constant("together", [0, 0, HIDDEN], np.int64)], f"{name}.context")
    attended = writer.dense(context, f"{name}.attended", HIDDEN, HIDDEN)
    middle = writer.normalised(writer.node("Add", [attended, hidden], f"{name}.first"), f"{name}.norm1")
    wide = writer.node("Gelu", [writer.dense(middle, f"{name}.up", HIDDEN, WIDE)], f"{name}.gelu")
    narrow = writer.dense(wide, f"{name}.down", WIDE, HIDDEN)
    return writer.normalised(writer.node("Add", [narrow, middle], f"{name}.second"), f"{name}.norm2")


def small_spec(training: Mapping[str, Any] | None = None) -> RewardSpec:
    return RewardSpec(
        revision="small",
        max_tokens=PLACES,
        prompt_tokens=PLACES // 2,
        features=(),
        temperature=1.0,
        encoder="",
        seed=0,
        training=training or {},
    )


def small_model(folder: Path, seed: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GRAPH_FILE).write_bytes(small_graph(seed).SerializeToString(deterministic=True))
    (folder / SPEC_FILE).write_text(spec_text(small_spec()), encoding="utf-8")
    shutil.copyfile(VOCABULARY, folder / VOCABULARY_FILE)
    return folder


def some_samples(count: int, seed: int = 0) -> list[Sample]:
    """Texts of very different lengths."""
    chance = np.random.default_rng(seed)
    words = ("arena", "model", "answer", "why", "because", "seven", "paris", "code", "tea", "rain", "the", "of", "is")
    lengths: list[int] = np.clip(chance.gamma(1.5, 12, count), 1, 80).astype(int).tolist()
    return [
        Sample(f"question {place}", " ".join(chance.choice(words, length).tolist()))
        for place, length in enumerate(lengths)
    ]
