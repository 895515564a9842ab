"""Direct chat: waiting, streaming, told where to watch, and over a WebSocket."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import Json, assemble, assert_whole, expect, expect_error, names, parse, texts_of
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from agon.engines.scripted_text import check_text

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL, OTHER = NAMES


class Talk:
    """One WebSocket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def ask(self, **message: object) -> list[Json]:
        """Send a message; returns its events up to the last one."""
        await self.socket.send(json.dumps(message))
        events: list[Json] = []
        async with asyncio.timeout(30):
            while not events or events[-1]["event"] not in {"done", "failed", "error"}:
                events.append(json.loads(await self.socket.recv()))
        return events


def text_of(events: list[Json]) -> str:
    text = ""
    for event in events:
        if event["event"] == "packet":
            assert event["offset"] <= len(text)
            text = text[: event["offset"]] + event["text"]
    return text


@asynccontextmanager
async def talking(stage: Stage, **options: Any) -> AsyncGenerator[Talk]:
    async with connect(stage.url.replace("http", "ws") + "/chat", **options) as socket:
        yield Talk(socket)


async def test_one_asks_and_waits(stage: Stage) -> None:
    async with stage.person() as voter:
        first = expect(await voter.http.post("/chat", json={"prompt": "Hello?", "model": MODEL}), 200)
        assert first["turn"] == 1
        assert first["finish_reason"] == "stop"
        assert check_text(first["text"]).complete
        again = {"prompt": "And?", "session_id": first["session_id"]}
        second = expect(await voter.http.post("/chat", json=again), 200)
        assert (second["turn"], second["session_id"]) == (2, first["session_id"])
        assert check_text(second["text"]).key != check_text(first["text"]).key
        found = await voter.find({"id": first["session_id"]})
        assert found["models"] == {"a": MODEL}
        assert [turn["answers"]["a"]["text"] for turn in found["turns"]] == [first["text"], second["text"]]


async def test_a_model_need_not_be_named(stage: Stage) -> None:
    async with stage.person() as voter:
        said = expect(await voter.http.post("/chat", json={"prompt": "Hello?"}), 200)
        assert check_text(said["text"]).complete


async def test_an_answer_has_the_length_that_was_asked_for(stage: Stage) -> None:
    async with stage.person() as voter:
        said = expect(await voter.http.post("/chat", json={"prompt": "Hello?", "model": MODEL, "max_tokens": 5}), 200)
        assert said["finish_reason"] == "length"
        assert check_text(said["text"]).tokens == 5
        response = await voter.http.post("/chat", json={"prompt": "Hello?", "max_tokens": 0})
        expect_error(response, 422, "limit_exceeded", "max_tokens")


async def test_the_answer_can_be_streamed(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=60.0)
    headers = {"Accept": "text/event-stream"}
    async with stage.person() as voter:
        body = {"prompt": "Hello?", "model": MODEL}
        async with voter.http.stream("POST", "/chat", json=body, headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            assert "agon_voter" in response.headers["set-cookie"]

            async def lines() -> AsyncGenerator[str]:
                async for line in response.aiter_lines():
                    yield line

            seen = [event async for event in parse(lines())]
        assert len(names(seen, "packet")) > 3
        assert len(names(seen, "done")) == 1
        history = (await voter.http.get("/arena/battles")).json()["conversations"]
        found = await voter.find(history[0])
        assert assemble(seen) == texts_of(found)


async def test_one_can_be_told_where_to_watch(stage: Stage) -> None:
    async with stage.person() as voter:
        response = await voter.http.post(
            "/chat", json={"prompt": "Hello?", "model": MODEL}, headers={"Prefer": "respond-async"}
        )
        started = expect(response, 202)
        assert response.headers["preference-applied"] == "respond-async"
        seen = await voter.watch(started)
        found = await voter.find(started)
        assert_whole(found)
        assert assemble(seen) == texts_of(found)


async def test_a_chat_keeps_its_model_and_its_person(stage: Stage) -> None:
    async with stage.person() as voter, stage.person() as other:
        said = expect(await voter.http.post("/chat", json={"prompt": "Hello?", "model": MODEL}), 200)
        session = {"prompt": "And?", "session_id": said["session_id"]}
        response = await voter.http.post("/chat", json={**session, "model": OTHER})
        expect_error(response, 422, "invalid_input", "model")
        theirs = await other.http.post("/chat", json={**session, "model": MODEL})
        if theirs.status_code == 200:
            assert theirs.json()["turn"] == 1, "an id of somebody else's chat is at most a new name"
        battle = await voter.answered()
        response = await voter.http.post("/chat", json={"prompt": "Who?", "session_id": battle["id"]})
        expect_error(response, 409, "not_a_chat", "session_id")


async def test_a_session_can_be_started_by_many_at_once(stage: Stage) -> None:
    async with stage.person() as voter:
        await voter.http.get("/arena/battles")
        body = {"prompt": "Hello?", "model": MODEL, "session_id": "my own name"}
        responses = await asyncio.gather(*(voter.http.post("/chat", json=body) for _ in range(8)))
        assert {response.status_code for response in responses} <= {200, 409}, [one.text for one in responses]
        assert any(response.status_code == 200 for response in responses)


@pytest.mark.parametrize("model", ["Nobody", "", "a\nb", "x" * 300])
async def test_a_model_that_is_not_there_is_named(stage: Stage, model: str) -> None:
    async with stage.person() as voter:
        response = await voter.http.post("/chat", json={"prompt": "Hello?", "model": model})
        assert response.status_code == 422
        assert response.json()["error"]["field"] == "model"


async def test_a_failed_answer_is_an_error_to_one_who_waits(stage: Stage) -> None:
    stage.script(MODEL, fail={"kind": "http_500", "times": 2})
    async with stage.person() as voter:
        response = await voter.http.post("/chat", json={"prompt": "Hello?", "model": MODEL})
        expect_error(response, 503, "answer_failed")
        assert "retry-after" in response.headers


async def test_one_talks_over_a_websocket_and_the_session_goes_on(stage: Stage) -> None:
    async with talking(stage) as talk:
        first = await talk.ask(session_id=None, prompt="Hello?", model=MODEL, max_tokens=20)
        assert first[0]["event"] == "session"
        assert first[0]["turn"] == 1
        assert check_text(text_of(first)).tokens == 20
        second = await talk.ask(session_id=first[0]["session_id"], prompt="And?")
        assert (second[0]["session_id"], second[0]["turn"]) == (first[0]["session_id"], 2)
        assert check_text(text_of(second)).complete
        response = talk.socket.response
        assert response is not None
        cookie = response.headers["set-cookie"].split(";")[0]
    async with talking(stage, additional_headers={"Cookie": cookie}) as talk:
        third = await talk.ask(session_id=first[0]["session_id"], prompt="Still there?")
        assert third[0]["turn"] == 3


async def test_errors_leave_the_websocket_open(stage: Stage) -> None:
    async with talking(stage) as talk:
        for message, code, field in (
            ("not json", "invalid_json", None),
            ("[]", "invalid_input", "body"),
            ("{}", "missing_field", "prompt"),
            (json.dumps({"prompt": " "}), "empty_prompt", "prompt"),
            (json.dumps({"prompt": "Hi", "model": "Nobody"}), "unknown_model", "model"),
            (json.dumps({"prompt": "Hi", "max_tokens": -1}), "limit_exceeded", "max_tokens"),
            (json.dumps({"prompt": "Hi", "colour": "red"}), "invalid_input", "colour"),
            (b"\x00\x01", "invalid_json", None),
        ):
            await talk.socket.send(message)
            event = json.loads(await talk.socket.recv())
            assert event["event"] == "error", (message, event)
            assert (event["error"]["code"], event["error"]["field"]) == (code, field), message
        said = await talk.ask(prompt="Hello?", model=MODEL)
        assert check_text(text_of(said)).complete


async def test_a_failed_answer_is_told_over_the_websocket(stage: Stage) -> None:
    stage.script(MODEL, fail={"kind": "http_500", "times": 2})
    async with talking(stage) as talk:
        events = await talk.ask(prompt="Hello?", model=MODEL)
        assert events[-1]["event"] == "failed"
        assert check_text(text_of(await talk.ask(prompt="Hello?", model=MODEL))).complete


async def test_another_site_cannot_talk_in_ones_name(stage: Stage) -> None:
    with pytest.raises((ConnectionClosed, OSError, Exception)) as refused:
        async with talking(stage, origin="http://elsewhere.example") as talk:
            await talk.ask(prompt="Hello?")
    assert "403" in str(refused.value) or "1008" in str(refused.value)
