"""Input arrays that are allocated once for each thread and used for every run."""

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agon.scoring.reward.encoding import Encoded

Feed = dict[str, npt.NDArray[np.int64] | npt.NDArray[np.float32]]


class Buffers:
    """Room for the largest run. Runs are views of its beginning, in their own shape: nothing is copied or allocated."""

    def __init__(self, tokens: int, samples: int, features: int) -> None:
        self._tokens = tokens
        self._samples = samples
        self._features = features
        self._mine = threading.local()

    def fill(self, sequences: Sequence[Encoded], rows: Sequence[npt.NDArray[np.float32]], width: int) -> Feed:
        """Return the inputs of a run, padded to a width. They hold until this thread's next run."""
        samples = len(sequences)
        size = samples * width
        whole = self._room(size)
        ids, mask, types = (part[:size].reshape(samples, width) for part in whole[:3])
        for row, each in enumerate(sequences):
            length = len(each.ids)
            ids[row, :length], ids[row, length:] = each.ids, 0
            mask[row, :length], mask[row, length:] = 1, 0
            types[row, :length], types[row, length:] = each.types, 0
        feed: Feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        if self._features:
            features = self._feature_room(samples)
            for row, values in enumerate(rows):
                features[row] = values
            feed["features"] = features
        return feed

    def _room(self, size: int) -> tuple[npt.NDArray[np.int64], ...]:
        room: tuple[npt.NDArray[np.int64], ...] | None = getattr(self._mine, "tokens", None)
        if room is None or len(room[0]) < size:
            room = tuple(np.zeros(max(size, self._tokens), np.int64) for _ in range(3))
            self._mine.tokens = room
        return room

    def _feature_room(self, samples: int) -> npt.NDArray[np.float32]:
        room: npt.NDArray[np.float32] | None = getattr(self._mine, "features", None)
        if room is None or len(room) < samples:
            room = np.zeros((max(samples, self._samples), self._features), np.float32)
            self._mine.features = room
        return room[:samples]
