"""What goes to an OpenAI-compatible server with a request, and what comes back beside the text."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from tests.engines.helpers import ask, collect, collect_into, until
from yarl import URL

from agon.core.errors import EngineRejected, EngineTruncated
from agon.core.generation import Finish, FinishReason, Piece, Sampling
from agon.engines.chat_body import OWN_FIELDS
from agon.engines.openai_http import OpenAiEngine
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_text import check_text
from agon.engines.server_load import metrics_url, read_load


@pytest.fixture
async def engine(scripted: ScriptedServer) -> AsyncIterator[OpenAiEngine]:
    engine = OpenAiEngine(scripted.url, "m")
    yield engine
    await engine.close()


@pytest.mark.parametrize("refused", [[], ["continue_final_message"], ["add_generation_prompt"]])
async def test_an_answer_that_broke_off_is_gone_on_with(
    scripted: ScriptedServer, engine: OpenAiEngine, refused: list[str]
) -> None:
    whole, _ = await collect(engine, ask())
    fail = {"kind": "disconnect", "at_token": 20, "times": 1}
    scripted.configure("m", prefill=True, refuse_fields=refused, fail=fail)
    said: list[str] = []
    with pytest.raises(EngineTruncated):
        await collect_into(said, engine, ask())
    begun = "".join(said)[:-3]
    rest, finish = await collect(engine, replace(ask(), said=begun))
    assert begun + rest == whole
    assert finish.completion_tokens == 64 - 19
    sent = scripted.seen("m")
    assert sent["messages"][-1] == {"role": "assistant", "content": begun}
    expected = None if refused else (True, False)
    given = (sent.get("continue_final_message"), sent.get("add_generation_prompt"))
    assert given == (expected or (None, None))


async def test_a_server_that_cannot_go_on_is_not_asked_to_begin_anew() -> None:
    problem = b'{"message": "continue_final_message is set but the text is not there after the chat template"}'
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        asked.append(await reader.readexactly(length))
        head = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(problem) + problem)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        engine = OpenAiEngine(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "m")
        with pytest.raises(EngineRejected, match="after the chat template"):
            await collect(engine, replace(ask(), said="Once upon a"))
        await engine.close()
    assert len(asked) == 1


async def test_nothing_is_left_to_say_of_an_answer_that_is_whole(
    scripted: ScriptedServer, engine: OpenAiEngine
) -> None:
    scripted.configure("m", prefill=True)
    whole, _ = await collect(engine, ask())
    rest, finish = await collect(engine, replace(ask(), said=whole))
    assert (rest, finish.reason, finish.completion_tokens) == ("", FinishReason.STOP, 0)


async def test_further_fields_are_passed_on_and_ours_win(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    extra: dict[str, Any] = {
        "temperature": 0, "top_p": 0.0, "frequency_penalty": 0, "logit_bias": {}, "user": "", "stop": None,
        "made_up_field": [0], "seed": 99, "max_tokens": 1, "max_completion_tokens": 1, "stream": False, "model": "x",
        "messages": [],
    }  # fmt: skip
    text, _ = await collect(engine, replace(ask(max_tokens=30, seed=3), extra=extra))
    assert check_text(text).tokens == 30
    sent = scripted.seen("m")
    zeros = {name: value for name, value in extra.items() if not value and name not in OWN_FIELDS}
    assert len(zeros) == 6
    assert {name: sent[name] for name in zeros} == zeros
    assert sent["made_up_field"] == [0]
    assert (sent["seed"], sent["max_tokens"], sent["stream"], sent["model"]) == (3, 30, True, "m")
    assert "max_completion_tokens" not in sent
    await collect(engine, replace(ask(), extra=extra, sampling=Sampling(9, temperature=0.0, top_p=0.5)))
    sent = scripted.seen("m")
    assert (sent["temperature"], sent["top_p"]) == (0.0, 0.5)


async def test_cached_tokens_are_told(engine: OpenAiEngine) -> None:
    prompt = "one two three four"
    _, first = await collect(engine, ask(prompt))
    _, second = await collect(engine, ask(prompt))
    assert (first.cached_tokens, second.cached_tokens) == (0, 4)


async def test_certainties_come_with_the_text(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    scripted.configure("m", tokens=12, rate_tokens_per_s=200)
    request = replace(ask(), extra={"logprobs": True, "top_logprobs": 2})
    items = [item async for item in engine.generate(request)]
    pieces = [item for item in items if isinstance(item, Piece)]
    assert [piece.text for piece in pieces] == [(piece.logprobs or ({},))[0]["token"] for piece in pieces]
    assert all(len(one["top_logprobs"]) == 2 for piece in pieces for one in piece.logprobs or ())
    assert isinstance(items[-1], Finish)
    plain = [item async for item in engine.generate(ask()) if isinstance(item, Piece)]
    assert {piece.logprobs for piece in plain} == {None}


async def test_a_stop_word_reaches_the_server(engine: OpenAiEngine) -> None:
    whole, _ = await collect(engine, ask())
    word = whole.split()[5]
    text, finish = await collect(engine, replace(ask(), extra={"stop": word}))
    assert text == whole[: whole.index(word)]
    assert finish.reason is FinishReason.STOP


async def test_a_hundred_who_leave_at_once_free_their_slots(scripted: ScriptedServer) -> None:
    scripted.configure("m", rate_tokens_per_s=20, max_running=60, prefill=True)
    engine = OpenAiEngine(scripted.url, "m")
    tasks = [asyncio.create_task(collect(engine, ask(seed=seed))) for seed in range(100)]
    await until(lambda: scripted.counters("m").active == 100, within_s=5)
    for task in tasks:
        task.cancel()
    took = await until(lambda: scripted.counters("m").active == 0, within_s=1)
    assert took < 0.3
    assert scripted.counters("m").waiting == 0
    await asyncio.gather(*tasks, return_exceptions=True)
    await engine.close()


async def test_the_load_of_a_server_is_read_once_a_second(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    scripted.configure("*", rate_tokens_per_s=20, max_running=2)
    assert await engine.others() == 0
    stranger = OpenAiEngine(scripted.url, "m")
    neighbour = OpenAiEngine(scripted.url, "n")
    tasks = [asyncio.create_task(collect(stranger, ask(seed=seed))) for seed in range(5)]
    tasks.append(asyncio.create_task(collect(neighbour, ask())))
    await until(lambda: scripted.counters("m").active == 5, within_s=1)
    assert await engine.others() == 0
    await asyncio.sleep(1.05)
    assert await engine.others() == 5
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await stranger.close()
    await neighbour.close()
    await engine.close()
    assert await engine.others() is None


async def test_a_server_that_is_gone_tells_nothing(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    await scripted.stop()
    assert await engine.others() is None


@pytest.mark.parametrize(
    ("chat", "metrics"),
    [
        ("http://h:1/v1/chat/completions", "http://h:1/metrics"),
        ("http://h:1/llm/v1/chat/completions", "http://h:1/llm/metrics"),
        ("http://h:1/api/v3/chat/completions", "http://h:1/api/v3/metrics"),
    ],
)
def test_where_metrics_are(chat: str, metrics: str) -> None:
    assert str(metrics_url(URL(chat))) == metrics


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("", None),
        ("vllm:num_requests_running 3.0\nvllm:num_requests_waiting 1e1\nvllm:num_requests_waiting_total 7\n", 13),
        ('vllm:num_requests_running{engine="0",model_name="m"} 3.0\nvllm:num_requests_running{model_name="n"} 4', 3),
        ('vllm:num_requests_running{model_name="n"} 4', None),
        ("# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 2\nllamacpp:requests_deferred 1", 3),
        ('sglang:num_running_reqs{model_name="m"} 6.0\nsglang:num_queue_reqs{model_name="m"} 2.0\n', 8),
    ],
)
def test_what_servers_tell(text: str, load: int | None) -> None:
    assert read_load(text, "m") == load


async def test_a_slow_server_is_not_waited_for() -> None:
    loop = asyncio.get_running_loop()

    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        gone.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        slow = OpenAiEngine(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "m")
        start = loop.time()
        assert await slow.others() is None
        assert 0.4 < loop.time() - start < 1.0
        await slow.close()
        await gone.wait()


async def test_metrics_that_come_in_parts_are_read_whole() -> None:
    async def in_parts(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
        for line in (b"vllm:num_requests_running 3\n", b"vllm:num_requests_waiting 4\n"):
            writer.write(line)
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.close()

    async with await asyncio.start_server(in_parts, "127.0.0.1", 0) as server:
        engine = OpenAiEngine(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "m")
        assert await engine.others() == 7
        await engine.close()


async def test_what_a_request_provokes_is_not_learned(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    """The refusal speaks of a field of ours only because the asker's has such a name."""
    scripted.configure("*", refuse_fields=("my_seed",))
    with pytest.raises(EngineRejected):
        await collect(engine, replace(ask(), extra={"my_seed": 1}))
    await collect(engine, ask(seed=7))
    assert scripted.seen("m")["seed"] == 7
    await engine.close()
