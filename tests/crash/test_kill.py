"""Processes are killed while people battle and vote: nothing that anybody was told is lost, and nothing hangs."""

import asyncio
import signal
from collections import Counter
from pathlib import Path

import httpx
import pytest
from tests.crash.arena import MARKS, MODELS, PATIENCE_S, Arena, Crowd, running_arena, until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600)]

PEOPLE = 20
BETWEEN_KILLS_S = 6.0


async def assert_nothing_pending(arena: Arena) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await arena.rows("select count(*) from answers where state = 'pending'"))[0][0]:  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def assert_votes_are_kept(arena: Arena, crowd: Crowd) -> None:
    rows = await arena.rows("select receipt::text, conversation::text, winner from votes")
    kept = {row["receipt"]: (row["conversation"], row["winner"]) for row in rows}
    assert len(kept) == len(rows)
    missing = {receipt: vote for receipt, vote in crowd.receipts.items() if kept.get(receipt) != vote}
    assert missing == {}, f"{len(missing)} acknowledged votes are lost"
    assert len({conversation for conversation, _ in kept.values()}) == len(kept)
    # Everybody insisted until they had their receipt, so there is no vote that nobody knows of.
    assert set(kept) == set(crowd.receipts)


async def assert_board_recounts(arena: Arena) -> None:
    rows = await arena.rows("select winner, contestant_a, contestant_b from votes")
    counts = {name: Counter[str]() for name in MODELS}
    for row in rows:
        for side in ("a", "b"):
            won = {side: "wins", "tie": "ties", "both_bad": "both_bad"}.get(row["winner"], "losses")
            counts[row[f"contestant_{side}"]].update([won, "battles"])
    # Whoever does not answer in time has lost, on a machine that is too busy.
    for row in await arena.rows(
        "select a.contestant, a.state from answers a join conversations c on c.id = a.conversation "
        "where c.void_reason is null and exists (select from answers f "
        "where f.conversation = c.id and f.state = 'forfeited')"
    ):
        counts[row["contestant"]].update(["losses" if row["state"] == "forfeited" else "wins", "battles"])
    async with httpx.AsyncClient(verify=False, base_url=arena.url, timeout=20) as client, asyncio.timeout(PATIENCE_S):
        while (board := (await client.get("/arena/boards/main")).json())["votes"] != len(rows):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    shown = {row["model"]: row for row in board["rows"]}
    assert set(shown) == set(MODELS)
    for name, row in shown.items():
        for column in ("battles", "wins", "losses", "ties", "both_bad"):
            assert row[column] == counts[name][column], (name, column)


async def assert_every_battle_ended(arena: Arena, crowd: Crowd) -> None:
    rows = await arena.rows(
        "select c.id::text, c.void_reason is not null as void, v.id is not null as voted, "
        "bool_and(a.state in ('done', 'forfeited')) and not bool_and(a.state = 'forfeited') as stands "
        "from conversations c "
        "left join votes v on v.conversation = c.id join answers a on a.conversation = c.id group by c.id, v.id"
    )
    ends = {row["id"]: row for row in rows}
    assert crowd.started <= set(ends)
    for battle, row in ends.items():
        assert row["void"] != row["stands"], battle
        assert not (row["void"] and row["voted"]), battle


async def test_nothing_is_lost_and_nothing_hangs(tmp_path: Path) -> None:
    async with running_arena(tmp_path) as arena:
        crowd, closing = Crowd(arena.url), asyncio.Event()
        people = [asyncio.create_task(crowd.person(number, closing)) for number in range(PEOPLE)]
        for name in MARKS:
            await asyncio.sleep(BETWEEN_KILLS_S)
            await arena.kill(name)
        await asyncio.sleep(BETWEEN_KILLS_S)
        closing.set()
        await asyncio.gather(*people)
        await arena.until_ready()
        await assert_nothing_pending(arena)
        await assert_votes_are_kept(arena, crowd)
        await assert_every_battle_ended(arena, crowd)
        await assert_board_recounts(arena)
        assert len(crowd.receipts) > PEOPLE, (crowd.ends, crowd.troubles)
        arena.supervisor.send_signal(signal.SIGINT)
        await until(lambda: arena.supervisor.poll() is not None, "the supervisor ends")
        assert arena.supervisor.returncode == 0, arena.output.read_text()
        assert arena.processes() == []


async def test_a_killed_supervisor_leaves_no_process(tmp_path: Path) -> None:
    async with running_arena(tmp_path) as arena:
        assert {name for name in MARKS if arena.part(name) is not None} == set(MARKS)
        assert len(arena.processes()) > len(MARKS)
        arena.supervisor.kill()
        arena.supervisor.wait()
        await until(lambda: arena.processes() == [], "every process of the data folder is gone")
