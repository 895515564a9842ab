from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.battlelogs.logs import read

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
FEATURES = ("tokens", "headers", "lists", "bold")


def columns(kind: Any) -> dict[str, object]:
    counts = {"a": [3, 1], "b": [0, 1]}
    texts = {side: [str(count) if kind == pa.string() else count for count in row] for side, row in counts.items()}
    style = {f"{name}_{side}": pa.array(row, type=kind) for name in FEATURES for side, row in texts.items()}
    return {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["a", "b"], **style}


@pytest.mark.parametrize("kind", [pa.int64(), pa.int16(), pa.float64(), pa.string()], ids=str)
def test_counts_of_style_may_be_of_any_kind(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(columns(kind)), path)
    battles = read(path, style=True).cleaned.battles
    assert battles is not None
    assert battles.style is not None
    assert battles.style.tolist() == [[1.0] * 4, [0.0] * 4]


def test_a_count_that_is_not_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({**columns(pa.int64()), "bold_a": pa.array([None, 1], type=pa.int64())}), path)
    battles = read(path, style=True).cleaned.battles
    assert battles is not None
    assert battles.style is not None
    assert np.isnan(battles.style).tolist() == [[False, False, False, True], [False] * 4]
