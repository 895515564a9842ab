import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agon.engines.catalogue import SMOLLM2, SMOLLM2_Q8, built_in
from agon.engines.scripted import ScriptedServer
from agon.engines.weights import WeightStore


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    """A real server on a free port, with two models."""
    async with ScriptedServer(["m", "n"]) as server:
        yield server


def _cached(name: str) -> Path:
    cache = Path(os.environ.get("AGON_TEST_MODELS") or Path.home() / ".cache" / "agon-tests" / "models")
    return WeightStore(cache).ensure(built_in(name).weights)


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The real model, fetched once for all test runs on this machine."""
    return _cached(SMOLLM2)


@pytest.fixture(scope="session")
def smollm2_q8() -> Path:
    """The same model in another precision."""
    return _cached(SMOLLM2_Q8)
