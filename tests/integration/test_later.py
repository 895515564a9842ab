"""Answers that are asked for later, answers of earlier turns, and sockets that are resumed."""

import asyncio
import json
from typing import Any

import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.test_chat import Talk, text_of
from tests.integration.voter import Json, Voter, assemble, expect, expect_error, lines_of, names, parse
from websockets.asyncio.client import connect

from agon.engines.scripted_text import check_text

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL, _ = NAMES
LATER = {"Prefer": "respond-async"}


async def ask_for_later(voter: Voter, **body: Any) -> str:
    response = await voter.http.post("/chat", json={"prompt": "Why?", "model": MODEL, **body}, headers=LATER)
    expect(response, 202)
    return response.headers["location"]


async def test_an_answer_can_be_asked_for_later(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=30.0, tokens=24)
    async with stage.gateway() as url, stage.person() as voter, voter.at(url) as elsewhere:
        where = await ask_for_later(voter)
        texts: list[str] = []
        async with asyncio.timeout(20):
            while (found := expect(await elsewhere.http.get(where), 200))["state"] == "pending":
                assert found["finish_reason"] is None
                texts.append(found["text"])
                await asyncio.sleep(0.05)
        assert (found["state"], found["finish_reason"], found["turn"]) == ("done", "stop", 1)
        assert found["usage"]["completion_tokens"] == 24
        assert check_text(found["text"]).complete
        assert len(set(texts)) > 2, "it is seen to grow"
        assert all(found["text"].startswith(text) for text in texts)
        async with stage.person() as other:
            expect_error(await other.http.get(where), 404, "result_not_found")
        second = await ask_for_later(voter, model=None, session_id=found["session_id"], prompt="And?")
        assert second != where
        assert expect(await voter.http.get(where), 200) == found


async def test_an_answer_that_failed_or_was_stopped_is_told(stage: Stage) -> None:
    stage.script(MODEL, fail={"kind": "http_500"})
    async with stage.person() as voter:
        where = await ask_for_later(voter)
        async with asyncio.timeout(20):
            while (found := expect(await voter.http.get(where), 200))["state"] == "pending":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert (found["state"], found["text"]) == ("failed", "")
        stage.script(MODEL, fail=None, rate_tokens_per_s=20.0, tokens=200)
        where = await ask_for_later(voter)
        while not expect(await voter.http.get(where), 200)["text"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        chat = where.rpartition("/")[2].rpartition(".")[0]
        expect(await voter.http.post(f"/arena/battles/{chat}/stop"), 200)
        await voter.settled({"id": chat})
        found = expect(await voter.http.get(where), 200)
        assert (found["state"], found["finish_reason"]) == ("done", "stopped")
        assert found["text"]


async def test_a_result_that_is_not_there_is_not_found(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        chat = (await ask_for_later(voter)).removeprefix("/chat/result/").removesuffix(".1")
        for result in (f"{battle['id']}.1", f"{chat}.2", f"{chat}.0", f"{chat}.x", chat, "nothing", "1.1"):
            expect_error(await voter.http.get(f"/chat/result/{result}"), 404, "result_not_found")


async def test_the_key_of_an_earlier_turn_brings_that_turn(stage: Stage) -> None:
    async with stage.gateway() as url, stage.person() as voter, voter.at(url) as elsewhere:
        asks = [{"prompt": f"Question {number}", "session_id": "mine"} for number in (1, 2, 3)]
        keys = [{"Idempotency-Key": f"turn {number}"} for number in (1, 2, 3)]
        answers: list[Json] = []
        for ask, key in zip(asks, keys, strict=True):
            answers.append(expect(await voter.http.post("/chat", json={**ask, "model": MODEL}, headers=key), 200))
        assert [answer["turn"] for answer in answers] == [1, 2, 3]
        for at in (voter, elsewhere):
            for ask, key, answer in zip(asks, keys, answers, strict=True):
                assert expect(await at.http.post("/chat", json=ask, headers=key), 200) == answer
                headers = {**key, "Accept": "text/event-stream"}
                async with at.http.stream("POST", "/chat", json=ask, headers=headers) as response:
                    seen = [event async for event in parse(lines_of(response))]
                assert assemble(seen) == {"a": answer["text"]}
                assert [data["turn"] for data in names(seen, "done")] == [answer["turn"]]
        wrong = await voter.http.post("/chat", json={**asks[0], "prompt": "Another"}, headers=keys[0])
        expect_error(wrong, 409, "idempotency_mismatch")


async def test_a_socket_that_broke_is_resumed_on_another_gateway_without_a_prompt(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=30.0, tokens=36)
    async with stage.gateway() as url, stage.person() as voter:
        headers = {"Cookie": await voter.introduce()}
        seen: list[Json] = []
        async with connect(stage.url.replace("http", "ws") + "/chat", additional_headers=headers) as socket:
            await socket.send(json.dumps({"session_id": "broken", "prompt": "Why?", "model": MODEL}))
            while [event["event"] for event in seen].count("packet") < 3:
                seen.append(json.loads(await socket.recv()))
        resume = {"session_id": "broken", "resume_from": seen[-1]["id"]}
        async with (
            connect(url.replace("http", "ws") + "/chat", additional_headers=headers) as second,
            connect(url.replace("http", "ws") + "/chat", additional_headers=headers) as third,
        ):
            rest, same = await asyncio.gather(Talk(second).ask(**resume), Talk(third).ask(**resume))
            assert (rest[0]["event"], rest[0]["turn"]) == ("session", 1)
            assert text_of(rest_of(seen, rest)) == text_of(rest_of(seen, same))
            whole = text_of(rest_of(seen, rest))
            assert check_text(whole).complete
            assert rest[1]["offset"] == len(text_of(seen)), "not a character twice"
            following = await Talk(second).ask(session_id="broken", prompt="And?")
            assert following[0]["turn"] == 2
        chat = (await voter.http.get("/arena/battles")).json()["conversations"][0]
        assert (await voter.find(chat))["turns"][0]["answers"]["a"]["text"] == whole


def rest_of(seen: list[Json], rest: list[Json]) -> list[Json]:
    return [*seen, *(event for event in rest if event["event"] != "session")]


async def test_what_cannot_be_resumed_is_told(stage: Stage) -> None:
    async with stage.person() as voter:
        headers = {"Cookie": await voter.introduce()}
        battle = await voter.answered()
        async with connect(stage.url.replace("http", "ws") + "/chat", additional_headers=headers) as socket:
            talk = Talk(socket)
            await talk.ask(session_id="there", prompt="Why?", model=MODEL)
            for message, code, field in (
                ({"session_id": "nowhere", "resume_from": "1-a1.3"}, "session_not_found", "session_id"),
                ({"session_id": "there", "resume_from": "not an id"}, "bad_event_id", "resume_from"),
                ({"session_id": battle["id"], "resume_from": "1"}, "not_a_chat", "session_id"),
                ({"resume_from": "1"}, "missing_field", "session_id"),
                ({"session_id": "there", "resume_from": "1", "prompt": "Why?"}, "invalid_input", "prompt"),
            ):
                [event] = await talk.ask(**message)
                assert (event["error"]["code"], event["error"]["field"]) == (code, field), message
            resumed = await talk.ask(session_id="there", resume_from="1")
            assert check_text(text_of(resumed)).complete
