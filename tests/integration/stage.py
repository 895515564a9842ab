"""A whole arena in this process: a gateway on a real port, a runner, and a scripted engine server as contestants."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import uvicorn
from prometheus_client import CollectorRegistry
from tests.integration.voter import Voter

from agon.api.app import create_app
from agon.api.coalescing import CoalescingHttp
from agon.bootstrap.ledger import ensure_admin_key
from agon.bootstrap.runner import runner
from agon.config import Settings
from agon.core.placement import ReplicaStatus
from agon.core.ports import Dispatch
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_models import ScriptedModel
from agon.stores.redis.dispatch import RedisDispatch
from agon.telemetry import Metrics

ENGINE_KEY = "engine-key-5d1c"
KEY_ENV = "STAGE_ENGINE_KEY"
NAMES = {"Velvet Thunder": "internal-alpha", "Marble Sphinx XL": "internal-beta"}
"""Contestants and the models' names at their server: words that occur nowhere else."""
SPARE = "internal-spare"
"""A model that the server has and that nobody plays yet."""
SCRIPT: Mapping[str, object] = {**ScriptedModel().model_dump(), "tokens": 24}


class Server(uvicorn.Server):
    """One that leaves the test run's signals alone."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@dataclass(slots=True)
class Stage:
    """What a test gets hold of."""

    url: str
    admin_key: str
    engine: ScriptedServer
    settings: Settings
    serving: asyncio.Task[None]
    """The runner."""

    def person(self) -> Voter:
        """Somebody who was never here before."""
        return Voter(self.url)

    @asynccontextmanager
    async def admin(self) -> AsyncGenerator[httpx.AsyncClient]:
        headers = {"Authorization": f"Bearer {self.admin_key}"}
        async with httpx.AsyncClient(verify=False, base_url=self.url, headers=headers, timeout=30) as client:
            yield client

    def script(self, name: str = "*", **patch: object) -> None:
        """Say how a contestant behaves from now on, or all of them."""
        self.engine.configure(NAMES.get(name, name), **patch)

    @asynccontextmanager
    async def gateway(self, *, redis_url: str | None = None, **limits: object) -> AsyncGenerator[str]:
        """A further gateway on the same ledger, with limits and a bus of its own if need be; its address."""
        settings = self.settings
        stores = settings.stores.model_copy(update={} if redis_url is None else {"redis_url": redis_url})
        changed = {"limits": settings.limits.model_copy(update=limits), "stores": stores}
        async with serve_gateway(settings.model_copy(update=changed)) as url:
            yield url

    @asynccontextmanager
    async def dispatch(self) -> AsyncGenerator[Dispatch]:
        stores = self.settings.stores
        dispatch = RedisDispatch(stores.redis_url, prefix=stores.redis_prefix, executor="test")
        yield dispatch
        await dispatch.close()

    async def until_idle(self, patience_s: float = 10.0) -> float:
        """Wait until no turn is counted anywhere and no engine works; the seconds that took."""
        begun_s = time.monotonic()
        async with self.dispatch() as dispatch, asyncio.timeout(patience_s):
            while not self._idle(await dispatch.replicas()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return time.monotonic() - begun_s

    def _idle(self, replicas: Sequence[ReplicaStatus]) -> bool:
        assert len(replicas) >= len(NAMES)
        counted = any(replica.turns or replica.outstanding_tokens for replica in replicas)
        return not counted and not any(self.engine.counters(model).active for model in NAMES.values())

    async def contestants(self) -> dict[str, dict[str, Any]]:
        async with self.admin() as admin:
            listed = (await admin.get("/admin/contestants")).json()["contestants"]
        return {one["name"]: one for one in listed}

    async def until_ready(self, count: int = len(NAMES)) -> None:
        async with httpx.AsyncClient(verify=False, base_url=self.url, timeout=30) as client, asyncio.timeout(40):
            while (await client.get("/arena/status")).json()["contestants"]["ready"] < count:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def reset(self) -> None:
        """As at the beginning, whatever the test before did."""
        self.engine.configure("*", **SCRIPT)
        await self.until_ready()

    async def ledger(self) -> "asyncpg.Connection[asyncpg.Record]":
        return await asyncpg.connect(self.settings.stores.database_url)


def settings_for(
    database_url: str, redis_url: str, engine_url: str, folder: Path, *, prefix: str, **sections: Mapping[str, object]
) -> Settings:
    contestants = [
        {"name": name, "url": engine_url, "model": model, "key_env": KEY_ENV, "max_concurrent": 16}
        for name, model in NAMES.items()
    ]
    stores = {"data_dir": folder, "database_url": database_url, "redis_url": redis_url, "redis_prefix": prefix}
    # Here a crowd may wait for its places: nobody promises a first token.
    limits = {"queue_s": 2.5, **sections.pop("limits", {})}
    return Settings.model_validate(
        {
            "name": "Test arena",
            "stores": stores,
            "contestants": contestants,
            "log_level": "warning",
            "limits": limits,
            **sections,
        }
    )


@asynccontextmanager
async def open_stage(
    database_url: str, redis_url: str, folder: Path, *, prefix: str, **sections: Mapping[str, object]
) -> AsyncGenerator[Stage]:
    os.environ[KEY_ENV] = ENGINE_KEY
    models = [*NAMES.values(), SPARE]
    async with ScriptedServer(models, script=ScriptedModel(tokens=24), api_key=ENGINE_KEY) as engine:
        settings = settings_for(database_url, redis_url, engine.url, folder, prefix=prefix, **sections)
        key = await ensure_admin_key(settings, another=True)
        assert key is not None
        async with serve_gateway(settings) as url:
            serving = asyncio.create_task(serve_runner(settings))
            stage = Stage(url, key, engine, settings, serving)
            try:
                await stage.until_ready()
                yield stage
            finally:
                await end(stage.serving)


async def serve_runner(settings: Settings) -> None:
    async with runner(settings) as serving:
        await serving.run()


async def end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@asynccontextmanager
async def serve_gateway(settings: Settings) -> AsyncGenerator[str]:
    app = create_app(settings, Metrics(CollectorRegistry()))
    config = uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        http=CoalescingHttp,
        ws="websockets-sansio",
        timeout_graceful_shutdown=1,
    )
    server = Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:
            assert not serving.done(), "the gateway did not start"
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
