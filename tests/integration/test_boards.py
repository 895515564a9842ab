"""The live board, kept by a worker process: quick, right, and not lost with Redis."""

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest
import pytest_asyncio
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import Json, assemble, assert_whole, expect, expect_error, lines_of, parse, texts_of

from agon.stores.redis.client import connect

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def worker(shared_stage: Stage) -> AsyncIterator[Stage]:
    """The arena with a worker process on its stores."""
    stores = shared_stage.settings.stores
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AGON_")},
        "AGON_DATABASE_URL": stores.database_url,
        "AGON_REDIS_URL": stores.redis_url,
        "AGON_REDIS_PREFIX": stores.redis_prefix,
        "AGON_DATA_DIR": str(stores.data_dir),
    }
    log = stores.data_dir / "worker.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-m", "agon.cli", "worker"],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=stores.data_dir,
        )
    try:
        async with asyncio.timeout(40):
            while not await board_of(shared_stage):
                assert process.poll() is None, log.read_text()
                await asyncio.sleep(0.1)
        yield shared_stage
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 20)


async def board_of(stage: Stage) -> Json | None:
    """The board, or nothing before the first one was published."""
    async with httpx.AsyncClient(verify=False, base_url=stage.url, timeout=30) as client:
        board = expect(await client.get("/arena/boards/main"), 200)
    return board if board["updated_at"] else None


async def board_with(stage: Stage, votes: int) -> Json:
    async with asyncio.timeout(30):
        while (board := await board_of(stage)) is None or board["votes"] < votes:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return board


async def recount(stage: Stage) -> tuple[int, dict[str, Counter[str]]]:
    """Every vote of the ledger, counted again by hand."""
    connection = await stage.ledger()
    rows = await connection.fetch("select winner, contestant_a, contestant_b from votes")
    await connection.close()
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for side in ("a", "b"):
            ours = counts.setdefault(row[f"contestant_{side}"], Counter())
            won = {side: "wins", "tie": "ties", "both_bad": "both_bad"}.get(row["winner"], "losses")
            ours.update([won, "battles"])
    return len(rows), counts


async def assert_recounts(stage: Stage) -> None:
    votes, counts = await recount(stage)
    board = await board_with(stage, votes)
    assert board["votes"] == votes
    rows = {row["model"]: row for row in board["rows"]}
    assert set(NAMES) <= set(rows)
    for name, row in rows.items():
        ours = counts.get(name, Counter())
        for column in ("battles", "wins", "losses", "ties", "both_bad"):
            assert row[column] == ours[column], (name, column)
        if ours["battles"]:
            points = ours["wins"] + (ours["ties"] + ours["both_bad"]) / 2
            assert row["win_rate"] == pytest.approx(points / ours["battles"])
            assert row["ttft_median_ms"] > 0


async def test_the_board_shows_a_vote_soon_and_counts_right(worker: Stage) -> None:
    await worker.reset()
    delays: list[float] = []
    async with worker.person() as voter:
        for winner in ("a", "b", "tie", "both_bad", "a"):
            battle = await voter.answered()
            votes, _ = await recount(worker)
            expect(await voter.vote(battle, winner), 200)
            begun = time.monotonic()
            await board_with(worker, votes + 1)
            delays.append(time.monotonic() - begun)
    # A busy machine may be slow once or twice; the sweep alone would take most of a second on average.
    assert min(delays) < 1.0, delays
    await assert_recounts(worker)


async def test_watchers_are_sent_the_board_at_once_and_at_each_vote(worker: Stage) -> None:
    await worker.reset()
    votes, _ = await recount(worker)
    async with (
        worker.person() as voter,
        voter.http.stream("GET", "/arena/boards/main/events") as response,
        asyncio.timeout(30),
        aclosing(parse(lines_of(response))) as events,
    ):
        first = await anext(events)
        assert first.name == "board"
        assert first.data["votes"] == votes
        async with worker.person() as other:
            expect(await other.vote(await other.answered()), 200)
        async for seen in events:
            if seen.data["votes"] == votes + 1:
                break


@pytest.mark.slow
async def test_what_redis_loses_comes_back(worker: Stage) -> None:
    """All of it, in the middle of an answer."""
    await worker.reset()
    worker.script(rate_tokens_per_s=15.0, tokens=40)
    async with worker.person() as voter:
        expect(await voter.vote(await voter.answered()), 200)
        battle = await voter.start()
        seen = await voter.watch_until(battle, 4)
        redis: Any = connect(worker.settings.stores.redis_url)
        await redis.flushall()
        await redis.aclose()
        # Until the gateway's last reading of the roster is over, and the runner has beaten.
        await asyncio.sleep(0.3)
        await worker.until_ready()
        queued = await voter.compare(*NAMES)
        seen += await voter.watch(battle, seen[-1].id)
        final = await voter.find(battle)
        assert_whole(final)
        assert assemble(seen) == texts_of(final)
        assert_whole(await voter.settled(queued))
        expect(await voter.vote(battle), 200)
    await assert_recounts(worker)


async def test_turns_that_only_redis_knew_of_are_found_in_the_ledger(worker: Stage) -> None:
    await worker.reset()
    async with worker.person() as voter:
        await voter.http.get("/arena/battles")
        redis: Any = connect(worker.settings.stores.redis_url)
        battles: list[Json] = []
        for _ in range(5):
            battles.append(await voter.start())
            await redis.flushall()
            # Nobody plays until the runners have said again that they are there.
            await asyncio.sleep(0.3)
            await worker.until_ready()
        await redis.aclose()
        for battle in battles:
            assert_whole(await voter.settled(battle))


async def test_every_view_of_the_board_is_there_for_whoever_asks(worker: Stage) -> None:
    await worker.reset()
    async with worker.person() as voter:
        expect(await voter.vote(await voter.answered(), "tie"), 200)
        votes, counts = await recount(worker)
        await board_with(worker, votes)
        at = "/arena/boards/main"
        month = expect(await voter.http.get(at, params={"window": "30d", "style": "true"}), 200)
        assert month["view"] == {"window": "30d", "category": None, "style": True}
        assert month["votes"] == votes
        latin = expect(await voter.http.get(at, params={"category": "latin"}), 200)
        assert latin["votes"] == votes
        assert [note["code"] for note in latin["notes"]] == ["sparse_category"]
        chinese = expect(await voter.http.get(at, params={"category": "chinese", "window": "7d"}), 200)
        assert chinese["votes"] == 0
        matrix = expect(await voter.http.get(f"{at}/matrix"), 200)
        assert set(matrix["models"]) == set(counts)
        assert sum(map(sum, matrix["battles"])) == 2 * matrix["votes"]
        history = expect(await voter.http.get(f"{at}/history", params={"window": "7d"}), 200)
        assert len(history["days"]) == len(history["votes"]) == len(history["series"][0]["ratings"]) >= 1
        for bad in ({"window": "1d"}, {"category": "cooking"}, {"style": "perhaps"}):
            expect_error(await voter.http.get(at, params=bad), 422, "invalid_input")
        for path in ("/arena/boards/other/matrix", "/arena/boards/other/history"):
            expect_error(await voter.http.get(path), 404, "board_not_found")


async def test_a_view_that_is_watched_moves_with_each_vote(worker: Stage) -> None:
    await worker.reset()
    async with (
        worker.person() as voter,
        voter.http.stream("GET", "/arena/boards/main/events", params={"window": "7d"}) as response,
        asyncio.timeout(30),
        aclosing(parse(lines_of(response))) as events,
    ):
        first = await anext(events)
        assert first.data["view"]["window"] == "7d"
        async with worker.person() as other:
            expect(await other.vote(await other.answered()), 200)
        async for seen in events:
            if seen.data["votes"] == first.data["votes"] + 1:
                break


async def test_a_board_needs_no_job(worker: Stage) -> None:
    """A vote whose job was lost is found by the worker's own look."""
    await worker.reset()
    async with worker.person() as voter:
        battle = await voter.answered()
    votes, _ = await recount(worker)
    connection = await worker.ledger()
    await connection.execute(
        "insert into votes (receipt, conversation, person, winner, contestant_a, contestant_b) "
        "select gen_random_uuid(), id, person, 'tie', contestant_a, contestant_b from conversations where id = $1",
        battle["id"],
    )
    await connection.close()
    assert (await board_with(worker, votes + 1))["votes"] == votes + 1
    await assert_recounts(worker)
