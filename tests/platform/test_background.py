"""Work in the background goes on whatever happens to it, and ends with its block."""

import asyncio

import pytest

from agon.bootstrap.background import in_background


async def test_a_loop_that_fails_is_begun_anew_and_ends_with_the_block(caplog: pytest.LogCaptureFixture) -> None:
    lives: list[str] = []
    again = asyncio.Event()

    async def frail() -> None:
        lives.append("begun")
        if len(lives) == 1:
            raise ZeroDivisionError
        again.set()
        try:
            await asyncio.Event().wait()
        finally:
            lives.append("ended")

    async with in_background(frail):
        async with asyncio.timeout(5):
            await again.wait()
    assert lives == ["begun", "begun", "ended"]
    assert "ZeroDivisionError" in caplog.text
