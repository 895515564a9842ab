from collections.abc import AsyncIterator

import pytest

from agon.engines.scripted import ScriptedServer


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    """A real server on a free port, with two models."""
    async with ScriptedServer(["m", "n"]) as server:
        yield server
