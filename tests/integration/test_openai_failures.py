"""Servers that fail, clients that leave: nothing is cut short in silence, and nothing is left counted."""

import asyncio
import json
import time
from typing import Any

import httpx
import openai
import pytest
from tests.integration.openai_stage import ECHO, HELLO, MEASURED, PAIR, SOLO, OpenAiStage, until

from agon.engines.scripted_text import check_text

pytestmark = pytest.mark.asyncio(loop_scope="session")

WHOLE = ["http_500", "http_503", "http_429", "disconnect"]
BEFORE = [(kind, False) for kind in WHOLE] + [(kind, True) for kind in [*WHOLE, "error_event", "garbage", "truncate"]]
WITHIN = ["disconnect", "truncate", "error_event", "garbage"]


async def said(client: openai.AsyncOpenAI, model: str) -> str:
    text = ""
    async for chunk in await client.chat.completions.create(model=model, messages=HELLO, stream=True):
        text += chunk.choices[0].delta.content or ""
    return text


@pytest.mark.parametrize(("kind", "stream"), BEFORE)
async def test_another_server_takes_over_before_the_first_byte(
    openai_stage: OpenAiStage, kind: str, *, stream: bool
) -> None:
    openai_stage.script(0, fail={"kind": kind, "at_token": 0}, dialect={"role_delta": False})
    before = openai_stage.count("failed")[0]
    async with openai_stage.client() as client:
        for _ in range(16):
            if stream:
                text = await said(client, PAIR)
            else:
                answer = await client.chat.completions.create(model=PAIR, messages=HELLO)
                text = answer.choices[0].message.content or ""
            assert check_text(text).complete
    if kind != "http_429":
        assert openai_stage.count("failed")[0] - before < 16, "a server that has just failed is left alone for a while"
    await openai_stage.idle()


@pytest.mark.parametrize("kind", WITHIN)
async def test_an_answer_that_breaks_off_ends_with_an_error(openai_stage: OpenAiStage, kind: str) -> None:
    openai_stage.script(fail={"kind": kind, "at_token": 9}, rate_tokens_per_s=200.0)
    async with openai_stage.http() as http, openai_stage.client() as client:
        response = await http.post("/v1/chat/completions", json={"model": PAIR, "messages": HELLO, "stream": True})
        with pytest.raises(openai.APIError):
            await said(client, PAIR)
    assert response.status_code == 200
    *events, last, end = response.text.split("\n\n")
    assert (end, "[DONE]" in response.text) == ("", False)
    error = json.loads(last.removeprefix("data: "))["error"]
    assert error["code"] in {"engine_truncated", "engine_error", "engine_garbage"}
    texts = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"].get("content") or "" for event in events]
    assert check_text("".join(texts)).tokens == 9, "what came before the failure is whole"
    await openai_stage.idle()


async def test_without_another_server_the_failure_is_told(openai_stage: OpenAiStage) -> None:
    openai_stage.script(fail={"kind": "http_500"})
    async with openai_stage.client() as client:
        for model in (SOLO, PAIR):
            with pytest.raises(openai.InternalServerError) as caught:
                await client.chat.completions.create(model=model, messages=HELLO)
            assert (caught.value.status_code, caught.value.code) == (502, "engine_error")
    await openai_stage.idle()


async def test_retries_are_bounded(openai_stage: OpenAiStage) -> None:
    openai_stage.script(fail={"kind": "http_503"})
    before = sum(openai_stage.count("failed"))
    async with openai_stage.client() as client:
        await asyncio.gather(
            *(client.chat.completions.create(model=PAIR, messages=HELLO) for _ in range(60)), return_exceptions=True
        )
    assert sum(openai_stage.count("failed")) - before < 60 * 1.5
    await openai_stage.idle()


@pytest.mark.parametrize("gateway", [0, 1])
async def test_clients_who_leave_before_the_first_token_free_their_places(
    openai_stage: OpenAiStage, gateway: int
) -> None:
    openai_stage.script(first_token_delay_s=20.0)
    await leave(openai_stage, gateway, after_s=0.2, stream=True)
    await leave(openai_stage, gateway, after_s=0.2, stream=False)


@pytest.mark.parametrize("gateway", [0, 1])
async def test_clients_who_leave_mid_stream_free_their_places(openai_stage: OpenAiStage, gateway: int) -> None:
    openai_stage.script(rate_tokens_per_s=20.0, tokens=400)
    await leave(openai_stage, gateway, after_s=0.5, stream=True)


async def leave(stage: OpenAiStage, gateway: int, *, after_s: float, stream: bool) -> None:
    """A hundred at once ask, and are gone at once."""
    body = {"model": PAIR, "messages": HELLO, "stream": stream}
    cancelled = sum(stage.count("cancelled"))
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(verify=False, base_url=stage.urls[gateway], timeout=30, limits=limits) as http:
        tasks = [asyncio.create_task(http.post("/v1/chat/completions", json=body)) for _ in range(100)]
        await until(lambda: sum(stage.count("active")) == 100, 10)
        await asyncio.sleep(after_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        begun_s = time.perf_counter()
        await until(lambda: sum(stage.count("active")) == 0, 3)
        took_s = time.perf_counter() - begun_s
    assert took_s < 0.3, f"the servers' places were free after {took_s:.2f} s"
    assert sum(stage.count("cancelled")) - cancelled == 100
    await stage.idle()


async def test_two_gateways_count_in_one_balance(openai_stage: OpenAiStage) -> None:
    openai_stage.script(rate_tokens_per_s=30.0, tokens=60)
    async with openai_stage.client(0) as one, openai_stage.client(1) as other:
        tasks = [asyncio.create_task(said(client, PAIR)) for _ in range(10) for client in (one, other)]
        await until(lambda: sum(openai_stage.count("active")) == 20, 5)
        counted = {
            replica.url: replica for replica in await openai_stage.dispatch.replicas() if replica.contestant == PAIR
        }
        running = [counted[engine.url] for engine in openai_stage.engines]
        assert [replica.turns for replica in running] == openai_stage.count("active")
        assert min(openai_stage.count("active")) > 0
        assert all(replica.outstanding_tokens > 0 for replica in running)
        assert all(check_text(text).complete for text in await asyncio.gather(*tasks))
    await openai_stage.idle()


@pytest.mark.slow
async def test_what_is_written_is_measured(openai_stage: OpenAiStage) -> None:
    openai_stage.script(rate_tokens_per_s=40.0, tokens=40)
    async with openai_stage.client() as client:
        for _ in range(3):
            await asyncio.gather(*(said(client, MEASURED) for _ in range(20)))
            answers = client.chat.completions
            await asyncio.gather(*(answers.create(model=MEASURED, messages=HELLO) for _ in range(20)))
    async with asyncio.timeout(3):
        while True:
            [replica] = [one for one in await openai_stage.dispatch.replicas() if one.contestant == MEASURED]
            if 35 < replica.rate_tokens_per_s / replica.capacity < 45:
                break
            await asyncio.sleep(0.1)
    await openai_stage.idle()


async def test_a_slow_reader_gets_everything(openai_stage: OpenAiStage) -> None:
    chunk: dict[str, Any] = {"choices": [{"index": 0, "delta": {"content": 4000 * "x"}, "finish_reason": None}]}
    last: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    sent = b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in [*1000 * [chunk], last]) + b"data: [DONE]\n\n"
    openai_stage.echo.answers(sent, content_type="text/event-stream")
    got, body = 0, {"model": ECHO, "messages": HELLO, "stream": True}
    async with openai_stage.http() as http, http.stream("POST", "/v1/chat/completions", json=body) as response:
        await asyncio.sleep(0.3)
        async for data in response.aiter_bytes(65536):
            got += len(data)
    assert got == len(sent)
    await openai_stage.idle()


async def test_a_stream_may_end_without_done(openai_stage: OpenAiStage) -> None:
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}]
    sent = b"".join(b"data:%b\r\n\r\n" % json.dumps(chunk, separators=(",", ":")).encode() for chunk in chunks)
    openai_stage.echo.answers(b": hello\r\n\r\n" + sent, content_type="text/event-stream")
    async with openai_stage.http() as http:
        response = await http.post("/v1/chat/completions", json={"model": ECHO, "messages": HELLO, "stream": True})
    assert response.content == b": hello\r\n\r\n" + sent
    await openai_stage.idle()
