"""OpenAI's own client, unmodified, and what it never sends."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import openai
import pytest
from tests.integration.openai_stage import ABSENT, API_KEYS, ECHO, HELLO, MODEL, NARROW, PAIR, SOLO, OpenAiStage

from agon.engines.scripted_text import check_text

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHUNK: dict[str, Any] = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
WHOLE: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": MODEL,
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


def events(*chunks: object) -> bytes:
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


async def test_the_client_gets_a_whole_answer(openai_stage: OpenAiStage) -> None:
    async with openai_stage.client() as client:
        answer = await client.chat.completions.create(model=PAIR, messages=HELLO)
    assert answer.model == PAIR, "the name that was asked for, not the one at the server"
    assert answer.choices[0].finish_reason == "stop"
    assert check_text(answer.choices[0].message.content or "").complete
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 24


async def test_the_client_gets_a_stream(openai_stage: OpenAiStage) -> None:
    text, usage, reasons, models = "", None, list[str](), set[str]()
    async with openai_stage.client() as client:
        stream = await client.chat.completions.create(
            model=PAIR, messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            models.add(chunk.model)
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                reasons += [choice.finish_reason] if choice.finish_reason else []
    assert check_text(text).complete
    assert (reasons, models) == (["stop"], {PAIR})
    assert usage is not None
    assert usage.completion_tokens == 24


async def test_without_being_asked_for_there_is_no_usage(openai_stage: OpenAiStage) -> None:
    async with openai_stage.client() as client:
        stream = await client.chat.completions.create(model=PAIR, messages=HELLO, stream=True)
        assert [chunk.usage async for chunk in stream if chunk.usage] == []


async def test_a_budget_of_tokens_is_kept(openai_stage: OpenAiStage) -> None:
    async with openai_stage.client() as client:
        for budget in ({"max_tokens": 5}, {"max_completion_tokens": 5}):
            answer = await client.chat.completions.create(model=PAIR, messages=HELLO, extra_body=budget)
            assert answer.choices[0].finish_reason == "length"


async def test_the_client_lists_models(openai_stage: OpenAiStage) -> None:
    async with openai_stage.client() as client:
        listed = [model.id async for model in client.models.list()]
        assert {PAIR, SOLO, ECHO, ABSENT} <= set(listed)
        assert (await client.models.retrieve(ECHO)).id == ECHO
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("gpt-2")


@pytest.mark.parametrize("model", ["gpt-2", "agon/battle-a", MODEL, ""])
async def test_other_names_do_not_exist(openai_stage: OpenAiStage, model: str) -> None:
    async with openai_stage.client() as client:
        with pytest.raises(openai.NotFoundError) as caught:
            await client.chat.completions.create(model=model, messages=HELLO)
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert caught.value.type == "invalid_request_error"


async def test_a_model_whose_servers_are_down_is_unavailable(openai_stage: OpenAiStage) -> None:
    async with openai_stage.client() as client:
        with pytest.raises(openai.InternalServerError) as caught:
            await client.chat.completions.create(model=ABSENT, messages=HELLO)
    assert (caught.value.status_code, caught.value.code) == (503, "model_not_ready")
    assert "retry-after" in caught.value.response.headers


FIELDS: dict[str, Any] = {
    "temperature": 0,
    "top_p": 0.0,
    "seed": 0,
    "presence_penalty": 0,
    "frequency_penalty": 0.0,
    "logit_bias": {},
    "n": 1,
    "stop": ["\n\n", "光"],
    "logprobs": True,
    "top_logprobs": 0,
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
    "parallel_tool_calls": False,
    "user": "",
    "guided_regex": "[a-z]+",
    "a_field_of_tomorrow": {"nested": [0, None, False, "", {"model": "not this one"}]},
}


async def test_a_server_gets_every_field_as_it_came(openai_stage: OpenAiStage) -> None:
    openai_stage.echo.answers(WHOLE)
    parts: Any = [
        {"role": "system", "content": "Be brief.\u2028"},
        {"role": "user", "content": [{"type": "text", "text": 'The "model": "x" is \\u0041 光'}]},
        {"role": "tool", "tool_call_id": "1", "content": ""},
    ]
    body = {"model": ECHO, "messages": parts, **FIELDS}
    async with openai_stage.client() as client, openai_stage.http() as http:
        await client.chat.completions.create(model=ECHO, messages=parts, extra_body=FIELDS)
        assert openai_stage.echo.asked == body | {"model": MODEL}
        raw = json.dumps({**body, "messages": [*parts[:1], *HELLO]}).encode()
        assert (await http.post("/v1/chat/completions", content=raw)).status_code == 200
        assert openai_stage.echo.asked == {**body, "messages": [*parts[:1], *HELLO], "model": MODEL}


async def test_a_body_is_passed_on_byte_for_byte_but_for_the_name(openai_stage: OpenAiStage) -> None:
    openai_stage.echo.answers(WHOLE)
    before, after = (
        b'{ "messages":[{"role":"user","content":"1e400 \\u00e9"}],\n\t"model" : ',
        b', "temperature":0e0, "x":1e5}',
    )
    raw = before + json.dumps(ECHO).encode() + after
    async with openai_stage.http() as http:
        assert (await http.post("/v1/chat/completions", content=raw)).status_code == 200
        quoted = before + json.dumps(ECHO, ensure_ascii=False).encode() + after
        assert (await http.post("/v1/chat/completions", content=quoted)).status_code == 200
    assert openai_stage.echo.bodies[1] == before.replace(b'"model" : ', b'"model":"%b"' % MODEL.encode()) + after
    assert json.loads(openai_stage.echo.bodies[0]) == json.loads(openai_stage.echo.bodies[1])


async def test_an_answer_is_passed_back_as_it_is_but_for_the_name(openai_stage: OpenAiStage) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": f'{{"model":"{MODEL}"}}'}}
    logprobs = {"content": [{"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}]}
    choice = {**WHOLE["choices"][0], "logprobs": logprobs}
    choice["message"] = {"role": "assistant", "content": f'"model":"{MODEL}"', "tool_calls": [call]}
    openai_stage.echo.answers({**WHOLE, "choices": [choice], "x_server": {"a": 0}})
    async with openai_stage.client() as client:
        answer = await client.chat.completions.create(model=ECHO, messages=HELLO, logprobs=True)
    assert answer.to_dict() == {**WHOLE, "choices": [choice], "x_server": {"a": 0}, "model": ECHO}
    shown = answer.choices[0].logprobs
    assert shown is not None
    assert shown.content is not None
    assert shown.content[0].logprob == -0.5


async def test_a_stream_is_passed_back_as_it_is_but_for_the_name(openai_stage: OpenAiStage) -> None:
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": f'{{"model":"{MODEL}"}}'},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"error": 1}'}}]},
    ]
    chunks = [{**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    openai_stage.echo.answers(events(*chunks), content_type="text/event-stream")
    async with openai_stage.http() as http:
        body = {"model": ECHO, "messages": HELLO, "stream": True}
        response = await http.post("/v1/chat/completions", json=body)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.content == events(*({**chunk, "model": ECHO} for chunk in chunks)).replace(
        json.dumps(ECHO).encode(), json.dumps(ECHO, ensure_ascii=False).encode()
    )


async def test_a_server_that_does_not_stream_is_heard_all_the_same(openai_stage: OpenAiStage) -> None:
    openai_stage.echo.answers(WHOLE)
    async with openai_stage.client() as client:
        stream = await client.chat.completions.create(
            model=ECHO, messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    assert [choice.delta.content for chunk in chunks for choice in chunk.choices] == ["Hi."]
    assert chunks[-1].usage is not None


@pytest.mark.parametrize(
    ("patch", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 7}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "Hi"}, "messages"),
        ({"messages": [{"role": "user", "content": "Hi"}, "Hi"]}, "messages[1]"),
        ({"messages": [{"content": "Hi"}]}, "messages[0]"),
        ({"stream": "yes"}, "stream"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"max_tokens": True}, "max_tokens"),
    ],
)
async def test_a_wrong_field_is_named(openai_stage: OpenAiStage, patch: dict[str, Any], param: str) -> None:
    async with openai_stage.http() as http:
        response = await http.post("/v1/chat/completions", json={"model": PAIR, "messages": HELLO, **patch})
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert set(error) == {"message", "type", "param", "code"}
    assert sum(openai_stage.count("active")) == 0


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
async def test_a_body_that_is_none_is_refused(openai_stage: OpenAiStage, body: bytes) -> None:
    async with openai_stage.http() as http:
        response = await http.post("/v1/chat/completions", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"


async def test_a_body_over_the_limit_is_refused(openai_stage: OpenAiStage) -> None:
    async def parts() -> AsyncGenerator[bytes]:
        for _ in range(6):
            yield b" " * 65536

    async with openai_stage.http() as http:
        for content in (b" " * 300_000, parts()):
            response = await http.post("/v1/chat/completions", content=content)
            assert (response.status_code, response.json()["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v1/nothing", 404),
        ("PUT", "/v1/", 404),
    ],
)
async def test_other_addresses_are_refused_in_the_same_shape(
    openai_stage: OpenAiStage, method: str, path: str, status: int
) -> None:
    async with openai_stage.http() as http:
        response = await http.request(method, path)
    assert response.status_code == status
    assert response.json()["error"]["type"] == "invalid_request_error"


async def test_other_sites_may_not_ask(openai_stage: OpenAiStage) -> None:
    async with openai_stage.http() as http:
        body = {"model": PAIR, "messages": HELLO}
        response = await http.post("/v1/chat/completions", json=body, headers={"Sec-Fetch-Site": "cross-site"})
    assert (response.status_code, response.json()["error"]["type"]) == (403, "permission_error")


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_what_a_server_finds_wrong_with_a_request_is_told(openai_stage: OpenAiStage, status: int) -> None:
    error = {"message": "Too hot, engine-key-77aa.", "type": "invalid", "param": "temperature", "code": "x"}
    openai_stage.echo.answers({"error": error}, status=status)
    async with openai_stage.client() as client:
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model=ECHO, messages=HELLO, temperature=9)
    assert caught.value.status_code == status
    assert caught.value.body == {
        "message": "Too hot, ***.",
        "type": "invalid_request_error",
        "param": "temperature",
        "code": "request_refused",
    }
    assert len(openai_stage.echo.bodies) == 1, "nobody else is asked the same"


@pytest.mark.parametrize(
    ("status", "reply", "ours", "code"),
    [
        (401, {"error": {"message": "engine-key-77aa is wrong"}}, 502, "engine_denied"),
        (404, {"error": {"message": f"no {MODEL}"}}, 502, "engine_not_found"),
        (429, {"error": {"message": "slow down"}}, 429, "engine_busy"),
        (500, {"error": {"message": "oops"}}, 502, "engine_error"),
        (503, b"<html>", 502, "engine_unreachable"),
        (302, b"", 502, "engine_rejected"),
        (200, {"error": {"message": "oops engine-key-77aa"}}, 502, "engine_error"),
        (200, {"object": "list"}, 502, "engine_garbage"),
        (200, b"<html>", 502, "engine_garbage"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_server_does_wrong_is_no_fault_of_the_request(
    openai_stage: OpenAiStage, status: int, reply: object, ours: int, code: str, *, stream: bool
) -> None:
    openai_stage.echo.answers(reply, status=status)
    async with openai_stage.http() as http:
        body = {"model": ECHO, "messages": HELLO, "stream": stream}
        response = await http.post("/v1/chat/completions", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (ours, code)
    assert "engine-key" not in response.text
    await openai_stage.idle()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_web_page_is_no_answer(openai_stage: OpenAiStage, *, stream: bool) -> None:
    openai_stage.echo.answers(b"<html>\ndata: {}\n", content_type="text/html")
    async with openai_stage.http() as http:
        response = await http.post("/v1/chat/completions", json={"model": ECHO, "messages": HELLO, "stream": stream})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "engine_garbage")


async def test_a_busy_server_says_when_to_come_back(openai_stage: OpenAiStage) -> None:
    async with openai_stage.http() as http:
        for header, ours in (("7", "7"), ("soon", "1"), ("", "1")):
            openai_stage.echo.answers({"error": "busy"}, status=429, **{"Retry-After": header})
            response = await http.post("/v1/chat/completions", json={"model": ECHO, "messages": HELLO})
            assert (response.status_code, response.headers["retry-after"]) == (429, ours)


async def test_the_same_key_draws_the_same_seed_for_the_same_client(openai_stage: OpenAiStage) -> None:
    seeds: list[int] = []
    openai_stage.echo.answers(WHOLE)
    for gateway, key in ((0, "one"), (1, "one"), (0, "two")):
        async with openai_stage.client(gateway) as client:
            await client.chat.completions.create(model=ECHO, messages=HELLO, extra_headers={"Idempotency-Key": key})
            seeds.append(openai_stage.echo.asked["seed"])
    assert seeds[0] == seeds[1] != seeds[2]
    async with openai_stage.client() as client:
        await client.chat.completions.create(
            model=ECHO, messages=HELLO, seed=0, extra_headers={"Idempotency-Key": "one"}
        )
        assert openai_stage.echo.asked["seed"] == 0
        await client.chat.completions.create(model=ECHO, messages=HELLO)
        assert "seed" not in openai_stage.echo.asked


async def test_requests_are_measured(openai_stage: OpenAiStage) -> None:
    async with openai_stage.http() as http, openai_stage.client() as client:
        await client.chat.completions.create(model=PAIR, messages=HELLO)
        await http.post("/v1/chat/completions", content=b"{")
        await http.get("/v1/models/gpt-2")
        shown = (await http.get("/metrics")).text
    assert 'arena_req_total{method="POST",route="/v1/chat/completions",status="200"}' in shown
    assert 'arena_req_total{method="POST",route="/v1/chat/completions",status="400"}' in shown
    assert 'arena_req_total{method="GET",route="/v1/models/{model}",status="404"}' in shown
    assert 'arena_req_latency_seconds_count{method="POST",route="/v1/chat/completions"}' in shown


async def test_a_dialogue_stays_where_it_began(openai_stage: OpenAiStage) -> None:
    async def ask(client: openai.AsyncOpenAI, name: int, turns: int) -> None:
        messages: list[Any] = [{"role": "user", "content": f"I am number {name}"}]
        for turn in range(turns):
            answer = await client.chat.completions.create(model=PAIR, messages=messages)
            messages += [{"role": "assistant", "content": answer.choices[0].message.content}]
            messages += [{"role": "user", "content": f"Go on, {turn}"}]

    before = openai_stage.count("started")
    async with openai_stage.client() as client:
        await asyncio.gather(*(ask(client, name, 1) for name in range(20)))
        spread = [after - at for after, at in zip(openai_stage.count("started"), before, strict=True)]
        assert min(spread) > 0, spread
        for name in range(100, 104):
            at = openai_stage.count("started")
            await ask(client, name, 5)
            went = [after - was for after, was in zip(openai_stage.count("started"), at, strict=True)]
            assert sorted(went) == [0, 5], went


async def test_keys_are_wanted_where_there_are_some(openai_stage: OpenAiStage) -> None:
    for key in API_KEYS:
        async with openai_stage.client(2, key=key) as client:
            await client.chat.completions.create(model=PAIR, messages=HELLO)
    for key in ("none", API_KEYS[0] + "x"):
        async with openai_stage.client(2, key=key) as client:
            with pytest.raises(openai.AuthenticationError) as caught:
                await client.models.list()
            assert (caught.value.code, caught.value.type) == ("invalid_api_key", "authentication_error")
            with pytest.raises(openai.AuthenticationError):
                await client.chat.completions.create(model=PAIR, messages=HELLO)
    async with openai_stage.http(2) as http:
        for scheme in ({}, {"Authorization": f"Basic {API_KEYS[0]}"}, {"Authorization": API_KEYS[0]}):
            response = await http.get("/v1/models", headers=scheme)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        assert (await http.get("/arena/status")).status_code == 200, "the arena itself wants none"


async def test_too_much_is_refused_with_the_time_to_wait(openai_stage: OpenAiStage) -> None:
    openai_stage.script(first_token_delay_s=0.1)
    body = {"model": NARROW, "messages": HELLO}
    async with openai_stage.http() as http:
        responses = await asyncio.gather(*(http.post("/v1/chat/completions", json=body) for _ in range(30)))
    assert {response.status_code for response in responses} == {200, 429}
    for response in responses:
        if response.status_code == 429:
            assert response.json()["error"]["type"] == "rate_limit_error"
            assert response.json()["error"]["code"] == "busy"
            assert int(response.headers["retry-after"]) >= 1
    await openai_stage.idle()
