"""One who leaves frees what was written for them, unless they or somebody else may still want it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress

import httpx
import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.test_chat import talking
from tests.integration.voter import Json, Seen, Voter, assert_whole, expect
from websockets.asyncio.client import connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL, _ = NAMES
ENGINE = NAMES[MODEL]
BODY = {"prompt": "Why?", "model": MODEL}
STREAM = {"Accept": "text/event-stream"}


def write_slowly(stage: Stage, rate_tokens_per_s: float = 5.0, **script: object) -> None:
    stage.script("*", rate_tokens_per_s=rate_tokens_per_s, tokens=400, **script)


async def until_writing(stage: Stage, count: int = 1) -> None:
    async with asyncio.timeout(10):
        while stage.engine.counters(ENGINE).active < count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def freed_after_s(stage: Stage) -> float:
    """Seconds from now until no engine works any more."""
    begun_s = asyncio.get_running_loop().time()
    async with asyncio.timeout(10):
        while any(stage.engine.counters(model).active for model in NAMES.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    return asyncio.get_running_loop().time() - begun_s


@asynccontextmanager
async def asking(voter: Voter, *, stream: bool) -> AsyncGenerator[None]:
    """Ask, and be gone at the end of the block."""
    headers = STREAM if stream else {}
    task = asyncio.create_task(voter.http.post("/chat", json=BODY, headers=headers))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def answer_of_the_last_chat(stage: Stage, voter: Voter) -> Json:
    chat = (await voter.http.get("/arena/battles")).json()["conversations"][0]
    return (await voter.settled(chat))["turns"][-1]["answers"]["a"]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "wait"])
@pytest.mark.parametrize("moment", ["before the first token", "mid-stream"])
async def test_one_who_leaves_frees_the_engine_at_once(stage: Stage, *, stream: bool, moment: str) -> None:
    write_slowly(stage, first_token_delay_s=5.0 if moment == "before the first token" else 0.0)
    delays: list[float] = []
    for _ in range(3):
        async with stage.person() as voter:
            await voter.introduce()
            async with asking(voter, stream=stream):
                await until_writing(stage)
                await asyncio.sleep(0.05)
            delays.append(await freed_after_s(stage))
            answer = await answer_of_the_last_chat(stage, voter)
            assert (answer["state"], answer["finish_reason"]) == ("stopped", "stopped")
    # A busy machine may be slow once or twice.
    assert min(delays) < 0.3, delays
    await stage.until_idle()


async def test_a_hundred_who_leave_at_once_free_everything(stage: Stage) -> None:
    write_slowly(stage, first_token_delay_s=0.2)
    async with stage.gateway(queue_s=0.0, arena_share=0.0, client_tokens_per_minute=0) as url:
        before = stage.engine.counters(ENGINE).started
        people = [Voter(url) for _ in range(100)]
        tasks = [
            asyncio.create_task(voter.http.post("/chat", json=BODY, headers=STREAM if number % 2 else {}))
            for number, voter in enumerate(people)
        ]
        async with stage.dispatch() as dispatch, asyncio.timeout(10):
            while sum(replica.turns for replica in await dispatch.replicas()) < 100:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *(voter.http.aclose() for voter in people), return_exceptions=True)
        # Clients, gateway, runner and engine share one loop here, and the machine may be busy.
        assert await freed_after_s(stage) < 1.5
        await stage.until_idle()
        assert stage.engine.counters(ENGINE).started - before < 100, "whoever waited for a place was never begun"


async def test_one_whose_key_may_come_back_and_one_who_is_not_alone_lose_nothing(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=20.0, tokens=24)
    async with stage.person() as voter:
        await voter.introduce()
        key = {"Idempotency-Key": "again"}
        asked = asyncio.create_task(voter.http.post("/chat", json=BODY, headers=key))
        await until_writing(stage)
        asked.cancel()
        again = expect(await voter.http.post("/chat", json=BODY, headers=key), 200)
        assert again["finish_reason"] == "stop"
        async with asking(voter, stream=True):
            await until_writing(stage)
            chat = (await voter.http.get("/arena/battles")).json()["conversations"][0]
            events = voter.stream(chat)
            first = await anext(events)
        seen = [first] + [event async for event in events]
        assert seen[-1].name == "done"
        assert_whole(await voter.find(chat))
    await stage.until_idle()


async def test_a_battle_that_its_last_watcher_has_left_is_stopped_after_the_grace(stage: Stage) -> None:
    write_slowly(stage, 30.0)
    async with stage.gateway(abandon_s=0.0) as url, stage.person() as voter, voter.at(url) as hasty:
        await voter.introduce()
        battle = await hasty.start()
        # Nobody has left what nobody has watched.
        await asyncio.sleep(0.3)
        assert stage.engine.counters(ENGINE).active == 1
        async with aclosing(voter.stream(battle)) as patient:
            await anext(patient)
            await hasty.watch_until(battle, 2)
            await asyncio.sleep(0.3)
            assert stage.engine.counters(ENGINE).active == 1, "somebody watches on another gateway"
        # That gateway has the usual grace, in which nobody watches and nothing is stopped.
        await asyncio.sleep(0.3)
        assert stage.engine.counters(ENGINE).active == 1
        await hasty.watch_until(battle, 2)
        await asyncio.sleep(0.3)
        assert stage.engine.counters(ENGINE).active == 1, "the first one may still come back"
        await voter.http.post(f"/arena/battles/{battle['id']}/stop")
        delays: list[float] = []
        for _ in range(3):
            battle = await hasty.start()
            await hasty.watch_until(battle, 2)
            delays.append(await freed_after_s(stage))
            answers = (await voter.settled(battle))["turns"][0]["answers"]
            assert {answer["state"] for answer in answers.values()} == {"stopped"}
        assert min(delays) < 0.3, delays
    await stage.until_idle()


async def test_one_who_comes_back_within_the_grace_goes_on(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=25.0, tokens=40)
    async with stage.gateway(abandon_s=1.0) as url, stage.person() as voter, voter.at(url) as first:
        await voter.introduce()
        battle = await first.start()
        seen = await first.watch_until(battle, 2)
        await asyncio.sleep(0.5)
        rest = await voter.watch(battle, seen[-1].id)
        assert [event.name for event in rest].count("done") == 2
        assert_whole(await voter.find(battle))
    await stage.until_idle()


async def test_a_gateway_that_is_shut_down_has_not_been_left(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=15.0, tokens=60)
    async with stage.person() as voter, AsyncExitStack() as later:
        await voter.introduce()
        async with stage.gateway(abandon_s=0.0) as url:
            there = await later.enter_async_context(voter.at(url))
            battle = await there.start()
            events = there.stream(battle)
            seen = [await anext(events) for _ in range(3)]
            reading = asyncio.create_task(drain(events))
        await reading
        assert stage.engine.counters(ENGINE).active == 1, "the test is too slow for its script"
        await voter.watch(battle, seen[-1].id)
        assert_whole(await voter.find(battle))
    await stage.until_idle()


async def drain(events: AsyncGenerator[Seen]) -> None:
    """Read on until the connection breaks or ends."""
    with suppress(httpx.HTTPError):
        async for _ in events:
            pass


async def test_one_who_leaves_a_websocket_has_the_grace(stage: Stage) -> None:
    write_slowly(stage, 30.0)
    async with stage.gateway(abandon_s=0.0) as url:
        delays: list[float] = []
        for _ in range(3):
            async with connect(url.replace("http", "ws") + "/chat") as socket:
                await socket.send(json.dumps(BODY))
                while json.loads(await socket.recv())["event"] != "packet":
                    pass
            delays.append(await freed_after_s(stage))
        assert min(delays) < 0.3, delays
    stage.script(rate_tokens_per_s=30.0, tokens=24)
    async with talking(stage) as talk:
        await talk.socket.send(json.dumps(BODY))
        await until_writing(stage)
    await asyncio.sleep(0.3)
    assert stage.engine.counters(ENGINE).active == 1
    await stage.until_idle()


async def test_who_asks_for_later_need_not_watch(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=25.0, tokens=24)
    async with stage.gateway(abandon_s=0.0) as url, Voter(url) as voter:
        response = await voter.http.post("/chat", json=BODY, headers={"Prefer": "respond-async"})
        started = expect(response, 202)
        await voter.watch_until(started, 1)
        assert_whole(await voter.settled(started))
    await stage.until_idle()
