"""`agon up` as a person runs it, and people who battle and vote whatever happens to its processes."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import psutil

from agon.embedded.postgres import PostgresServer
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_models import ScriptedModel
from agon.supervisor.options import free_port

MODELS = ("amber", "basalt", "cobalt")
PATIENCE_S = 120
"""Nothing here measures speed: on a slow machine everything may take long, but it must end."""

MARKS: dict[str, Callable[[list[str]], bool]] = {
    "gateway": lambda words: words[-1:] == ["gateway"],
    "runner": lambda words: words[-1:] == ["runner"],
    "worker": lambda words: words[-1:] == ["worker"],
    "valkey": lambda words: "valkey" in words[0],
    "postgres": lambda words: words[0].endswith("/postgres"),
}


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None


@dataclass(slots=True)
class Arena:
    url: str
    data_dir: Path
    supervisor: subprocess.Popen[bytes]
    output: Path

    def part(self, name: str) -> psutil.Process | None:
        """The process that the supervisor started for this part, if it runs."""
        for process in psutil.Process(self.supervisor.pid).children():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and MARKS[name](process.cmdline()):
                    return process
            except (psutil.Error, IndexError):
                continue
        return None

    async def kill(self, name: str) -> None:
        await until(lambda: self.part(name) is not None, f"{name} runs\n{self.output.read_text()}")
        process = self.part(name)
        assert process is not None
        process.kill()
        await until(lambda: not _lives(process), f"{name} is gone")

    def processes(self) -> list[psutil.Process]:
        """Everything on this machine that belongs to this data folder."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                return False
            words = " ".join(process.cmdline())
            return str(self.data_dir) in words or process.environ().get("AGON_DATA_DIR") == str(self.data_dir)
        except psutil.Error:
            return False

    async def is_ready(self) -> bool:
        try:
            async with httpx.AsyncClient(verify=False, base_url=self.url, timeout=10) as client:
                return (await client.get("/readyz")).status_code == 200
        except httpx.HTTPError:
            return False

    async def until_ready(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not await self.is_ready():
                    assert self.supervisor.poll() is None, self.output.read_text()
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"the arena was never ready:\n{self.output.read_text()}") from None

    async def rows(self, statement: str) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(PostgresServer(self.data_dir).url)
        try:
            return await connection.fetch(statement)
        finally:
            await connection.close()


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@asynccontextmanager
async def running_arena(folder: Path) -> AsyncGenerator[Arena]:
    """An arena of three scripted models; whatever is left of it in the end is ended by its process ids."""
    script = ScriptedModel(tokens=24, rate_tokens_per_s=40.0)
    async with ScriptedServer(MODELS, script=script) as engine:
        config = folder / "agon.toml"
        tables = [f'[[contestants]]\nname = "{name}"\nurl = "{engine.url}"\nmodel = "{name}"\n' for name in MODELS]
        config.write_text("\n".join(tables), "utf-8")
        port, data_dir, output = free_port("127.0.0.1"), folder / "data", folder / "up.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON_")}
        with output.open("wb") as log:
            supervisor = subprocess.Popen(  # noqa: ASYNC220
                [sys.executable, "-m", "agon.cli", "up"],
                env={
                    **environment,
                    "AGON_CONFIG": str(config),
                    "AGON_DATA_DIR": str(data_dir),
                    "AGON_PORT": str(port),
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        arena = Arena(f"http://127.0.0.1:{port}", data_dir, supervisor, output)
        try:
            await arena.until_ready()
            yield arena
        finally:
            await _clear(arena)


async def _clear(arena: Arena) -> None:
    if arena.supervisor.poll() is None:
        arena.supervisor.send_signal(signal.SIGINT)
        await until(lambda: arena.supervisor.poll() is not None, "the supervisor ends")
    for process in arena.processes():
        process.kill()


@dataclass(slots=True)
class Crowd:
    """What people were told, which must be true in the end."""

    url: str
    started: set[str] = field(default_factory=set[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    receipts: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Battle and winner by receipt."""
    troubles: Counter[str] = field(default_factory=Counter[str])
    """Refusals that people saw on the way; they are allowed, and tried again."""

    async def person(self, number: int, closing: asyncio.Event) -> None:
        """Battle and vote until closing time, and see the last battle through."""
        async with httpx.AsyncClient(verify=False, base_url=self.url, timeout=20) as client:
            turn = 0
            while not closing.is_set():
                turn += 1
                await self._battle(client, ("a", "b", "tie", "both_bad")[(number + turn) % 4])

    async def _battle(self, client: httpx.AsyncClient, winner: str) -> None:
        battle = await self._insist(client, "/arena/battles", {"prompt": "Why?"}, 201)
        self.started.add(battle["id"])
        where = f"/arena/battles/{battle['id']}"
        async with asyncio.timeout(PATIENCE_S):
            while (found := await self._look(client, where))["state"] == "streaming":  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        self.ends[found["state"]] += 1
        if found["state"] == "ready":
            vote = await self._insist(client, f"{where}/vote", {"winner": winner}, 200)
            self.receipts[vote["receipt"]] = (battle["id"], winner)

    async def _insist(self, client: httpx.AsyncClient, path: str, body: dict[str, str], status: int) -> dict[str, Any]:
        """Try with one key until it is accepted."""
        key = {"Idempotency-Key": uuid4().hex}
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    response = await client.post(path, json=body, headers=key)
                    if response.status_code == status:
                        return response.json()
                    assert response.status_code in {429, 503}, response.text
                    self.troubles[response.json()["error"]["code"]] += 1
                except httpx.HTTPError as error:
                    self.troubles[type(error).__name__] += 1
                await asyncio.sleep(0.3)

    async def _look(self, client: httpx.AsyncClient, path: str) -> dict[str, Any]:
        while True:
            try:
                response = await client.get(path)
                if response.status_code == 200:
                    return response.json()
                assert response.status_code in {429, 503}, response.text
            except httpx.HTTPError as error:
                self.troubles[type(error).__name__] += 1
            await asyncio.sleep(0.3)
