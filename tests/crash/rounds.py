"""Workers as processes, a round whose scores are known beforehand, and what must be true of it at the end."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import httpx
from tests.crash.plugin.crash_scorers import rated

from agon.bootstrap.addresses import jobs
from agon.bootstrap.round_boards import round_boards
from agon.config import Settings
from agon.core.errors import AgonError, Unavailable
from agon.core.round_ports import Submission
from agon.core.rounds import Question, Round, from_units, to_units
from agon.rounds.boards import RoundBoardReader
from agon.stores.jobs import RoundJobs
from agon.stores.postgres.database import Database
from agon.stores.postgres.round_scoring import PostgresScoring
from agon.stores.postgres.round_standings import PostgresStandings
from agon.stores.postgres.rounds import PostgresRounds
from agon.supervisor.options import free_port

PLUGIN = Path(__file__).parent / "plugin"
SKEW = Path(__file__).parent / "skew"
PATIENCE_S = 45.0
MODELS = ("amber", "basalt", "cobalt")


@dataclass(slots=True)
class Line:
    """Ledger, Redis, and any number of workers between them."""

    settings: Settings
    folder: Path
    database: Database
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def start(self, *, port: int = 0, skew_s: float = 0.0) -> subprocess.Popen[bytes]:
        """A further worker, which may believe that it is another time."""
        stores = self.settings.stores
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON_")}
        with (self.folder / f"worker-{len(self.workers)}.log").open("wb") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "agon.cli", "worker"],
                env={
                    **environment,
                    "PYTHONPATH": os.pathsep.join(str(each) for each in (SKEW, PLUGIN)),
                    "SKEW_S": str(skew_s),
                    "AGON_CONFIG": str(self._config()),
                    "AGON_DATABASE_URL": stores.database_url,
                    "AGON_REDIS_URL": stores.redis_url,
                    "AGON_REDIS_PREFIX": stores.redis_prefix,
                    "AGON_DATA_DIR": str(self.folder),
                    "AGON_WORKER_METRICS_PORT": str(port),
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )
        self.workers.append(worker)
        return worker

    def _config(self) -> Path:
        config = self.folder / "agon.toml"
        config.write_text(f"[rounds]\nbatch_answers = {self.settings.rounds.batch_answers}\n", "utf-8")
        return config

    def logs(self) -> str:
        return "\n".join(log.read_text("utf-8")[-6_000:] for log in sorted(self.folder.glob("worker-*.log")))

    async def keep_up(self) -> None:
        """As a supervisor does: whenever the last worker has ended, there is another one."""
        while True:
            if self.workers[-1].poll() is not None:
                self.start()
            await asyncio.sleep(0.1)

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        worker.kill()
        worker.wait()

    async def submit(self, scorer: str, questions: int, texts: Callable[[str, int], str] | None = None) -> UUID:
        """A round with an answer of each model to each question."""
        ledger = self.rounds()
        bank = [Question(f"q{number}", (f"What is {number}?",)) for number in range(questions)]
        made = await ledger.create(Round(uuid4(), scorer, scorer, (), questions), bank)
        say = texts or said
        for model in MODELS:
            sent = [
                Submission(made.id, model, (say(model, number),), question.key) for number, question in enumerate(bank)
            ]
            results = await ledger.submit(sent)
            assert not [result for result in results if isinstance(result, AgonError)]
        await ledger.close()
        return made.id

    def rounds(self) -> PostgresRounds:
        return PostgresRounds(self.database)

    async def rows(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        async with self.database.transaction() as connection:
            return await connection.fetch(statement, *arguments)

    async def steps(self) -> set[str]:
        return {row["step"] for row in await self.rows("select step from round_batches")}

    async def scored(self) -> int:
        return (await self.rows("select count(*) from round_answers where stage = 'scored'"))[0][0]

    async def until(self, condition: Callable[[], Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not await self._holds(condition):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise AssertionError(f"never happened: {what}\n{self.logs()}") from None

    async def _holds(self, condition: Callable[[], Awaitable[bool]]) -> bool:
        try:
            return await condition()
        except Unavailable:
            return False

    async def is_done(self) -> bool:
        """Whether nothing is open, and nothing is to be done."""
        left = "select from round_answers where stage = 'answered' or stage = 'scored' and not merged limit 1"
        return not await self.rows(left) and not await self.steps()

    async def until_done(self) -> None:
        await self.until(self.is_done, "the round is done")

    async def assert_counted(self, round_id: UUID, *, without: Sequence[str] = ()) -> None:
        """Board, totals and recount say what the texts say by themselves."""
        expected: dict[str, tuple[int, int]] = {}
        for row in await self.rows("select contestant, texts from round_answers where round = $1", round_id):
            if row["texts"][0] not in without:
                count, total = expected.get(row["contestant"], (0, 0))
                expected[row["contestant"]] = (count + 1, total + to_units(rated(row["texts"][0])))
        totals = await PostgresStandings(self.database).totals(round_id)
        assert {each.contestant: (each.scored, each.score) for each in totals} == expected
        assert await PostgresScoring(self.database).recount(round_id) == expected
        await self._assert_board(round_id, {name: from_units(total) / n for name, (n, total) in expected.items()})

    async def _assert_board(self, round_id: UUID, means: Mapping[str, float]) -> None:
        async with round_boards(self.settings) as boards:
            ledger = PostgresRounds(self.database)
            reader = RoundBoardReader(rounds=ledger, source=PostgresStandings(self.database), boards=boards)

            async def agrees() -> bool:
                ranked = dict(await boards.ranked(round_id))
                page = {row.contestant: row.score.value for row in (await reader.standings(round_id)).rows}
                return _close(ranked, means, 1e-9) and _close(page, means, 1e-5)

            await self.until(agrees, f"the board shows {means}")
            await ledger.close()

    async def send(self, batch: UUID, step: str, times: int) -> None:
        app = jobs(self.settings)
        for _ in range(times):
            await RoundJobs(app).send(batch, step)
        app.close()


def _close(found: Mapping[str, float | None], means: Mapping[str, float], by: float) -> bool:
    return set(found) == set(means) and all(
        value is not None and abs(value - means[name]) < by for name, value in found.items()
    )


def said(model: str, number: int) -> str:
    return f"{model} says {number}"


async def is_ready(port: int) -> bool:
    try:
        async with httpx.AsyncClient(verify=False) as client:
            return (await client.get(f"http://127.0.0.1:{port}/ready")).status_code == 200
    except httpx.HTTPError:
        return False


async def metrics(port: int) -> str:
    async with httpx.AsyncClient(verify=False) as client:
        return (await client.get(f"http://127.0.0.1:{port}/metrics")).text


def a_port() -> int:
    return free_port("127.0.0.1")


@asynccontextmanager
async def open_line(
    database_url: str, redis_url: str, folder: Path, *, prefix: str, batch_answers: int = 64
) -> AsyncGenerator[Line]:
    stores = {"data_dir": folder, "database_url": database_url, "redis_url": redis_url, "redis_prefix": prefix}
    settings = Settings.model_validate({"stores": stores, "rounds": {"batch_answers": batch_answers}})
    async with AsyncExitStack() as stack:
        database = Database(database_url)
        await database.open()
        stack.push_async_callback(database.close)
        line = Line(settings, folder, database)
        try:
            yield line
        finally:
            for worker in line.workers:
                line.kill(worker)
