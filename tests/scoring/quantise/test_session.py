"""The runtime: right scores from any thread, whatever else is in the batch, and one load for all."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tests.scoring.quantise.small import small_model, some_samples

from agon.core.errors import NotFound, Unavailable
from agon.core.scoring import Poison, Sample, Score
from agon.engines.encoder.batches import ALONE, Batching
from agon.engines.encoder.making import Made
from agon.engines.encoder.providers import Placement, open_session
from agon.engines.encoder.session import Engines, ScoreEngine, load
from agon.engines.encoder.tokeniser import WordPieces
from agon.scoring.drift import Precision
from agon.scoring.reward.encoding import encode
from agon.scoring.reward.spec import load_spec

BOTH = pytest.mark.parametrize("precision", list(Precision))


@pytest.fixture
def folder(made: tuple[Path, Made]) -> Path:
    return made[0]


def expected(folder: Path, samples: Sequence[Sample]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    """One padded batch on the exported graph."""
    spec, tokens = load_spec(folder), WordPieces(folder / "vocab.txt")
    session = open_session(folder / "model.onnx", Placement())
    return session.run(encode(spec, tokens, samples).feed(), ["score"])[0]


def test_the_full_engine_scores_as_the_exported_graph(folder: Path) -> None:
    samples = some_samples(50)
    engine = load(folder, Precision.FP32)
    assert engine.scores(samples) == pytest.approx(expected(folder, samples), abs=1e-4)
    engine.close()


def test_the_reduced_engine_is_close(folder: Path) -> None:
    samples = some_samples(50, seed=3)
    engine = load(folder, Precision.INT8)
    full, found = expected(folder, samples), engine.scores(samples)
    assert 0 < np.abs(full - found).mean() < 0.1 * full.std()
    engine.close()


@BOTH
def test_a_score_does_not_depend_on_who_comes_along(folder: Path, precision: Precision) -> None:
    samples = some_samples(40)
    engine = load(folder, precision)
    together = engine.scores(samples)
    alone = np.array([engine.scores([sample])[0] for sample in samples])
    turned = engine.scores(samples[::-1])[::-1]
    if precision is Precision.INT8:
        assert np.array_equal(together, alone)
        assert np.array_equal(together, turned)
    else:
        assert together == pytest.approx(alone, abs=1e-5)
        assert together == pytest.approx(turned, abs=1e-5)
    engine.close()


@BOTH
def test_many_threads_share_an_engine(folder: Path, precision: Precision) -> None:
    samples = some_samples(60)
    engine = load(folder, precision)
    alone = engine.scores(samples, batching=ALONE)
    parts = [range(start, 60, 7) for start in range(7)] * 3
    with ThreadPoolExecutor(7) as pool:
        jobs = [pool.submit(engine.scores, [samples[n] for n in part], batching=ALONE) for part in parts]
        found = [job.result() for job in jobs]
    for part, scores in zip(parts, found, strict=True):
        assert scores == pytest.approx(alone[list(part)], abs=1e-5)
    engine.close()


def test_batches_of_any_shape_give_the_same_scores(folder: Path) -> None:
    samples = some_samples(40)
    engine = load(folder, Precision.FP32)
    alone = engine.scores(samples, batching=ALONE)
    for batching in (Batching(), Batching(4096, 40), Batching(100, 3, 1)):
        assert engine.scores(samples, batching=batching) == pytest.approx(alone, abs=1e-5)
    engine.close()


def test_no_samples_no_scores(folder: Path) -> None:
    engine = load(folder, Precision.FP32)
    assert engine.score([]) == []
    engine.close()


def test_a_sample_that_cannot_be_read_harms_no_other(folder: Path) -> None:
    engine = load(folder, Precision.INT8)
    good = some_samples(3)
    found = engine.score([good[0], Sample("lone \ud800 surrogate", "x"), good[1], Sample("", ""), good[2]])
    assert [type(each) for each in found] == [Score, Poison, Score, Score, Score]
    values = [each.value for each in found if isinstance(each, Score)]
    assert values[:2] == engine.scores(good[:2]).tolist()
    with pytest.raises(Unavailable) as raised:
        engine.scores([Sample("\ud800", "x")])
    assert raised.value.code == "encoder_unusable"
    engine.close()


def test_a_score_that_is_no_number_is_poison(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "model")
    model = onnx.ModelProto.FromString((folder / "model.onnx").read_bytes())
    for tensor in model.graph.initializer:
        if tensor.name == "head":
            tensor.CopyFrom(numpy_helper.from_array(np.full((32, 1), np.nan, np.float32), "head"))
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    engine = load(folder, Precision.FP32)
    assert isinstance(engine.score(some_samples(1))[0], Poison)
    with pytest.raises(Unavailable):
        engine.warm_up()
    assert not engine.ready
    engine.close()


def test_ready_means_loaded_and_warm(folder: Path) -> None:
    engine = load(folder, Precision.INT8)
    assert not engine.ready
    engine.warm_up()
    assert engine.ready
    engine.close()
    assert not engine.ready
    with pytest.raises(Unavailable) as raised:
        engine.score(some_samples(1))
    assert raised.value.code == "encoder_closed"


def test_revisions_tell_engines_apart(folder: Path, made: tuple[Path, Made]) -> None:
    full, reduced = load(folder, Precision.FP32), load(folder, Precision.INT8)
    assert str(full.name) == "small/fp32"
    assert str(reduced.name) == f"small/int8/{made[1].artefact.digest[:16]}"
    full.close()
    reduced.close()


def test_what_is_no_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        load(tmp_path, Precision.FP32)
    folder = small_model(tmp_path / "model")
    with pytest.raises(Unavailable) as raised:
        load(folder, Precision.INT8)
    assert raised.value.code == "int8_missing"
    (folder / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(Unavailable) as raised:
        load(folder, Precision.FP32)
    assert raised.value.code == "encoder_unusable"


class TestEngines:
    def test_one_load_for_all_threads(self, folder: Path) -> None:
        opened: list[Precision] = []
        going = threading.Event()

        def slowly(place: Path, precision: Precision) -> ScoreEngine:
            opened.append(precision)
            going.wait(2)
            return load(place, precision)

        engines = Engines(slowly)
        with ThreadPoolExecutor(6) as pool:
            waiting = [pool.submit(engines.get, folder, Precision.INT8) for _ in range(6)]
            going.set()
            found = [each.result(30) for each in waiting]
        assert opened == [Precision.INT8]
        assert all(engine is found[0] for engine in found)
        assert found[0].ready
        engines.close()
        assert not found[0].ready

    def test_a_failed_load_is_tried_anew(self, folder: Path) -> None:
        tries: list[int] = []

        def second_time(place: Path, precision: Precision) -> ScoreEngine:
            tries.append(1)
            if len(tries) == 1:
                raise Unavailable("not yet")
            return load(place, precision)

        engines = Engines(second_time)
        with pytest.raises(Unavailable, match="not yet"):
            engines.get(folder, Precision.FP32)
        assert engines.get(folder, Precision.FP32).ready
        engines.close()
