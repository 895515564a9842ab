"""`agon round` as a person runs it, in a folder of its own."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
from tests.e2e.arena import bare_environment

from agon.embedded.postgres import PostgresServer
from agon.supervisor.service import command

PATIENCE_S = 180
BANK = Path(__file__).parents[2] / "examples" / "banks" / "mt_bench.jsonl"


class RoundCommand:
    """Commands on one data folder."""

    def __init__(self, folder: Path, configuration: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        (folder / "agon.toml").write_text(configuration, "utf-8")
        self._began: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> Mapping[str, str]:
        there = {"AGON_CONFIG": str(self.folder / "agon.toml"), "AGON_DATA_DIR": str(self.data)}
        return {**bare_environment(), **there, "PYTHONUNBUFFERED": "1"}

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Start one; what it says goes to `out` and `err` in the folder."""
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            begun = subprocess.Popen(
                command("round", *words), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment
            )
        self._began.append(begun)
        return begun

    def end(self, begun: subprocess.Popen[bytes]) -> int:
        try:
            return begun.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end:\n{self.err[-3000:]}") from None

    def do(self, *words: str, code: int = 0) -> str:
        """Run one to its end; what it wrote to standard output."""
        ended = self.end(self.begin(*words))
        assert ended == code, f"exit code {ended}:\n{self.err[-3000:]}\n{self.out[-1000:]}"
        return self.out

    def close(self) -> None:
        for begun in self._began:
            if begun.poll() is None:
                begun.send_signal(signal.SIGTERM)
                begun.wait(30)

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text("utf-8")

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text("utf-8")

    def processes(self, begun: subprocess.Popen[bytes]) -> list[psutil.Process]:
        return psutil.Process(begun.pid).children(recursive=True)

    def part(self, begun: subprocess.Popen[bytes], name: str) -> psutil.Process | None:
        """The process of the arena that runs as `worker`, say."""
        for process in self.processes(begun):
            try:
                if process.cmdline()[-2:] == ["agon.cli", name]:
                    return process
            except psutil.Error:
                continue
        return None

    def rows(self, query: str) -> list[Any]:
        """What the ledger holds; it is started for that where no arena runs. Each row is a JSON value."""
        server = PostgresServer(self.data)
        runs_already = server.is_listening()
        url = server.url if runs_already else server.start()
        try:
            return _ask(url, query)
        finally:
            if not runs_already:
                server.stop()

    def made(self) -> dict[tuple[str, str], tuple[list[str], str]]:
        """Texts, and when they were written, by contestant and question."""
        rows = self.rows(
            "select json_build_array(contestant, question, texts, answered_at) from round_answers"
            " where texts is not null"
        )
        return {(contestant, question): (texts, at) for contestant, question, texts, at in rows}


def _ask(url: str, query: str) -> list[Any]:
    import asyncio

    import asyncpg

    async def ask() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return [json.loads(row[0]) for row in await connection.fetch(query)]
        finally:
            await connection.close()

    return asyncio.run(ask())


def wait_for(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, f"never happened: {what}"
        time.sleep(0.1)


def is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def kill(process: psutil.Process | None) -> None:
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
