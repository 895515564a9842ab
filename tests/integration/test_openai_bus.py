"""Models that are reached over the bus: here the test itself is their runner."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from tests.integration.openai_stage import HELLO, STRANGER, OpenAiStage

from agon.core.conversation import AnswerState, Side
from agon.core.events import Event, Fault, Packet, Settled, Usage
from agon.core.generation import GenerationRequest, Message
from agon.core.placement import AnswerRef, Job

pytestmark = pytest.mark.asyncio(loop_scope="session")

Play = Callable[[Job], Awaitable[None]]
PATH = "/v1/chat/completions"
ASK: dict[str, Any] = {"model": STRANGER, "messages": HELLO}
USAGE = Usage(prompt_tokens=9, completion_tokens=3, cached_tokens=4)
LOGPROBS: tuple[dict[str, Any]] = ({"token": "Hel", "logprob": -0.25, "bytes": None, "top_logprobs": []},)


@asynccontextmanager
async def running(stage: OpenAiStage, play: Play) -> AsyncGenerator[list[Job]]:
    """A runner that does with each turn as it is told."""
    jobs: list[Job] = []

    async def one(job: Job) -> None:
        try:
            await play(job)
        finally:
            await stage.dispatch.release([job.ref])

    async def take() -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                for placement in await stage.dispatch.take(0.1):
                    jobs.append(placement.job)
                    group.create_task(one(placement.job))

    taking = asyncio.create_task(take())
    try:
        yield jobs
    finally:
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
    await stage.idle()


def saying(stage: OpenAiStage, *events: Event) -> Play:
    async def play(job: Job) -> None:
        for event in events:
            await stage.bus.append(job.ref.conversation, event)

    return play


def packets(*texts: str) -> list[Packet]:
    found: list[Packet] = []
    for text in texts:
        found.append(Packet(1, Side.A, 1, found[-1].end if found else 0, text))
    return found


def done(length: int, reason: str = "stop") -> Settled:
    return Settled(1, Side.A, 1, AnswerState.DONE, length, reason, usage=USAGE)


def failed(code: str = "engine_unreachable") -> Settled:
    return Settled(1, Side.A, 1, AnswerState.FAILED, 0, fault=Fault(code, "It is not there."))


async def test_an_answer_comes_in_one_piece(openai_stage: OpenAiStage) -> None:
    first = Packet(1, Side.A, 1, 0, "Hel", logprobs=LOGPROBS)
    play = saying(openai_stage, first, Packet(1, Side.A, 1, 3, "lo 光"), done(7, "length"))
    async with running(openai_stage, play), openai_stage.client() as client:
        answer = await client.chat.completions.create(model=STRANGER, messages=HELLO, logprobs=True)
    assert (answer.model, answer.object) == (STRANGER, "chat.completion")
    [choice] = answer.choices
    assert (choice.message.content, choice.message.role, choice.finish_reason) == ("Hello 光", "assistant", "length")
    assert choice.logprobs is not None
    assert choice.logprobs.to_dict()["content"] == [*LOGPROBS]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (9, 3, 12)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 4


@pytest.mark.parametrize("usage", [True, False])
async def test_an_answer_comes_as_a_stream(openai_stage: OpenAiStage, *, usage: bool) -> None:
    play = saying(openai_stage, *packets("Hel", "lo"), done(5))
    options: Any = {"stream_options": {"include_usage": usage}}
    async with running(openai_stage, play), openai_stage.client() as client:
        stream = await client.chat.completions.create(**ASK, stream=True, **options)
        chunks: list[Any] = [chunk async for chunk in stream]
    deltas = [(choice.delta.role, choice.delta.content) for chunk in chunks for choice in chunk.choices]
    assert deltas == [("assistant", ""), (None, "Hel"), (None, "lo"), (None, None)]
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices] == [None, None, None, "stop"]
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == ([12] if usage else [])
    assert {(chunk.id, chunk.model) for chunk in chunks} == {(chunks[0].id, STRANGER)}


async def test_the_engine_is_asked_what_the_client_asks(openai_stage: OpenAiStage) -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    messages: Sequence[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "three"},
        {"role": "user", "content": "four"},
    ]
    body = {"messages": messages, "temperature": 0, "top_p": 0.5, "seed": 0, "max_tokens": 7, "stop": ["x"], "top_k": 0}
    async with running(openai_stage, saying(openai_stage, done(0))) as jobs, openai_stage.http() as http:
        response = await http.post(PATH, json={"model": STRANGER, "n": 1, **body})
        assert response.status_code == 200, response.text
        await http.post(PATH, json={"model": STRANGER, "messages": HELLO})
    asked, plain = [job.request for job in jobs]
    assert isinstance(asked, GenerationRequest)
    assert asked.messages == (
        Message("system", "Be brief."),
        Message("user", "one two"),
        Message("assistant", "three"),
        Message("user", "four"),
    )
    sampling = asked.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p, asked.seed) == (7, 0.0, 0.5, 0)
    assert asked.extra == {"stop": ["x"], "top_k": 0}
    assert plain is not None
    assert (plain.sampling.max_tokens, plain.sampling.temperature, plain.extra) == (160, None, {})


@pytest.mark.parametrize(
    ("patch", "param"),
    [
        ({"n": 2}, "n"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": 2.5}, "temperature"),
        ({"top_p": -1}, "top_p"),
        ({"seed": 0.5}, "seed"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [*HELLO, {"role": "user", "content": [{"type": "image_url"}]}]}, "messages[1].content"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
    ],
)
async def test_what_no_engine_here_can_do_is_refused(
    openai_stage: OpenAiStage, patch: dict[str, Any], param: str
) -> None:
    async with openai_stage.http() as http:
        response = await http.post(PATH, json={**ASK, **patch})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param
    assert await openai_stage.turns() == 0


@pytest.mark.parametrize(("code", "status"), [("engine_unreachable", 502), ("engine_busy", 429)])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_failure_before_the_first_word_has_its_status(
    openai_stage: OpenAiStage, code: str, status: int, *, stream: bool
) -> None:
    async with running(openai_stage, saying(openai_stage, failed(code))), openai_stage.http() as http:
        response = await http.post(PATH, json={**ASK, "stream": stream})
    assert response.status_code == status
    assert response.json()["error"]["code"] == code


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (failed(), "engine_unreachable"),
        (Packet(1, Side.A, 2, 0, "Other"), "engine_truncated"),
        (Packet(1, Side.A, 1, 40, "Later"), "engine_truncated"),
    ],
    ids=["failed", "begun anew", "lost"],
)
async def test_a_failure_after_it_ends_the_stream_with_an_error(
    openai_stage: OpenAiStage, last: Event, code: str
) -> None:
    play = saying(openai_stage, *packets("Hel", "lo"), last)
    async with running(openai_stage, play), openai_stage.http() as http, openai_stage.client() as client:
        response = await http.post(PATH, json={**ASK, "stream": True})
        with pytest.raises(openai.APIError):
            async for _ in await client.chat.completions.create(**ASK, stream=True):
                pass
    *_, event, end = response.text.split("\n\n")
    assert end == ""
    assert json.loads(event.removeprefix("data: "))["error"]["code"] == code
    assert "[DONE]" not in response.text


async def test_what_another_attempt_goes_on_with_is_sent_once(openai_stage: OpenAiStage) -> None:
    again = Packet(1, Side.A, 2, 3, "lo", opening=True)
    end = Settled(1, Side.A, 2, AnswerState.DONE, 5, "stop")
    async with (
        running(openai_stage, saying(openai_stage, *packets("Hel"), again, end)),
        openai_stage.client() as client,
    ):
        stream = await client.chat.completions.create(**ASK, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text == "Hello"


@pytest.mark.parametrize("after", [0, 2])
async def test_a_client_who_leaves_has_the_runner_stop(openai_stage: OpenAiStage, after: int) -> None:
    begun, stopped = asyncio.Event(), list[AnswerRef]()

    async def listen() -> None:
        async for ref in openai_stage.bus.stops():
            stopped.append(ref)

    async def play(job: Job) -> None:
        for packet in packets(*after * ["word "]):
            await openai_stage.bus.append(job.ref.conversation, packet)
        begun.set()
        async with asyncio.timeout(0.3 + 0.5):
            while job.ref not in stopped:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0.2)
    async with running(openai_stage, play) as jobs, openai_stage.http() as http:
        asking = asyncio.create_task(http.post(PATH, json={**ASK, "stream": True}))
        await begun.wait()
        await asyncio.sleep(0.3)
        asking.cancel()
        async with asyncio.timeout(0.3):
            while not stopped:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    assert stopped == [jobs[0].ref]
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
