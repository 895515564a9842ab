"""The real encoder: what the aims say of size and accuracy. Speed is for the benchmark, not for a test."""

from pathlib import Path

import numpy as np
import pytest

from agon.bootstrap.quantise import Target, quantise
from agon.engines.encoder.build import build_model
from agon.engines.encoder.session import load
from agon.engines.encoder.texts import PACKAGED, read_texts
from agon.scoring.drift import Precision
from agon.scoring.fidelity import compare, pair_accuracy
from agon.scoring.reward.head import HIDDEN, Head


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.timeout(300)
def test_the_real_encoder_in_8_bits_is_small_and_as_good(encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    # How close an answer is to its prompt: worse than a trained head, and as hard on the encoder.
    build_model(encoder, folder, head=Head((), np.zeros(0), np.zeros(HIDDEN), np.full(HIDDEN, 8.0)))
    found = quantise(folder, (), target=Target.CPU, tell=lambda _: None, samples=60).made[Target.CPU]
    assert (folder / "int8" / "model.onnx").stat().st_size <= 0.3 * (folder / "model.onnx").stat().st_size
    texts, _ = read_texts([PACKAGED])
    full, reduced = load(folder, Precision.FP32), load(folder, Precision.INT8)
    samples, pairs = texts.held_samples, texts.held_pairs
    before, after = full.scores(samples), reduced.scores(samples)
    full.close()
    reduced.close()
    fidelity = compare(before, after, pairs)
    assert found.artefact.fidelity is not None
    assert found.artefact.fidelity.kl_mean == pytest.approx(fidelity.kl_mean, rel=0.01)
    assert fidelity.kl_mean < 0.002
    assert fidelity.top1 > 0.95
    assert np.abs(pair_accuracy(before, pairs, texts.outcomes) - pair_accuracy(after, pairs, texts.outcomes)) < 0.025
