"""One small model, and its engines, for all tests that only read them."""

import json
import os
from pathlib import Path

import pytest
from tests.scoring.quantise.small import small_model, some_samples

from agon.engines.encoder.making import Made, Workshop
from agon.engines.encoder.texts import Texts, read_texts
from agon.engines.encoder.weights import ensure_encoder


@pytest.fixture(scope="session")
def encoder() -> Path:
    """The real encoder's weights, fetched once for all test runs on this machine."""
    return ensure_encoder(Path(os.environ.get("AGON_TEST_MODELS") or Path.home() / ".cache" / "agon-tests" / "models"))


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judged pairs of one prompt each."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    samples = some_samples(160)
    rows = [
        {"prompt": first.prompt, "answer_a": first.answer, "answer_b": second.answer, "preference": "ab"[place % 2]}
        for place, (first, second) in enumerate(zip(samples[::2], samples[1::2], strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def texts(pairs_file: Path) -> Texts:
    found, faults = read_texts([pairs_file])
    assert not faults
    return found


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, texts: Texts) -> tuple[Path, Made]:
    """A model folder with its 8-bit engine. Not to be written to."""
    folder = small_model(tmp_path_factory.mktemp("models") / "small")
    return folder, workshop(folder, texts).int8()


def workshop(folder: Path, texts: Texts, told: list[str] | None = None) -> Workshop:
    return Workshop(folder, texts, samples=40, tell=(told if told is not None else []).append)
