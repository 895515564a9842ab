"""The pipeline of rounds while its processes are killed: what is counted in the end is what was answered."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.crash.plugin.crash_scorers import DEADLY, POISON
from tests.crash.rounds import MODELS, Line, a_port, is_ready, metrics, open_line, said

from agon.core.rounds import AnswerStage
from agon.embedded.postgres import PostgresServer
from agon.embedded.valkey import ValkeyServer
from agon.stores.postgres.migrate import migrate

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]


@pytest.fixture
async def line(database_url: str, redis_url: str, key_prefix: str, tmp_path: Path) -> AsyncIterator[Line]:
    async with open_line(database_url, redis_url, tmp_path, prefix=key_prefix) as line:
        yield line


async def test_answers_go_to_the_board(line: Line) -> None:
    port = a_port()
    line.start(port=port)
    await line.until(lambda: is_ready(port), "the worker is ready")
    round_id = await line.submit("ratio", 100)
    await line.until_done()
    await line.assert_counted(round_id)
    shown = await metrics(port)
    assert 'arena_round_answers_scored_total{outcome="scored",scorer="ratio"} 300.0' in shown
    assert "arena_worker_ready 1.0" in shown


@pytest.mark.parametrize("step", ["score", "merge", "board"])
async def test_a_worker_is_killed_at_a_step(line: Line, step: str) -> None:
    worker = line.start()
    round_id = await line.submit("slow", 200)

    async def is_there() -> bool:
        begun = await line.rows("select from round_batches where tries > 0")
        return bool(begun) and step in await line.steps()

    await line.until(is_there, f"a batch is at {step}")
    line.kill(worker)
    assert not await line.is_done()
    line.start()
    await line.until_done()
    await line.assert_counted(round_id)


async def test_two_workers_of_which_one_is_killed_again_and_again(line: Line) -> None:
    line.start()
    victim = line.start()
    round_id = await line.submit("slow", 400)
    for share in (0.2, 0.5):

        async def is_so_far(share: float = share) -> bool:
            return await line.scored() > 1_200 * share

        await line.until(is_so_far, f"{share} of all answers are scored")
        line.kill(victim)
        victim = line.start()
    await line.until_done()
    await line.assert_counted(round_id)


async def test_poison_is_parked_and_blocks_nothing(line: Line) -> None:
    line.start()
    bad = {(MODELS[0], number) for number in (3, 64, 65, 99)}
    begun = time.monotonic()
    round_id = await line.submit(
        "bad", 100, lambda model, number: f"{POISON} {number}" if (model, number) in bad else said(model, number)
    )
    other = await line.submit("ratio", 20)

    async def others_are_scored() -> bool:
        return await line.scored() == 300 - len(bad) + 60

    await line.until(others_are_scored, "all others are scored")
    await line.until_done()
    assert time.monotonic() - begun > 2.0, "there is a second between two tries"
    troubled = await line.rounds().troubled(round_id, limit=100)
    assert {each.texts[0] for each in troubled} == {f"{POISON} {number}" for _, number in bad}
    assert {each.stage for each in troubled} == {AnswerStage.PARKED}
    assert all(each.error is not None and f"it cannot stand {each.text}" in each.error for each in troubled)
    without = [each.texts[0] for each in troubled]
    await line.assert_counted(round_id, without=without)
    await line.assert_counted(other)
    assert await line.rounds().rerun(round_id) == len(bad)
    await line.until_done()
    assert len(await line.rounds().troubled(round_id, limit=100)) == len(bad)
    await line.assert_counted(round_id, without=without)


async def test_an_answer_that_ends_every_worker_is_parked(line: Line) -> None:
    line.start()
    keeping = asyncio.create_task(line.keep_up())
    round_id = await line.submit(
        "deadly", 3, lambda model, number: DEADLY if (model, number) == (MODELS[1], 1) else said(model, number)
    )
    await line.until_done()
    keeping.cancel()
    assert len(line.workers) == 4, "it has ended three"
    (parked,) = await line.rounds().troubled(round_id, limit=9)
    assert (parked.text, parked.stage) == (DEADLY, AnswerStage.PARKED)
    assert parked.error is not None
    assert "has ended its process" in parked.error
    await line.assert_counted(round_id, without=[DEADLY])


async def test_every_job_comes_three_times_and_in_any_order(line: Line) -> None:
    port = a_port()
    line.start(port=port)
    line.start()
    await line.until(lambda: is_ready(port), "the worker is ready")
    round_id = await line.submit("slow", 100)
    seen: set[UUID] = set()

    async def all_are_seen() -> bool:
        for row in await line.rows("select id from round_batches"):
            if row["id"] not in seen:
                seen.add(row["id"])
                for step in ("board", "merge", "score"):
                    await line.send(row["id"], step, times=3)
        return await line.is_done()

    await line.until(all_are_seen, "the round is done")
    assert len(seen) >= 300 // 64
    for batch in list(seen):
        await line.send(batch, "score", times=1)
    await line.until_done()
    await line.assert_counted(round_id)


@pytest.mark.parametrize("skews_s", [(3600.0,), (-3600.0,), (-86_400.0, 86_400.0)])
async def test_clocks_are_wrong(line: Line, skews_s: tuple[float, ...]) -> None:
    ports = [a_port() for _ in skews_s]
    workers = [line.start(port=port, skew_s=skew_s) for port, skew_s in zip(ports, skews_s, strict=True)]
    for port in ports:
        await line.until(lambda port=port: is_ready(port), "the worker is ready")
    first = await line.submit("slow", 100)
    await line.until_done()
    await line.assert_counted(first)
    second = await line.submit("slow", 60)

    async def is_begun() -> bool:
        return bool(await line.rows("select from round_batches where tries > 0"))

    await line.until(is_begun, "a batch is begun")
    for worker in workers:
        line.kill(worker)
    line.start(skew_s=-skews_s[0])
    await line.until_done()
    await line.assert_counted(second)


async def test_redis_is_killed_and_emptied(database_url: str, tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path / "stores")
    url = server.start()
    try:
        async with open_line(database_url, url, tmp_path, prefix="crash") as line:
            line.start()
            keeping = asyncio.create_task(line.keep_up())
            round_id = await line.submit("slow", 300)

            async def is_begun() -> bool:
                return await line.scored() > 100

            await line.until(is_begun, "some answers are scored")
            assert server.child is not None
            server.child.kill()
            server.child.wait()
            shutil.rmtree(tmp_path / "stores" / "valkey")
            await asyncio.sleep(0.5)
            assert server.start() == url
            await line.until_done()
            await line.assert_counted(round_id)
            keeping.cancel()
    finally:
        server.stop()


async def test_the_ledger_is_killed_and_started_again(redis_url: str, key_prefix: str, tmp_path: Path) -> None:
    server = PostgresServer(tmp_path / "stores")
    url = server.start()
    try:
        await migrate(url)
        async with open_line(url, redis_url, tmp_path, prefix=key_prefix) as line:
            line.start()
            round_id = await line.submit("slow", 300)

            async def is_begun() -> bool:
                return await line.scored() > 100

            await line.until(is_begun, "some answers are scored")
            assert server.child is not None
            server.child.kill()
            server.child.wait()
            await asyncio.sleep(0.5)
            assert server.start() == url
            await line.until_done()
            await line.assert_counted(round_id)
    finally:
        server.stop()
