"""Which sequences share a run. PURE.

Padding is work for nothing, so sequences of similar length go together, and long ones alone. An engine that measures
its activations run by run must not mix samples at all, or a score would depend on who came along.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batching:
    run_tokens: int = 256
    """Tokens of a run, padding included; a sequence that is longer has a run of its own."""
    run_samples: int = 16
    step: int = 8
    """Widths of runs of several sequences are multiples of this, so that few shapes are in use."""

    @property
    def mixes(self) -> bool:
        return self.run_samples > 1


ALONE = Batching(run_samples=1)
"""Each sequence by itself, without any padding."""


@dataclass(frozen=True, slots=True)
class Run:
    places: Sequence[int]
    """Of the sequences, among those that were planned."""
    width: int


def plan(lengths: Sequence[int], batching: Batching) -> list[Run]:
    """Return the runs for sequences of these lengths, the longest first: whoever shares them out ends evenly."""
    runs: list[Run] = []
    group: list[int] = []
    width = 0
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if group and not _fits(len(group) + 1, width, batching):
            runs.append(_run(group, lengths, width))
            group = []
        if not group:
            width = _rounded(lengths[place], batching.step)
        group.append(place)
    if group:
        runs.append(_run(group, lengths, width))
    return runs


def padded(runs: Sequence[Run], lengths: Sequence[int]) -> float:
    """Return the share of all tokens that are padding."""
    paid = sum(len(run.places) * run.width for run in runs)
    return 1 - sum(lengths) / paid if paid else 0.0


def _fits(samples: int, width: int, batching: Batching) -> bool:
    return samples <= batching.run_samples and samples * width <= batching.run_tokens


def _run(group: list[int], lengths: Sequence[int], width: int) -> Run:
    return Run(tuple(group), lengths[group[0]] if len(group) == 1 else width)


def _rounded(length: int, step: int) -> int:
    return -(-length // step) * step
