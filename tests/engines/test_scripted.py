import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.helpers import ask, collect, until

from agon.core.errors import InvalidInput, NotFound
from agon.core.generation import FinishReason, Message
from agon.engines.openai_http import OpenAiEngine
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_text import check_text, full_text, heavy_tail, text_key, token

KEY = text_key("m", [Message("user", "Hi")], 1)


@pytest.fixture
async def http(scripted: ScriptedServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(scripted.url) as session:
        yield session


def test_a_key_depends_on_everything_that_was_asked() -> None:
    messages = [Message("user", "Hi")]
    others = [
        text_key("n", messages, 1),
        text_key("m", [Message("assistant", "Hi")], 1),
        text_key("m", [Message("user", "Hi"), Message("user", "")], 1),
        text_key("m", messages, 2),
    ]
    assert len({KEY, *others}) == 5
    assert text_key("m", tuple(messages), 1) == KEY


@given(st.integers(2, 200))
def test_a_whole_text_is_right(tokens: int) -> None:
    checked = check_text(full_text(KEY, tokens))
    assert (checked.key, checked.tokens, checked.complete) == (KEY, tokens, True)


@given(st.integers(1, 200))
def test_a_text_cut_between_tokens_is_right_and_not_complete(tokens: int) -> None:
    checked = check_text("".join(token(KEY, number) for number in range(tokens)))
    assert (checked.tokens, checked.complete) == (tokens, False)


@given(st.data())
def test_any_damage_is_found(data: st.DataObject) -> None:
    pieces = [token(KEY, number, last=number == 40) for number in range(41)]
    at = data.draw(st.integers(1, len(pieces) - 2))
    damage = data.draw(st.sampled_from(["lost", "doubled", "swapped", "cut", "foreign"]))
    damaged = {
        "lost": pieces[:at] + pieces[at + 1 :],
        "doubled": [*pieces[:at], pieces[at], *pieces[at:]],
        "swapped": [*pieces[:at], pieces[at + 1], pieces[at], *pieces[at + 2 :]],
        "cut": [*pieces[:at], pieces[at][:-1], *pieces[at + 1 :]],
        "foreign": [*pieces[:at], token(text_key("n", [], 1), at), *pieces[at + 1 :]],
    }[damage]
    with pytest.raises(ValueError, match="At character"):
        check_text("".join(damaged))
    with pytest.raises(ValueError, match="does not begin"):
        check_text("".join(damaged[1:]))


def test_lengths_are_heavy_tailed_bounded_and_repeatable() -> None:
    keys = [text_key("m", [], seed) for seed in range(2000)]
    lengths = sorted(heavy_tail(key, low=20, high=800, alpha=1.2) for key in keys)
    assert lengths == sorted(heavy_tail(key, low=20, high=800, alpha=1.2) for key in keys)
    assert lengths[0] >= 20
    assert lengths[-1] == 800
    # A Pareto distribution's median is low · 2^(1/alpha).
    assert lengths[1000] == pytest.approx(20 * 2 ** (1 / 1.2), rel=0.1)


async def test_the_pace_is_kept(scripted: ScriptedServer) -> None:
    scripted.configure("m", rate_tokens_per_s=100, first_token_delay_s=0.2, tokens=31)
    engine = OpenAiEngine(scripted.url, "m")
    loop = asyncio.get_running_loop()
    start, times = loop.time(), list[float]()
    async for _ in engine.generate(ask()):
        times.append(loop.time() - start)
    assert times[0] >= 0.2
    assert times[-1] - times[0] >= 0.28
    assert len({round(moment, 3) for moment in times}) > 15
    await engine.close()


async def test_models_are_listed_and_scripts_are_shown(http: aiohttp.ClientSession) -> None:
    async with http.get("/v1/models") as response:
        assert [model["id"] for model in (await response.json())["data"]] == ["m", "n"]
    async with http.post("/control", json={"model": "n", "tokens": {"low": 9}, "dialect": {"crlf": True}}) as response:
        shown = cast("dict[str, Any]", await response.json())
    assert shown["n"]["script"]["tokens"] == {"low": 9, "high": 800, "alpha": 1.2}
    assert shown["n"]["script"]["dialect"]["crlf"] is True
    assert shown["m"]["script"]["tokens"] == 64
    async with http.get("/control") as response:
        assert await response.json() == shown
    assert shown["m"]["counters"] == {
        "active": 0, "waiting": 0, "started": 0, "finished": 0, "failed": 0, "cancelled": 0, "tokens": 0,
        "prompt_tokens": 0, "cached_tokens": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/control", b"[]", 400),
        ("/control", b'{"model": "x"}', 404),
        ("/control", b'{"tokenz": 3}', 400),
        ("/control", b'{"fail": {"kind": "on_fire"}}', 400),
        ("/v1/chat/completions", b"no", 400),
        ("/v1/chat/completions", b'{"model": "x", "messages": []}', 404),
        ("/v1/chat/completions", b'{"model": "m", "messages": []}', 400),
        ("/v1/chat/completions", b'{"model": "m", "messages": [{"role": "cook", "content": ""}]}', 400),
        ("/v1/chat/completions", b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "seed": "s"}', 400),
    ],
)
async def test_what_makes_no_sense_is_refused(http: aiohttp.ClientSession, path: str, body: bytes, status: int) -> None:
    async with http.post(path, data=body) as response:
        assert response.status == status
        assert (await response.json())["error"]["message"]


async def test_an_unstreamed_answer_is_the_streamed_one(scripted: ScriptedServer, http: aiohttp.ClientSession) -> None:
    engine = OpenAiEngine(scripted.url, "m")
    text, finish = await collect(engine, ask("Same?", max_tokens=20, seed=3))
    body = {"model": "m", "messages": [{"role": "user", "content": "Same?"}], "max_tokens": 20, "seed": 3}
    async with http.post("/v1/chat/completions", json=body) as response:
        whole = cast("dict[str, Any]", await response.json())
    assert whole["choices"][0]["message"]["content"] == text
    assert whole["choices"][0]["finish_reason"] == "length" == finish.reason is not FinishReason.STOP
    usage = {"prompt_tokens": 1, "completion_tokens": 20, "total_tokens": 21}
    assert whole["usage"] == {**usage, "prompt_tokens_details": {"cached_tokens": 1}}
    await engine.close()


async def test_too_many_at_once_are_turned_away(scripted: ScriptedServer) -> None:
    scripted.configure("m", max_active=3, rate_tokens_per_s=100, tokens=30)
    engine = OpenAiEngine(scripted.url, "m")
    results = await asyncio.gather(*(collect(engine, ask(seed=n)) for n in range(8)), return_exceptions=True)
    assert sum(isinstance(result, tuple) for result in results) == 3
    await until(lambda: scripted.counters("m").active == 0, within_s=0.3)
    await engine.close()


async def test_failures_come_as_often_as_asked_and_are_counted(scripted: ScriptedServer) -> None:
    scripted.configure("*", fail={"kind": "http_500", "times": 2})
    engine = OpenAiEngine(scripted.url, "m")
    results = [(await asyncio.gather(collect(engine, ask()), return_exceptions=True))[0] for _ in range(4)]
    assert [isinstance(result, Exception) for result in results] == [True, True, False, False]
    counters = scripted.counters("m")
    assert (counters.started, counters.failed, counters.finished) == (4, 2, 2)
    assert scripted.counters("n").started == 0
    await engine.close()


def test_a_script_that_makes_no_sense_names_its_field() -> None:
    server = ScriptedServer(["m"])
    with pytest.raises(InvalidInput) as caught:
        server.configure("m", dialect={"crlf": "perhaps"})
    assert caught.value.field == "dialect.crlf"
    with pytest.raises(NotFound):
        server.configure("x", tokens=3)


@pytest.mark.slow
async def test_hundreds_of_streams_keep_their_pace(scripted: ScriptedServer) -> None:
    scripted.configure("m", rate_tokens_per_s=20, tokens=40, tick_ms=100)
    engine = OpenAiEngine(scripted.url, "m", max_connections=400)
    loop = asyncio.get_running_loop()
    start = loop.time()
    answers = await asyncio.gather(*(collect(engine, ask(seed=n)) for n in range(300)))
    assert loop.time() - start < 2 * 40 / 20
    assert all(check_text(text).complete for text, _ in answers)
    await engine.close()


@pytest.mark.slow
async def test_the_command_says_where_it_listens_and_stops_when_told() -> None:
    command = [sys.executable, "-m", "agon.cli", "fake-engine", "--models", "x, y", "--tokens", "5", "--format", "json"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    said = json.loads(await process.stdout.readline())
    assert said["models"] == ["x", "y"]
    engine = OpenAiEngine(said["url"], "y")
    assert check_text((await collect(engine, ask()))[0]).tokens == 5
    await engine.close()
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
