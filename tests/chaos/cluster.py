"""A cluster of real processes on loopback, each under our own hand: stores, engines, runners, gateways."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import aiohttp
import asyncpg

from agon.embedded.postgres import PostgresServer
from agon.embedded.process import Child, Launch, spawn, tail
from agon.embedded.valkey import ValkeyServer
from agon.engines.scripted_models import HeavyTail
from agon.stores.postgres.migrate import migrate
from agon.supervisor.options import free_port

PATIENCE_S = 60
"""Nothing here measures the speed of starting; on a busy machine it may take long, but it must happen."""

Role = Literal["engine", "runner", "gateway"]


@dataclass(frozen=True, slots=True)
class Player:
    """A contestant, and which engines have its model."""

    name: str
    engines: tuple[int, ...]
    prefill: bool = False


PLAYERS = (Player("amber", (0, 1)), Player("basalt", (1, 2), prefill=True), Player("cobalt", (2,)))
ENGINES, RUNNERS, GATEWAYS = 3, 2, 2
LENGTHS = HeavyTail(low=60, high=400, alpha=2.5)
ANSWER_TOKENS = 128
"""The arena's limit: above what engines say mostly. Chats ask for less."""
SCRIPT: Mapping[str, object] = {
    "rate_tokens_per_s": 24.0,
    "tick_ms": 200.0,
    "tokens": LENGTHS.model_dump(),
    "prefill": True,
}
PREFIX = "chaos"
INSIDE = Path(__file__).with_name("inside")


async def until(condition: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for a condition, which may be a coroutine function."""
    try:
        async with asyncio.timeout(patience_s):
            while True:
                found = condition()
                if await found if asyncio.iscoroutine(found) else found:
                    return
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None


@dataclass(slots=True)
class Part:
    """One process; `start` runs it anew at the same place."""

    name: str
    role: Role
    words: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    port: int | None = None
    child: Child | None = None
    lives: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.child is not None
        return self.child.pid

    @property
    def is_alive(self) -> bool:
        return self.child is not None and self.child.poll() is None

    def start(self) -> None:
        assert not self.is_alive
        self.lives += 1
        command = [sys.executable, "-P", "-m", "agon.cli", *self.words]
        # It dies with us, whatever happens to this process.
        self.child = spawn(
            Launch(command, self.log, self.log.parent, death_signal=signal.SIGKILL, environment=self.environment)
        )

    def kill(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self.child is not None
        self.child.send_signal(number)

    async def told(self) -> dict[str, Any]:
        """What it says of its asyncio tasks and its memory; see `inside`."""
        told = self.log.parent / f"{self.pid}.json"
        told.unlink(missing_ok=True)
        self.signal(signal.SIGUSR2)
        await until(told.exists, f"{self.name} tells what it has")
        return json.loads(told.read_text())

    def said(self) -> str:
        return f"{self.name} (life {self.lives}):\n{tail(self.log, lines=30)}"


@dataclass(slots=True)
class Cluster:
    folder: Path
    valkey: ValkeyServer
    postgres: PostgresServer
    parts: dict[str, Part] = field(default_factory=dict[str, Part])

    def of(self, role: Role) -> list[Part]:
        return [part for part in self.parts.values() if part.role == role]

    @property
    def gateway_urls(self) -> list[str]:
        return [part.url for part in self.of("gateway")]

    async def rows(self, statement: str, *values: object) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.postgres.url)
        try:
            return await connection.fetch(statement, *values)
        finally:
            await connection.close()

    async def until_ready(self) -> None:
        """Every process lives, and every contestant is ready on each gateway."""
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as http:
                for url in self.gateway_urls:
                    await until(lambda url=url: self._all_play(http, url), f"every contestant plays at {url}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said()}") from None

    async def _all_play(self, http: aiohttp.ClientSession, url: str) -> bool:
        dead = [part.name for part in self.parts.values() if not part.is_alive]
        assert not dead, f"{dead} ended"
        try:
            async with http.get(f"{url}/arena/models") as response:
                models: list[dict[str, str]] = (await response.json())["models"] if response.status == 200 else []
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False
        return sum(model["state"] == "ready" for model in models) == len(PLAYERS)

    async def script(self, **patch: object) -> None:
        """Say how all engines behave from now on, until they are started anew."""
        async with aiohttp.ClientSession() as http:
            for engine in self.of("engine"):
                async with http.post(f"{engine.url}/control", json=patch) as response:
                    assert response.status == 200, await response.text()

    async def active(self) -> int:
        """Answers that the engines are at."""
        return sum(counted["active"] for counted in (await self.counters()).values())

    async def counters(self) -> dict[str, dict[str, int]]:
        """What the engines count, by engine and model."""
        found: dict[str, dict[str, int]] = {}
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as http:
            for engine in self.of("engine"):
                async with http.get(f"{engine.url}/control") as response:
                    models: dict[str, Any] = await response.json()
                for model, shown in models.items():
                    found[f"{engine.name}/{model}"] = shown["counters"]
        return found

    async def start_valkey(self, *, fresh: bool = False) -> None:
        if fresh:
            shutil.rmtree(self.folder / "valkey", ignore_errors=True)
        self.valkey.prepare()
        self.valkey.spawn()
        await until(self.valkey.is_ready, "Valkey is back")

    def kill_valkey(self) -> None:
        assert self.valkey.child is not None
        self.valkey.child.kill()
        self.valkey.child.wait()

    def said(self) -> str:
        return "\n".join(part.said() for part in self.parts.values())

    async def close(self) -> None:
        for part in self.parts.values():
            if part.is_alive:
                part.signal(signal.SIGCONT)
            part.kill()
        if self.valkey.child is not None:
            self.valkey.child.send_signal(signal.SIGCONT)
        self.valkey.stop()
        self.postgres.stop()


@asynccontextmanager
async def running_cluster(folder: Path, **limits: float) -> AsyncGenerator[Cluster]:
    """Two gateways, two runners and three engines on stores of their own."""
    cluster = Cluster(folder, ValkeyServer(folder), PostgresServer(folder))
    try:
        cluster.postgres.start()
        cluster.valkey.start()
        await migrate(cluster.postgres.url)
        for part in _parts(cluster, limits):
            cluster.parts[part.name] = part
            part.start()
        await cluster.until_ready()
        yield cluster
    finally:
        await cluster.close()


def _parts(cluster: Cluster, limits: Mapping[str, float]) -> list[Part]:
    folder = cluster.folder
    ports = [free_port("127.0.0.1") for _ in range(ENGINES + GATEWAYS)]
    config = folder / "agon.toml"
    config.write_text(_config([f"http://127.0.0.1:{port}" for port in ports[:ENGINES]], limits), "utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AGON_")},
        "AGON_CONFIG": str(config),
        "AGON_DATA_DIR": str(folder),
        "AGON_DATABASE_URL": cluster.postgres.url,
        "AGON_REDIS_URL": cluster.valkey.url,
        "AGON_REDIS_PREFIX": PREFIX,
        "AGON_SECRET": "a secret that both gateways share",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(INSIDE), os.environ.get("PYTHONPATH")))),
        "CHAOS_TELL": str(folder / "logs"),
    }

    def part(role: Role, number: int, *words: str, port: int | None = None) -> Part:
        name = f"{role}-{number + 1}"
        return Part(name, role, words, environment, folder / "logs" / f"{name}.log", port)

    parts = [
        part("engine", number, "fake-engine", *_engine_words(number, port), port=port)
        for number, port in enumerate(ports[:ENGINES])
    ]
    parts += [part("runner", number, "runner") for number in range(RUNNERS)]
    for number, port in enumerate(ports[ENGINES:]):
        parts.append(part("gateway", number, "gateway", "--port", str(port), port=port))
    return parts


def _engine_words(number: int, port: int) -> tuple[str, ...]:
    models = ",".join(player.name for player in PLAYERS if number in player.engines)
    return "--port", str(port), "--models", models, "--script", json.dumps(SCRIPT)


def _config(engines: list[str], limits: Mapping[str, float]) -> str:
    bounds = {"answer_tokens": ANSWER_TOKENS, **limits}
    tables = ['log_level = "info"', "[limits]", *(f"{name} = {value}" for name, value in bounds.items())]
    for player in PLAYERS:
        urls = ", ".join(f'"{engines[number]}"' for number in player.engines)
        prefill = "prefill = true\n" if player.prefill else ""
        tables.append(
            f'[[contestants]]\nname = "{player.name}"\nurls = [{urls}]\nmodel = "{player.name}"\n'
            f"max_concurrent = 256\n{prefill}"
        )
    return "\n".join(tables)
