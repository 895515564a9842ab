"""Gateways whose contestants are scripted servers, asked in the words of OpenAI's API.

No runner is there: a beat says in its place that the servers are ready.
"""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from aiohttp import web
from openai import AsyncOpenAI
from prometheus_client import CollectorRegistry
from tests.integration.stage import Server

from agon.api.app import create_app
from agon.api.coalescing import CoalescingHttp
from agon.config import ServerSettings, Settings
from agon.core.contestants import Contestant, ContestantKind, EngineState
from agon.core.placement import Beat, ReplicaReport, replica_id
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_models import ScriptedModel
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.database import Database
from agon.stores.redis.bus import RedisBus
from agon.stores.redis.dispatch import RedisDispatch
from agon.telemetry import Metrics

MODEL = "internal-gamma"
"""The contestant's name at its servers."""
KEY = "engine-key-77aa"
KEY_ENV = "OPENAI_STAGE_KEY"
PAIR, SOLO, ECHO, ABSENT, STRANGER = "Quiet River", "Lone Peak", "Echo 光", "Nobody Home", "No Key Here"
"""Two servers, one server, one that does as it is told, none that is ready, one whose key this process has not."""
NARROW, MEASURED = "One At A Time", "Against The Clock"
API_KEYS = ("a-long-key-for-one", "a-long-key-for-another")
SCRIPT: Mapping[str, object] = {**ScriptedModel().model_dump(), "tokens": 24}
HELLO: Sequence[Any] = ({"role": "user", "content": "Hello there, how are you?"},)


@dataclass(slots=True)
class Echo:
    """A server that keeps the bodies it gets and answers with what it was given."""

    bodies: list[bytes] = field(default_factory=list[bytes])
    status: int = 200
    reply: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    url: str = ""

    def answers(
        self, reply: object, *, status: int = 200, content_type: str = "application/json", **headers: str
    ) -> None:
        self.bodies.clear()
        self.reply = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.status, self.content_type, self.headers = status, content_type, headers

    @property
    def asked(self) -> dict[str, Any]:
        """The fields of the last request."""
        return json.loads(self.bodies[-1])

    async def handle(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        return web.Response(
            body=self.reply, status=self.status, content_type=self.content_type, headers=self.headers or None
        )


@asynccontextmanager
async def echoing() -> AsyncGenerator[Echo]:
    echo = Echo()
    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/v1/chat/completions", echo.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    echo.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield echo
    await runner.cleanup()


@dataclass(slots=True)
class OpenAiStage:
    urls: list[str]
    """Of the gateways; the last one wants `API_KEYS`."""
    engines: list[ScriptedServer]
    dispatch: RedisDispatch
    bus: RedisBus
    echo: Echo

    def client(self, gateway: int = 0, *, key: str = "none", retries: int = 0) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=f"{self.urls[gateway]}/v1", api_key=key, max_retries=retries)

    def http(self, gateway: int = 0) -> httpx.AsyncClient:
        return httpx.AsyncClient(verify=False, base_url=self.urls[gateway], timeout=30)

    def script(self, engine: int | None = None, **patch: object) -> None:
        for one in self.engines if engine is None else [self.engines[engine]]:
            one.configure(MODEL, **patch)

    def count(self, what: str) -> list[int]:
        """One of the engines' counters."""
        return [int(getattr(engine.counters(MODEL), what)) for engine in self.engines]

    async def turns(self) -> int:
        """Turns that are counted anywhere."""
        return sum(replica.turns for replica in await self.dispatch.replicas())

    async def idle(self, within_s: float = 3.0) -> None:
        """Wait until nothing is counted and nothing runs."""
        await until(lambda: sum(self.count("active")) == 0, within_s)
        async with asyncio.timeout(within_s):
            while any(one.turns or one.outstanding_tokens for one in await self.dispatch.replicas()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def reset(self) -> None:
        self.script(None, **SCRIPT)
        await self.idle()


async def until(true: Callable[[], bool], within_s: float) -> None:
    async with asyncio.timeout(within_s):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@asynccontextmanager
async def open_openai_stage(
    database_url: str,
    redis_url: str,
    folder: Path,
    *,
    prefix: str,
    gateways: int = 1,
    **sections: Mapping[str, object],
) -> AsyncGenerator[OpenAiStage]:
    os.environ[KEY_ENV] = KEY
    stores = {"data_dir": folder, "database_url": database_url, "redis_url": redis_url, "redis_prefix": prefix}
    sections = {"limits": {"client_tokens_per_minute": 0, "queue_s": 5.0}, **sections}
    settings = Settings.model_validate({"stores": stores, "default_models": False, "log_level": "warning", **sections})
    async with AsyncExitStack() as stack:
        engines = [
            await stack.enter_async_context(ScriptedServer([MODEL], script=ScriptedModel(tokens=24), api_key=KEY))
            for _ in range(2)
        ]
        echo = await stack.enter_async_context(echoing())
        contestants = contestants_of([engine.url for engine in engines], echo.url)
        await _write(settings, contestants)
        dispatch = RedisDispatch(redis_url, prefix=prefix, executor="stand-in")
        stack.push_async_callback(dispatch.close)
        beating = asyncio.create_task(_beat(dispatch, contestants))
        stack.push_async_callback(_end, beating)
        bus = RedisBus(redis_url, prefix=prefix)
        stack.push_async_callback(bus.close)
        guarded = settings.model_copy(update={"server": ServerSettings(api_keys=API_KEYS)})
        all_settings = [settings] * gateways + [guarded]
        urls = [await stack.enter_async_context(serve_gateway(one)) for one in all_settings]
        yield OpenAiStage(urls, engines, dispatch, bus, echo)


def contestants_of(urls: Sequence[str], echo: str) -> list[Contestant]:
    kind, key = ContestantKind.OPENAI, KEY_ENV
    return [
        Contestant(PAIR, kind, MODEL, tuple(urls), key, max_concurrent=500),
        Contestant(SOLO, kind, MODEL, (urls[0],), key, max_concurrent=500),
        Contestant(MEASURED, kind, MODEL, (urls[1],), key, max_concurrent=100),
        Contestant(NARROW, kind, MODEL, (urls[1],), key, max_concurrent=1),
        Contestant(ECHO, kind, MODEL, (echo,), key),
        Contestant(ABSENT, kind, MODEL, ("http://127.0.0.1:9",), key),
        Contestant(STRANGER, kind, MODEL, (urls[0],), "OPENAI_STAGE_NO_KEY"),
    ]


async def _write(settings: Settings, contestants: Sequence[Contestant]) -> None:
    database = Database(settings.stores.database_url)
    await database.open()
    ledger = PostgresContestants(database)
    for contestant in contestants:
        await ledger.put_contestant(contestant, replace=True)
    await database.close()


async def _beat(dispatch: RedisDispatch, contestants: Sequence[Contestant]) -> None:
    served = [one for one in contestants if one.name != ABSENT]
    while True:
        reports = tuple(
            ReplicaReport(replica_id(one.name, url), one.name, EngineState.READY, url=url, capacity=one.max_concurrent)
            for one in served
            for url in one.urls
        )
        await dispatch.beat(Beat(reports))
        await asyncio.sleep(0.3)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@asynccontextmanager
async def serve_gateway(settings: Settings) -> AsyncGenerator[str]:
    app = create_app(settings, Metrics(CollectorRegistry()))
    config = uvicorn.Config(app, lifespan="on", log_config=None, http=CoalescingHttp, timeout_graceful_shutdown=1)
    server = Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:
            assert not serving.done(), "the gateway did not start"
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await serving
