"""Calibration: representative texts, what the encoder's tensors hold on them, and the file that is kept in."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from agon.core.scoring import Sample
from agon.engines.encoder.files import replace_text
from agon.engines.encoder.nodes import GraphView
from agon.engines.encoder.providers import FOREIGN, Placement, open_session, translated
from agon.scoring.reward.encoding import Tokeniser, encode_each, feature_rows, pad
from agon.scoring.reward.spec import RewardSpec

CALIBRATION_FILE: Final = "calibration.json"
SAMPLES: Final = 300
_FORMAT: Final = 1
_STRATA: Final = 10
_DIGITS: Final = 9
"""As many as make a 32-bit number come back the same: engines of a kept calibration are those of a new one."""

Row = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Range:
    """What one tensor holds."""

    low: float
    high: float
    channels: Row
    """Largest absolute value of each channel."""


@dataclass(frozen=True, slots=True)
class Calibration:
    digest: str
    """Of the model and the samples; another digest, another calibration."""
    samples: int
    ranges: Mapping[str, Range]
    """By the name of the tensor that a constant matrix is multiplied with."""


def draw(samples: Sequence[Sample], lengths: Sequence[int], count: int, seed: int) -> list[Sample]:
    """Draw samples that stand for all: the same share of each stratum of length, in an order given by the seed."""
    if len(samples) <= count:
        return list(samples)
    chance = np.random.default_rng(seed)
    ordered = sorted(range(len(samples)), key=lambda place: (lengths[place], place))
    drawn: list[int] = []
    for part, stratum in enumerate(np.array_split(np.array(ordered), _STRATA)):
        size = count * (part + 1) // _STRATA - count * part // _STRATA
        drawn.extend(int(place) for place in chance.choice(stratum, size=min(size, len(stratum)), replace=False))
    return [samples[place] for place in drawn]


def calibration_digest(model: str, samples: Sequence[Sample]) -> str:
    """Return the digest of a model, by its file's digest, and of the samples it is calibrated on."""
    digest = hashlib.sha256(f"{_FORMAT} {model}".encode())
    for sample in samples:
        digest.update(hashlib.sha256(json.dumps([sample.prompt, sample.answer]).encode()).digest())
    return digest.hexdigest()


def matrices(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """The multiplications by a constant matrix that are worth reducing: those of the layers, not the head's."""
    view = GraphView(graph)
    found: list[onnx.NodeProto] = []
    for node in graph.node:
        weight = view.constant(node.input[1]) if node.op_type in {"MatMul", "Attention"} else None
        if weight is not None and weight.ndim == 2 and min(weight.shape) > 1:
            found.append(node)
    return found


def measure(
    model: onnx.ModelProto, spec: RewardSpec, tokens: Tokeniser, samples: Sequence[Sample], digest: str
) -> Calibration:
    """Run the full model over the samples and note the ranges of what its matrices are multiplied with."""
    names = list(dict.fromkeys(node.input[0] for node in matrices(model.graph)))
    session = open_session(_with_outputs(model, names).SerializeToString(), Placement())
    lows = dict.fromkeys(names, 0.0)
    highs = dict.fromkeys(names, 0.0)
    channels: dict[str, Row] = {}
    rows = feature_rows(spec, samples)
    try:
        for place, sequence in enumerate(encode_each(spec, tokens, samples)):
            feed = pad([sequence], rows[place : place + 1]).feed()
            outputs = session.run(feed, [*map(_low, names), *map(_high, names)])
            for name, low, high in zip(names, outputs[: len(names)], outputs[len(names) :], strict=True):
                lows[name], highs[name] = min(lows[name], float(low.min())), max(highs[name], float(high.max()))
                widest = np.maximum(np.abs(low), np.abs(high))
                channels[name] = np.maximum(channels[name], widest) if name in channels else widest
    except FOREIGN as error:
        raise translated(error) from None
    ranges = {name: Range(lows[name], highs[name], channels[name]) for name in names}
    return Calibration(digest, len(samples), ranges)


def load(folder: Path, digest: str) -> Calibration | None:
    """Return the calibration that is kept beside a model, if it is the one of this digest and whole."""
    try:
        data = json.loads((folder / CALIBRATION_FILE).read_text("utf-8"))
        if data["format"] != _FORMAT or data["digest"] != digest:
            return None
        ranges = {
            name: Range(float(each["low"]), float(each["high"]), np.array(each["channels"], np.float32))
            for name, each in data["ranges"].items()
        }
        return Calibration(digest, int(data["samples"]), ranges)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def save(folder: Path, calibration: Calibration) -> None:
    """Keep a calibration beside its model. Raises `Unavailable` where it cannot be written."""
    ranges = {
        name: {
            "low": each.low,
            "high": each.high,
            "channels": [float(f"{value:.{_DIGITS}g}") for value in each.channels.tolist()],
        }
        for name, each in calibration.ranges.items()
    }
    head = {"format": _FORMAT, "digest": calibration.digest, "samples": calibration.samples}
    replace_text(folder / CALIBRATION_FILE, json.dumps({**head, "ranges": ranges}) + "\n")


def _with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """A copy that also puts out the lowest and the highest value of each channel of some tensors."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.initializer.append(numpy_helper.from_array(np.array([0, 1], np.int64), "calibration.axes"))
    for name in names:
        for kind, output in (("ReduceMin", _low(name)), ("ReduceMax", _high(name))):
            copy.graph.node.append(helper.make_node(kind, [name, "calibration.axes"], [output], keepdims=0))
            copy.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
    return copy


def _low(name: str) -> str:
    return f"{name}.lowest"


def _high(name: str) -> str:
    return f"{name}.highest"
