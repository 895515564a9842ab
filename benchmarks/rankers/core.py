"""The ranking core on codes in memory, timed in a process of its own; `python -m benchmarks.rankers.core TASK FILE`."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from agon.ranking import (
    PairCounts,
    RawStyle,
    bootstrap_battles,
    elo_in_order,
    fit_bradley_terry,
    fit_style,
    style_differences,
)
from agon.ranking.style import FEATURES

ROUNDS = 1000
Codes = Mapping[str, NDArray[np.integer]]
Ratings = Sequence[float]


def board(codes: Codes) -> Ratings:
    """Ratings with robust standard errors."""
    return fit_bradley_terry(_counts(codes)).ratings.tolist()


def bootstrap(codes: Codes) -> Ratings:
    counts = _counts(codes)
    (group,) = fit_bradley_terry(counts).groups
    found = bootstrap_battles(counts, group, rng=np.random.default_rng(0), rounds=ROUNDS)
    return found.samples.mean(axis=0).tolist()


def elo(codes: Codes) -> Ratings:
    models = _models(codes)
    ratings = elo_in_order(models, codes["first"], codes["second"], codes["winners"])
    return [ratings[model] for model in models]


def style(codes: Codes) -> Ratings:
    """From counts of both answers to ratings with robust standard errors."""
    differences = style_differences(RawStyle(FEATURES, codes["style_a"], codes["style_b"]))
    return fit_style(_models(codes), codes["first"], codes["second"], codes["winners"], differences).ratings.tolist()


def memory_pass(codes: Codes) -> Ratings:
    """The same columns read once and no more, which nothing that looks at every battle can be faster than."""
    for name in ("first", "second", "winners"):
        column = codes[name]
        words = column[: len(column) // 8 * 8].view(np.uint64)
        np.bitwise_xor.reduce(words)
    return []


def _models(codes: Codes) -> tuple[str, ...]:
    return tuple(str(place) for place in range(int(max(codes["first"].max(), codes["second"].max())) + 1))


def _counts(codes: Codes) -> PairCounts:
    return PairCounts.from_codes(_models(codes), codes["first"], codes["second"], codes["winners"])


TASKS: Mapping[str, tuple[Callable[[Codes], Ratings], int]] = {
    "board": (board, 5),
    "bootstrap": (bootstrap, 1),
    "elo": (elo, 3),
    "style": (style, 1),
    "memory_pass": (memory_pass, 9),
}
"""What is timed, and how often at least, of which the fastest counts: as for the peers, whose first call compiles."""


def main(task: str, path: str) -> None:
    with np.load(path) as file:
        codes = {name: file[name] for name in file.files}
    function, times = TASKS[task]
    fastest, ratings = float("inf"), []
    for _ in range(times):
        start = time.perf_counter()
        ratings = function(codes)
        fastest = min(fastest, time.perf_counter() - start)
    sys.stdout.write(json.dumps({"seconds": fastest, "ratings": ratings}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
