"""Looking about in an ONNX graph: who makes a value, who uses it, and what is a constant."""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import onnx
from onnx import numpy_helper

Array = npt.NDArray[Any]


class GraphView:
    """A graph with its edges looked up once. Of no use after the graph has changed."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self._makers = {name: node for node in graph.node for name in node.output}
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._users: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self._users.setdefault(name, []).append(node)

    def maker(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """Return the node that makes a value, if it is one of these operators (or any, where none is named)."""
        node = self._makers.get(name)
        return node if node is not None and (not ops or node.op_type in ops) else None

    def users(self, name: str) -> Sequence[onnx.NodeProto]:
        return self._users.get(name, ())

    def only_user(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """Return the single node that uses a value, if it is one of these operators."""
        users = self.users(name)
        return users[0] if len(users) == 1 and users[0].op_type in ops else None

    def constant(self, name: str) -> Array | None:
        tensor = self._constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def split(self, node: onnx.NodeProto) -> tuple[str, Array] | None:
        """For a node with one constant of its two inputs: the other input, and the constant."""
        for value, constant in ((node.input[0], node.input[1]), (node.input[1], node.input[0])):
            found = self.constant(constant)
            if found is not None and self.constant(value) is None:
                return value, found
        return None

    def sources(self, name: str) -> set[str]:
        """Return the graph inputs that a value is computed from."""
        found: set[str] = set()
        inputs = {value.name for value in self.graph.input}
        waiting, seen = [name], {name}
        while waiting:
            current = waiting.pop()
            if current in inputs:
                found.add(current)
            node = self._makers.get(current)
            for parent in node.input if node is not None else ():
                if parent and parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return found


def attribute(node: onnx.NodeProto, name: str) -> Sequence[int] | int | float | None:
    """Return a number or a list of whole numbers that a node carries."""
    for item in node.attribute:
        if item.name == name:
            value: Sequence[int] | int | float = onnx.helper.get_attribute_value(item)
            return value
    return None


def prune(graph: onnx.GraphProto) -> None:
    """Drop nodes and constants that no output needs, and put what is left in order."""
    makers = {name: node for node in graph.node for name in node.output}
    ordered: list[onnx.NodeProto] = []
    done: set[str] = set()
    waiting = [(output.name, False) for output in graph.output]
    while waiting:
        name, ready = waiting.pop()
        node = makers.get(name)
        if node is None or node.output[0] in done:
            continue
        if ready:
            done.add(node.output[0])
            ordered.append(node)
            continue
        waiting.append((name, True))
        waiting.extend((parent, False) for parent in node.input if parent)
    used = {name for node in ordered for name in node.input} | {output.name for output in graph.output}
    constants = [tensor for tensor in graph.initializer if tensor.name in used]
    _replace(graph, ordered, constants)


def _replace(graph: onnx.GraphProto, nodes: list[onnx.NodeProto], constants: list[onnx.TensorProto]) -> None:
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.initializer[:]
    graph.initializer.extend(constants)
