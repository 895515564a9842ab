import os
from pathlib import Path

import pytest

from agon.engines.encoder.weights import ensure_encoder


@pytest.fixture(scope="session")
def encoder() -> Path:
    """The real encoder's weights, fetched once for all test runs on this machine."""
    return ensure_encoder(Path(os.environ.get("AGON_TEST_MODELS") or Path.home() / ".cache" / "agon-tests" / "models"))
