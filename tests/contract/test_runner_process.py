"""`agon runner` as a process: it drains on SIGTERM, ends at once on SIGINT, and tells its metrics."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from tests.contract.floor import Floor
from tests.contract.ledger import Ledger

from agon.core.contestants import EngineState
from agon.core.conversation import AnswerState, Kind, Side
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_text import check_text
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes

pytestmark = pytest.mark.slow

CONTESTANT = '[[contestants]]\nname = "north"\nmodel = "north-model"\nurl = "{url}"\n'


class House:
    """Stores, a floor to ask from, and a server."""

    def __init__(self, floor: Floor, server: ScriptedServer, environment: dict[str, str]) -> None:
        self.floor = floor
        self.server = server
        self._environment = environment

    @asynccontextmanager
    async def runner(self, **variables: str) -> AsyncGenerator[Process]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agon.cli", "runner"), env={**self._environment, **variables}
        )
        try:
            async with asyncio.timeout(30):
                while not any(each.state is EngineState.READY for each in await self.floor.gate.replicas()):
                    assert process.returncode is None
                    await asyncio.sleep(0.05)
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@pytest.fixture
async def house(database_url: str, redis_url: str, key_prefix: str, tmp_path: Path) -> AsyncGenerator[House]:
    database = Database(database_url)
    await database.open()
    answers, votes, contestants = PostgresAnswers(database), PostgresVotes(database), PostgresContestants(database)
    ledger = Ledger(PostgresConversations(database), answers, votes, votes, contestants)
    floor = Floor(ledger, redis_url, key_prefix)
    server = await floor.server(tokens=60, rate_tokens_per_s=30.0)
    (tmp_path / "agon.toml").write_text(CONTESTANT.format(url=server.url))
    environment = {
        **os.environ,
        "AGON_CONFIG": str(tmp_path / "agon.toml"),
        "AGON_DATA_DIR": str(tmp_path),
        "AGON_DATABASE_URL": database_url,
        "AGON_REDIS_URL": redis_url,
        "AGON_REDIS_PREFIX": key_prefix,
    }
    yield House(floor, server, environment)
    await floor.close()
    await answers.close()
    await votes.close()
    await database.close()


async def test_a_runner_that_is_asked_to_leave_writes_its_answers_first(house: House) -> None:
    async with house.runner() as process:
        asked = await house.floor.ask(Kind.CHAT)
        await house.floor.until(lambda: house.server.counters("north-model").active == 1)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0
    text = (await house.floor.written(asked)).last_turn.answers[Side.A].text
    assert check_text(text or "").tokens == 60
    assert house.server.counters("north-model").cancelled == 0
    await house.floor.until_nothing_counts()


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]])
async def test_a_runner_that_must_go_goes_at_once(house: House, signals: list[signal.Signals]) -> None:
    async with house.runner() as process:
        asked = await house.floor.ask(Kind.CHAT)
        await house.floor.until(lambda: house.server.counters("north-model").active == 1)
        for each in signals:
            process.send_signal(each)
            await asyncio.sleep(0.2)
        assert await asyncio.wait_for(process.wait(), 1.5) == 0
    await house.floor.until(lambda: house.server.counters("north-model").active == 0)
    found = await house.floor.ledger.conversations.find(asked.id)
    assert found.last_turn.answers[Side.A].state is AnswerState.PENDING


async def test_a_runner_tells_its_metrics(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with house.runner(AGON_RUNNER_METRICS_PORT=str(port)):
        await house.floor.written(await house.floor.ask(Kind.CHAT))
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as response:
            told = await response.text()
    assert 'arena_answers_total{contestant="north",state="done"} 1.0' in told
    assert f'arena_breaker_state{{replica="north@{house.server.url}",state="closed"}} 1.0' in told
    assert 'arena_completion_tokens_total{contestant="north"} 60.0' in told
