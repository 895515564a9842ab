"""Passes through a graph for its inner vectors, from which heads are trained."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import onnx
from numpy.typing import NDArray

from agon.engines.encoder.graph import ANSWER, PAIR
from agon.engines.encoder.providers import FOREIGN, Placement, open_session, translated
from agon.scoring.reward.encoding import Encoded, pad

_TOKENS_AT_ONCE: Final = 4096


def vectors_of(
    graph: onnx.ModelProto, sequences: Sequence[Encoded], *, threads: int, watch: Callable[[int], None]
) -> Mapping[str, NDArray[np.float32]]:
    """Return `ANSWER` and `PAIR` of each sequence, by a graph without features that has them as outputs.

    `watch` is told how many are done since it was last told. Raises `Unavailable` where the runtime fails.
    """
    session = open_session(graph.SerializeToString(), Placement(threads=threads))
    order = sorted(range(len(sequences)), key=lambda place: len(sequences[place].ids))
    found: dict[str, NDArray[np.float32]] = {}
    for places in _runs(order, [len(each.ids) for each in sequences]):
        batch = pad([sequences[place] for place in places], np.zeros((len(places), 0), np.float32))
        try:
            results = session.run(batch.feed(), [ANSWER, PAIR])
        except FOREIGN as error:
            raise translated(error) from None
        for name, rows in zip((ANSWER, PAIR), results, strict=True):
            found.setdefault(name, np.zeros((len(order), rows.shape[1]), np.float32))[places] = rows
        watch(len(places))
    return found


def _runs(order: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Neighbours in order of length, as many as fit into a run."""
    runs: list[list[int]] = []
    for place in order:
        if not runs or (len(runs[-1]) + 1) * lengths[place] > _TOKENS_AT_ONCE:
            runs.append([])
        runs[-1].append(place)
    return runs
