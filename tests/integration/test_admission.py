"""Who is let in, who is sent away, and that neither leaves a trace of what did not happen."""

import asyncio
from collections import Counter

import httpx
import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import Voter, assert_whole, expect, expect_error

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL, OTHER = NAMES
LATER = {"Prefer": "respond-async"}


async def conversations_of(voter: Voter) -> int:
    return len((await voter.http.get("/arena/battles", params={"limit": 100})).json()["conversations"])


async def test_one_who_asks_for_too_much_is_told_when_to_come_back(stage: Stage) -> None:
    async with (
        stage.gateway(client_tokens_per_minute=240, queue_s=0.0, arena_share=0.0) as url,
        Voter(url) as voter,
        Voter(url) as other,
    ):
        await voter.introduce()
        body = {"prompt": "Hi", "model": MODEL, "max_tokens": 1}
        responses = await asyncio.gather(
            *(voter.http.post("/chat", json=body, headers=LATER) for _ in range(60)),
        )
        statuses = Counter(response.status_code for response in responses)
        assert set(statuses) == {202, 429}
        refused = next(response for response in responses if response.status_code == 429)
        expect_error(refused, 429, "client_limit")
        assert await conversations_of(voter) == statuses[202]
        expect(await other.http.post("/chat", json=body, headers=LATER), 202)
        wait_s = int(refused.headers["retry-after"])
        assert 1 <= wait_s <= 5
        await asyncio.sleep(wait_s)
        expect(await voter.http.post("/chat", json=body, headers=LATER), 202)
        text = (await voter.http.get("/metrics")).text
        assert f'arena_refusals_total{{reason="client_limit"}} {statuses[429]}.0' in text
        assert f'arena_turns_total{{kind="chat"}} {statuses[202] + 2}.0' in text
    await stage.until_idle()


async def test_a_burst_is_refused_before_anything_is_written_and_whoever_is_let_in_is_answered(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=40.0, tokens=40)
    async with stage.gateway(queue_s=0.02, arena_share=0.0) as url, Voter(url) as voter:
        await voter.introduce()
        responses = await asyncio.gather(
            *(voter.http.post("/arena/battles", json={"prompt": "Why? " * 40}) for _ in range(80))
        )
        refused = [response for response in responses if response.status_code != 201]
        assert 0 < len(refused) < len(responses)
        for response in refused:
            expect_error(response, 429, "busy")
            assert int(response.headers["retry-after"]) >= 1
        assert await conversations_of(voter) == len(responses) - len(refused)
        started = [response.json() for response in responses if response.status_code == 201]
        for battle in started:
            assert_whole(await voter.settled(battle))
    await stage.until_idle()


async def test_a_further_turn_is_refused_as_a_start_is(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        session = expect(await voter.http.post("/chat", json={"prompt": "Hi", "model": MODEL}), 200)["session_id"]
        where, key = f"/arena/battles/{battle['id']}", {"Idempotency-Key": "same"}
        first = expect(await voter.http.post(f"{where}/turns", json={"prompt": "More?"}, headers=key), 201)
        await voter.settled(battle)
        async with stage.gateway(client_tokens_per_minute=1) as url, voter.at(url) as limited:
            # A bucket that is full lets one turn through, whatever its size.
            expect(await limited.http.post("/chat", json={"prompt": "Hi", "model": MODEL}), 200)
            expect_error(await limited.http.post(f"{where}/turns", json={"prompt": "Again?"}), 429, "client_limit")
            response = await limited.http.post("/chat", json={"prompt": "And?", "session_id": session})
            expect_error(response, 429, "client_limit")
            response = await limited.http.post("/chat", json={"prompt": "And?", "session_id": "a name"})
            expect_error(response, 429, "client_limit")
            assert len((await voter.find(battle))["turns"]) == 2
            assert len((await voter.find({"id": session}))["turns"]) == 1
            # What was asked for before is found, whatever the limit.
            again = expect(await limited.http.post(f"{where}/turns", json={"prompt": "More?"}, headers=key), 201)
            assert len(first["turns"]) == len(again["turns"]) == 2
    await stage.until_idle()


async def test_two_gateways_count_together_and_leave_nothing(stage: Stage) -> None:
    async with stage.gateway() as url, stage.person() as voter, voter.at(url) as elsewhere:
        await voter.introduce()
        key = {"Idempotency-Key": "one of many"}

        async def ask(number: int) -> httpx.Response:
            at = voter if number % 2 else elsewhere
            return await at.http.post("/arena/battles", json={"prompt": "Why?"}, headers=key)

        responses = await asyncio.gather(*(ask(number) for number in range(20)))
        assert len({expect(response, 201)["id"] for response in responses}) == 1
        assert await conversations_of(voter) == 1
        assert_whole(await voter.settled(responses[0].json()))
        body = {"prompt": "Hello?", "model": OTHER, "session_id": "shared"}
        keys = [{"Idempotency-Key": "k"}] * 6
        answers = await asyncio.gather(
            *((voter, elsewhere)[n % 2].http.post("/chat", json=body, headers=key) for n, key in enumerate(keys))
        )
        texts = {expect(response, 200)["text"] for response in answers}
        assert len(texts) == 1, "a repeated ask has one answer, on whichever gateway"
    await stage.until_idle()


async def test_asks_that_are_given_up_leave_nothing_counted(stage: Stage) -> None:
    async with stage.person() as voter:
        await voter.introduce()

        async def give_up(after_s: float) -> None:
            try:
                async with asyncio.timeout(after_s):
                    await voter.http.post("/arena/battles", json={"prompt": "Why?"})
            except TimeoutError:
                pass

        await asyncio.gather(*(give_up(0.001 * number) for number in range(40)))
        history = (await voter.http.get("/arena/battles", params={"limit": 100})).json()["conversations"]
        for battle in history:
            assert_whole(await voter.settled(battle))
    await stage.until_idle()


@pytest.mark.slow
async def test_without_redis_nobody_is_let_in_and_nothing_is_half_written(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        session = expect(await voter.http.post("/chat", json={"prompt": "Hi", "model": MODEL}), 200)["session_id"]
        async with stage.gateway(redis_url="unix:///nowhere.sock") as url, voter.at(url) as alone:
            where = f"/arena/battles/{battle['id']}"
            for path, body in (
                ("/arena/battles", {"prompt": "Why?"}),
                ("/arena/side-by-side", {"prompt": "Why?", "models": {"a": MODEL, "b": OTHER}}),
                (f"{where}/turns", {"prompt": "More?"}),
                ("/chat", {"prompt": "And?", "session_id": session}),
                ("/chat", {"prompt": "Hi", "session_id": "a new name", "model": MODEL}),
            ):
                response = await alone.http.post(path, json=body)
                expect_error(response, 503, "bus_unavailable")
                assert int(response.headers["retry-after"]) >= 1
            assert len((await alone.find(battle))["turns"]) == 1
            assert len((await alone.find({"id": session}))["turns"]) == 1
            assert await conversations_of(alone) == 2
            # What needs no bus goes on.
            expect(await alone.vote(battle), 200)
    await stage.until_idle()
