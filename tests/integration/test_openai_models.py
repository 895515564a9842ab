"""A real model inside a real runner, asked by OpenAI's own client."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from tests.engines.conftest import _cached  # pyright: ignore[reportPrivateUsage]
from tests.integration.conftest import make_database
from tests.integration.openai_stage import serve_gateway
from tests.integration.stage import end, serve_runner

from agon.config import Settings
from agon.engines.catalogue import SMOLLM2
from agon.stores.redis.dispatch import RedisDispatch

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.models, pytest.mark.slow]

NAME = "Small One"
ASK: dict[str, Any] = {"model": NAME, "messages": [{"role": "user", "content": "Count from one to five."}], "seed": 1}
PREFIX = "openai-models"


async def ask(client: AsyncOpenAI, **more: Any) -> Any:
    create: Any = client.chat.completions.create
    return await create(**{**ASK, **more})


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client(
    postgres_url: str, migrated_template: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AsyncOpenAI]:
    weights = await asyncio.to_thread(_cached, SMOLLM2)
    database_url = await make_database(postgres_url, migrated_template, "openai_models")
    folder: Path = tmp_path_factory.mktemp("openai-models")
    stores = {"data_dir": folder, "database_url": database_url, "redis_url": redis_url, "redis_prefix": PREFIX}
    contestants = [{"name": NAME, "weights": str(weights)}]
    settings = Settings.model_validate(
        {"stores": stores, "contestants": contestants, "log_level": "warning", "engine": {"threads": 1}}
    )
    running = asyncio.create_task(serve_runner(settings))
    async with serve_gateway(settings) as url, AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as opened:
        async with asyncio.timeout(60):
            while not await _ready(opened):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        yield opened
        await end(running)


async def _ready(client: AsyncOpenAI) -> bool:
    try:
        await ask(client, max_tokens=1)
    except (openai.NotFoundError, openai.InternalServerError):
        return False
    return True


async def test_a_whole_answer_and_a_stream_say_the_same(client: AsyncOpenAI) -> None:
    whole = await ask(client, max_tokens=24, temperature=0)
    assert whole.usage is not None
    assert whole.usage.prompt_tokens > 5
    assert 1 < whole.usage.completion_tokens <= 24
    text, counted = "", 0
    options = {"stream_options": {"include_usage": True}}
    async for chunk in await ask(client, max_tokens=24, temperature=0, stream=True, **options):
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
        counted = chunk.usage.completion_tokens if chunk.usage else counted
    assert text == whole.choices[0].message.content
    assert counted == whole.usage.completion_tokens


async def test_a_budget_and_a_stop_end_an_answer(client: AsyncOpenAI) -> None:
    short = await ask(client, max_tokens=3, temperature=0)
    assert short.choices[0].finish_reason == "length"
    whole = await ask(client, max_tokens=24, temperature=0)
    words = (whole.choices[0].message.content or "").split()
    stopped = await ask(client, max_tokens=24, temperature=0, stop=[words[3]])
    assert stopped.choices[0].finish_reason == "stop"
    assert words[3] not in (stopped.choices[0].message.content or "").split()


async def test_it_says_how_sure_it_is(client: AsyncOpenAI) -> None:
    answer = await ask(client, max_tokens=4, temperature=0, logprobs=True, top_logprobs=2)
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content
    assert "".join(one.token for one in logprobs.content) == answer.choices[0].message.content
    assert all(one.logprob <= 0 and len(one.top_logprobs) == 2 for one in logprobs.content)


async def test_the_same_key_gets_the_same_answer(client: AsyncOpenAI) -> None:
    headers = {"Idempotency-Key": "again"}
    said = [
        (await ask(client, seed=None, max_tokens=16, temperature=1.0, extra_headers=headers)).choices[0]
        for _ in range(2)
    ]
    assert said[0].message.content == said[1].message.content


async def test_who_leaves_frees_the_slot(client: AsyncOpenAI, redis_url: str) -> None:
    dispatch = RedisDispatch(redis_url, prefix=PREFIX, executor="onlooker")
    stream = await ask(client, max_tokens=400, stream=True)
    async for _ in stream:
        break
    await stream.close()
    async with asyncio.timeout(3):
        while any(one.turns for one in await dispatch.replicas()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await dispatch.close()
