"""What a scripted model can be told beyond its pace: to go on, to remember, to queue, to fail somewhere."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from statistics import median
from typing import Any, cast

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.helpers import ask, collect, until

from agon.core.errors import InvalidInput
from agon.core.generation import Message
from agon.engines.openai_http import OpenAiEngine
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_cache import Places, PrefixCache
from agon.engines.scripted_models import ScriptedModel, describe
from agon.engines.scripted_plan import Chances, Plan, make_plan
from agon.engines.scripted_text import check_text, full_text, place_behind, text_key

KEY = text_key("m", [Message("user", "Hi")], 1)
QUESTION = {"role": "user", "content": "How many?"}


def plan(script: dict[str, object], **fields: object) -> Plan:
    body = {"model": "m", "messages": [QUESTION], "seed": 4, **fields}
    return make_plan(body, ScriptedModel().changed(script), Chances(), PrefixCache())


def say(script: dict[str, object], **fields: object) -> str:
    return plan(script, **fields).whole()


@pytest.fixture
async def http(scripted: ScriptedServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(scripted.url) as session:
        yield session


@given(st.integers(2, 60), st.data())
def test_a_begun_text_is_gone_on_with_wherever_it_was_cut(tokens: int, data: st.DataObject) -> None:
    whole = say({"tokens": tokens})
    said = whole[: data.draw(st.integers(1, len(whole)))]
    messages = [QUESTION, {"role": "assistant", "content": said}]
    going_on = plan({"tokens": tokens, "prefill": True}, messages=messages)
    assert said + going_on.whole() == whole
    assert check_text(said + going_on.whole()).complete
    assert going_on.finish_reason == "stop"


@given(st.integers(1, 30), st.integers(1, 30))
def test_a_begun_text_keeps_to_its_limit(first: int, more: int) -> None:
    said = say({"tokens": 100}, max_tokens=first)
    messages = [QUESTION, {"role": "assistant", "content": said}]
    rest = plan({"tokens": 100, "prefill": True}, messages=messages, max_tokens=more)
    assert check_text(said + rest.whole()).tokens == first + more
    assert (rest.tokens, rest.finish_reason) == (more, "length")


def test_a_begun_text_of_somebody_else_is_refused() -> None:
    foreign = full_text(text_key("n", [], 1), 9)
    with pytest.raises(ValueError, match="At character 0"):
        place_behind(KEY, foreign)
    messages = [QUESTION, {"role": "assistant", "content": foreign}]
    with pytest.raises(InvalidInput):
        say({"prefill": True}, messages=messages)
    assert check_text(say({}, messages=messages)).complete


def test_a_stop_word_ends_the_answer_before_it() -> None:
    whole = say({"tokens": 30})
    word = whole.split()[7]
    stopped = plan({"tokens": 30}, stop=[word, "never said"])
    assert stopped.whole() == whole[: whole.index(word)]
    assert stopped.finish_reason == "stop"
    assert say({"tokens": 30}, stop="never said") == whole
    assert say({"tokens": 30}, stop="∎") == whole[: whole.index("∎")]


def test_given_words_are_said_to_the_questions_that_they_fit() -> None:
    script: dict[str, object] = {"says": [{"when": "many", "text": " Forty-two,\n perhaps. "}, {"text": "What?"}]}
    assert say(script) == " Forty-two,\n perhaps. "
    assert say(script, messages=[{"role": "user", "content": "Who?"}]) == "What?"
    cut = plan(script, max_tokens=1)
    assert (cut.whole(), cut.finish_reason, cut.tokens) == (" Forty-two,", "length", 1)
    assert check_text(say({"says": [{"when": "^Who", "text": "Me."}]})).complete


def test_lengths_follow_the_prompt_or_the_request() -> None:
    assert check_text(say({"tokens": "max_tokens"}, max_tokens=17)).tokens == 17
    script: dict[str, object] = {"tokens": {"per_prompt_token": 1.5, "spread": 0.4}}
    content = "word " * 100
    lengths = [plan(script, messages=[{"role": "user", "content": content}], seed=seed).tokens for seed in range(400)]
    assert median(lengths) == pytest.approx(150, rel=0.1)
    assert sorted(lengths)[336] / 150 == pytest.approx(1.49, rel=0.15)
    assert plan(script, messages=[{"role": "user", "content": content}], seed=3).tokens == lengths[3]


def test_a_random_failure_is_somewhere_in_the_answer_and_the_same_each_time() -> None:
    script: dict[str, object] = {"tokens": 50, "fail": {"kind": "disconnect", "at_token": "random"}}
    points = [plan(script, seed=seed).fail_at for seed in range(60)]
    assert points == [plan(script, seed=seed).fail_at for seed in range(60)]
    assert len(set(points)) > 25
    assert all(point is not None and 0 <= point < 50 for point in points)


def test_a_share_of_the_requests_fails() -> None:
    script = ScriptedModel().changed({"fail": {"kind": "garbage", "share": 0.3}})
    chances = Chances()
    failed = sum(chances.next_failure(script, KEY) is not None for _ in range(1000))
    assert failed == pytest.approx(300, abs=60)


async def test_a_pause_ends(scripted: ScriptedServer) -> None:
    scripted.configure("m", tokens=20, pause={"at_token": 5, "seconds": 0.3})
    engine = OpenAiEngine(scripted.url, "m")
    loop = asyncio.get_running_loop()
    times = [loop.time() async for _ in engine.generate(ask())]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert max(gaps) > 0.25
    assert gaps.index(max(gaps)) == 4
    await engine.close()


async def test_the_second_turn_finds_the_first_cached(http: aiohttp.ClientSession) -> None:
    async def turn(messages: list[dict[str, str]]) -> tuple[dict[str, str], dict[str, Any]]:
        async with http.post("/v1/chat/completions", json={"model": "m", "messages": messages}) as response:
            body = cast("dict[str, Any]", await response.json())
        return body["choices"][0]["message"], body["usage"]

    first = [QUESTION]
    answer, usage = await turn(first)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0
    second = [*first, answer, {"role": "user", "content": "And then?"}]
    _, usage = await turn(second)
    assert usage["prompt_tokens_details"]["cached_tokens"] == usage["prompt_tokens"] - 2
    _, usage = await turn([{"role": "user", "content": "Another"}, *second[1:]])
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0


async def test_reading_what_is_not_cached_takes_time(scripted: ScriptedServer) -> None:
    scripted.configure("m", read_tokens_per_s=100)
    engine = OpenAiEngine(scripted.url, "m")
    took: list[float] = []
    loop = asyncio.get_running_loop()
    for _ in range(2):
        start = loop.time()
        await collect(engine, ask("word " * 30))
        took.append(loop.time() - start)
    assert took[0] > 0.3
    assert took[1] < 0.2
    await engine.close()


async def test_more_than_may_run_wait_their_turn_and_are_told_of(
    scripted: ScriptedServer, http: aiohttp.ClientSession
) -> None:
    scripted.configure("m", max_running=2, rate_tokens_per_s=100, tokens=20)
    engine = OpenAiEngine(scripted.url, "m")
    tasks = [asyncio.create_task(collect(engine, ask(seed=seed))) for seed in range(5)]
    await until(lambda: scripted.counters("m").active == 5, within_s=1)
    assert scripted.counters("m").waiting == 3
    async with http.get("/metrics") as response:
        told = await response.text()
    assert 'vllm:num_requests_running{engine="0",model_name="m"} 2.0\n' in told
    assert 'vllm:num_requests_waiting{engine="0",model_name="m"} 3.0\n' in told
    tasks[-1].cancel()
    await until(lambda: scripted.counters("m").waiting == 2, within_s=0.3)
    answers = await asyncio.gather(*tasks[:4])
    assert all(check_text(text).complete for text, _ in answers)
    assert (scripted.counters("m").active, scripted.counters("m").cancelled) == (0, 1)
    await engine.close()


@given(st.lists(st.sampled_from(["come", "leave", "cancel", "one", "many"]), max_size=40))
def test_no_place_is_lost(steps: list[str]) -> None:
    async def run() -> None:
        places, held, tasks = Places(), list[asyncio.Event](), list[asyncio.Task[None]]()
        places.allow(2)

        async def visit(leave: asyncio.Event) -> None:
            async with places.place():
                await leave.wait()

        for step in steps:
            match step:
                case "come":
                    held.append(asyncio.Event())
                    tasks.append(asyncio.create_task(visit(held[-1])))
                case "leave" if held:
                    held[len(held) // 2].set()
                case "cancel" if tasks:
                    tasks[len(tasks) // 3].cancel()
                case "one" | "many":
                    places.allow(1 if step == "one" else 3)
                case _:
                    pass
            if len(steps) % 2:
                await asyncio.sleep(0)
        for event in held:
            event.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (places.running, places.waiting) == (0, 0)

    asyncio.run(run())


async def test_certainties_are_told_when_asked_for(http: aiohttp.ClientSession) -> None:
    body = {"model": "m", "messages": [QUESTION], "max_tokens": 5, "logprobs": True, "top_logprobs": 3}
    async with http.post("/v1/chat/completions", json={**body, "made_up_field": 7}) as response:
        whole = cast("dict[str, Any]", await response.json())
    choice = whole["choices"][0]
    content = choice["logprobs"]["content"]
    assert "".join(one["token"] for one in content) == choice["message"]["content"]
    assert all(one["logprob"] < 0 and len(one["top_logprobs"]) == 3 for one in content)
    assert all(one["top_logprobs"][0]["logprob"] > one["top_logprobs"][1]["logprob"] for one in content)
    assert "made_up_field" not in str(whole)


async def test_what_was_asked_last_can_be_looked_at(scripted: ScriptedServer, http: aiohttp.ClientSession) -> None:
    body = {"model": "n", "messages": [QUESTION], "temperature": 0, "made_up_field": {"a": 0}}
    async with http.post("/v1/chat/completions", json=body) as response:
        assert response.status == 200
    assert scripted.seen("n") == body


def test_help_names_every_word() -> None:
    assert all(f"  {name}" in describe() for name in ScriptedModel.model_fields)
