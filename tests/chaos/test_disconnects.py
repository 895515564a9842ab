"""Clients that go away: what they wanted is no longer written, soon after, on every way to ask for it."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.chaos import checks
from tests.chaos.cluster import PLAYERS, Cluster, running_cluster, until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

AIM_S = 0.3
MERCY_S = 2.0
"""On a busy machine everything takes longer; an answer that goes on would take twenty seconds."""
SLOW: Mapping[str, object] = {"rate_tokens_per_s": 5.0, "tick_ms": 50.0, "tokens": 100}
CROWD = 100

Client = Callable[[aiohttp.ClientSession, str, asyncio.Event], Awaitable[None]]
"""Asks at a gateway, says when the first text is there, and then reads on for ever."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("cluster")
    # Everybody is let in: this is about how they leave.
    limits = {"arena_share": 0, "client_tokens_per_minute": 0, "queue_s": 0}
    async with running_cluster(folder, abandon_s=0, battle_deadline_s=60, **limits) as running:
        yield running


async def watch_battle(http: aiohttp.ClientSession, url: str, begun: asyncio.Event) -> None:
    battle = await _accepted(http, f"{url}/arena/battles", {"prompt": "Why?"})
    async with http.get(f"{url}/arena/battles/{battle['id']}/events") as response:
        assert response.status == 200, await response.text()
        await _read(response, b"event: packet", begun)


async def stream_chat(http: aiohttp.ClientSession, url: str, begun: asyncio.Event) -> None:
    headers = {"Accept": "text/event-stream"}
    async with http.post(f"{url}/chat", json={"prompt": "Why?"}, headers=headers) as response:
        assert response.status == 200, await response.text()
        await _read(response, b"event: packet", begun)


async def wait_for_chat(http: aiohttp.ClientSession, url: str, begun: asyncio.Event) -> None:
    """Nothing is seen of it before the end; by now the engine has begun."""
    asyncio.get_running_loop().call_later(1.0, begun.set)
    await _accepted(http, f"{url}/chat", {"prompt": "Why?"})


async def stream_completion(http: aiohttp.ClientSession, url: str, begun: asyncio.Event) -> None:
    body = {"model": PLAYERS[0].name, "messages": [{"role": "user", "content": "Why?"}], "stream": True}
    async with http.post(f"{url}/v1/chat/completions", json=body) as response:
        assert response.status == 200, await response.text()
        await _read(response, b'"content":"', begun)


async def wait_for_completion(http: aiohttp.ClientSession, url: str, begun: asyncio.Event) -> None:
    asyncio.get_running_loop().call_later(1.0, begun.set)
    body = {"model": PLAYERS[0].name, "messages": [{"role": "user", "content": "Why?"}]}
    await _accepted(http, f"{url}/v1/chat/completions", body)


async def _accepted(http: aiohttp.ClientSession, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    async with http.post(url, json=body) as response:
        assert response.status in {200, 201}, await response.text()
        return await response.json()


async def _read(response: aiohttp.ClientResponse, mark: bytes, begun: asyncio.Event) -> None:
    seen = b""
    while chunk := await response.content.readany():
        seen += chunk
        if mark in seen.replace(b'": "', b'":"'):
            begun.set()


WAYS: Mapping[str, tuple[Client, int]] = {
    "battle events": (watch_battle, 2),
    "chat stream": (stream_chat, 1),
    "chat wait": (wait_for_chat, 1),
    "completion stream": (stream_completion, 1),
    "completion wait": (wait_for_completion, 1),
}
"""Each way to ask, and how many answers it takes at the engines."""


@pytest.mark.parametrize("when", ["before the first token", "mid-stream", "all at once"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_client_that_leaves_frees_its_places(cluster: Cluster, way: str, when: str) -> None:
    client, answers = WAYS[way]
    many = CROWD if when == "all at once" else 1
    speaks = when != "before the first token"
    await cluster.script(**SLOW, first_token_delay_s=0 if speaks else 20)
    freed_s = await leave(cluster, client, many=many, answers=many * answers, speaks=speaks)
    print(f"{way}, {when}: {many} left, and their places were free after {freed_s:.2f} s (aim: {AIM_S} s)")  # noqa: T201
    assert freed_s < MERCY_S
    await checks.settled(cluster)


async def leave(cluster: Cluster, client: Client, *, many: int, answers: int, speaks: bool) -> float:
    """Let clients come and go; returns how long the engines were at work for them after that."""
    chance = random.Random(many)
    begun = [asyncio.Event() for _ in range(many)]
    tasks = [asyncio.create_task(_come(client, chance.choice(cluster.gateway_urls), event)) for event in begun]
    try:
        await until(lambda: _at_work(cluster, answers), f"the engines are at {answers} answers")
        if speaks:
            await asyncio.gather(*(event.wait() for event in begun))
        assert not (over := [task for task in tasks if task.done()]), f"over already: {over}"
    finally:
        for task in tasks:
            task.cancel()
    left = time.monotonic()
    await until(lambda: _at_work(cluster, 0), "the engines are idle")
    freed_s = time.monotonic() - left
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
    return freed_s


async def _at_work(cluster: Cluster, answers: int) -> bool:
    return await cluster.active() == answers


async def _come(client: Client, url: str, begun: asyncio.Event) -> None:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        await client(http, url, begun)
