"""One arena for all integration tests; each test finds it as at the beginning."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio
from tests.integration.openai_stage import OpenAiStage, open_openai_stage
from tests.integration.stage import Stage, open_stage


async def make_database(postgres_url: str, template: str, name: str) -> str:
    server = await asyncpg.connect(postgres_url)
    await server.execute(f"create database {name} template {template}")
    await server.close()
    return postgres_url.replace("@/agon?", f"@/{name}?")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_stage(
    postgres_url: str, migrated_template: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    database_url = await make_database(postgres_url, migrated_template, "integration")
    folder = tmp_path_factory.mktemp("arena")
    async with open_stage(database_url, redis_url, folder, prefix="integration") as stage:
        yield stage


@pytest_asyncio.fixture(loop_scope="session")
async def stage(shared_stage: Stage) -> Stage:
    await shared_stage.reset()
    return shared_stage


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def narrow_stage(
    postgres_url: str, migrated_template: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """An arena with small limits and a short deadline."""
    database_url = await make_database(postgres_url, migrated_template, "narrow")
    folder: Path = tmp_path_factory.mktemp("narrow")
    limits = {
        "prompt_chars": 60,
        "turns": 2,
        "body_bytes": 2048,
        "answer_tokens": 32,
        "battle_deadline_s": 3.0,
        "queue_s": 0.02,
    }
    async with open_stage(database_url, redis_url, folder, prefix="narrow", limits=limits) as stage:
        yield stage


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_openai_stage(
    postgres_url: str, migrated_template: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[OpenAiStage]:
    database_url = await make_database(postgres_url, migrated_template, "openai")
    folder = tmp_path_factory.mktemp("openai")
    async with open_openai_stage(database_url, redis_url, folder, prefix="openai", gateways=2) as stage:
        yield stage


@pytest_asyncio.fixture(loop_scope="session")
async def openai_stage(shared_openai_stage: OpenAiStage) -> OpenAiStage:
    await shared_openai_stage.reset()
    return shared_openai_stage
