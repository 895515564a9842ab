"""Battles out of a known Bradley-Terry model, as a log in Parquet and as codes; `python -m benchmarks.rankers.data`."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
FEATURES = ("tokens", "headers", "lists", "bold")
_DRAWN, _TIED = 0.35, 0.17
"""Shares of battles that nobody wins, and of ties among all."""
_WEIGHTS = (0.5, 0.1, 0.1, 0.1)
"""What style is worth, in log-odds for a full unit of difference."""


@dataclass(frozen=True, slots=True)
class Battles:
    first: NDArray[np.int16]
    second: NDArray[np.int16]
    winners: NDArray[np.int8]
    style_a: NDArray[np.int32] | None
    style_b: NDArray[np.int32] | None


def drawn(models: int, rows: int, *, style: bool) -> Battles:
    """Some models battle far more often than others, as on a real board. The same arguments give the same battles."""
    rng = np.random.default_rng(models)
    strengths = rng.normal(0.0, 0.7, models)
    often = rng.gamma(2.0, 1.0, models)
    first, second = (rng.choice(models, rows, p=often / often.sum()).astype(np.int16) for _ in range(2))
    same = np.flatnonzero(first == second)
    second[same] = (first[same] + rng.integers(1, models, len(same))) % models
    ahead = strengths[first] - strengths[second]
    sides = (None, None)
    if style:
        sides = tuple(rng.geometric((0.003, 0.3, 0.1, 0.2), (rows, 4)).astype(np.int32) for _ in range(2))
        ahead += ((sides[0] - sides[1]) / (sides[0] + sides[1])) @ np.array(_WEIGHTS)
    chance = rng.random(rows)
    won = np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-ahead)), 0, 1)
    winners = np.where(chance < _TIED, 2, np.where(chance < _DRAWN, 3, won)).astype(np.int8)
    return Battles(first, second, winners, *sides)


def log_of(battles: Battles, models: int) -> pa.Table:
    names = pa.array([f"model-{place:03d}-chat" for place in range(models)])
    rng = np.random.default_rng(0)
    columns = {
        "model_a": _texts(battles.first, names),
        "model_b": _texts(battles.second, names),
        "winner": _texts(battles.winners, pa.array(WINNERS)),
        "tstamp": np.sort(1.68e9 + 1e8 * rng.random(len(battles.first))),
    }
    for place, feature in enumerate(FEATURES):
        for side, counts in (("a", battles.style_a), ("b", battles.style_b)):
            if counts is not None:
                columns[f"{feature}_{side}"] = counts[:, place]
    return pa.table(columns)


def _texts(codes: NDArray[np.integer], words: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), words).cast(pa.string())


def write(models: int, rows: int, path: Path, *, style: bool) -> None:
    """Writes the log, and beside it a file of its codes."""
    battles = drawn(models, rows, style=style)
    pq.write_table(log_of(battles, models), path)
    columns = {"first": battles.first, "second": battles.second, "winners": battles.winners}
    if battles.style_a is not None and battles.style_b is not None:
        columns |= {"style_a": battles.style_a, "style_b": battles.style_b}
    np.savez(path.with_suffix(".npz"), **columns)


if __name__ == "__main__":
    write(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), style=sys.argv[4] == "style")
