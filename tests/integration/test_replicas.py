"""A contestant with several servers: seen, drained, and given other ones."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio
from tests.integration.stage import ENGINE_KEY, KEY_ENV, SPARE, Stage
from tests.integration.voter import Json, Voter, expect, expect_error

from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_models import ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAME = "Twin Falcon"


@pytest_asyncio.fixture(loop_scope="session")
async def second_server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer([SPARE], script=ScriptedModel(tokens=24), api_key=ENGINE_KEY) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def admin(stage: Stage) -> AsyncIterator[httpx.AsyncClient]:
    async with stage.admin() as client:
        yield client
        await client.delete(f"/admin/contestants/{NAME}")


async def twins(stage: Stage, admin: httpx.AsyncClient, server: ScriptedServer) -> list[Json]:
    """A contestant with two replicas, once both are ready."""
    urls = [stage.engine.url, server.url]
    body = {"name": NAME, "urls": urls, "model": SPARE, "key_env": KEY_ENV, "max_concurrent": 16}
    added = expect(await admin.post("/admin/contestants", json=body), 201)
    assert added["urls"] == urls
    return await until_states(admin, ["ready", "ready"])


async def until_states(admin: httpx.AsyncClient, states: list[str]) -> list[Json]:
    async with asyncio.timeout(20):
        while True:
            found = expect(await admin.get("/admin/replicas"), 200)["replicas"]
            ours = [one for one in found if one["contestant"] == NAME]
            if sorted(one["state"] for one in ours) == sorted(states):
                return ours
            await asyncio.sleep(0.05)


async def chat(voter: Voter) -> Json:
    return expect(await voter.http.post("/chat", json={"prompt": "Hello?", "model": NAME}), 200)


async def started(stage: Stage, server: ScriptedServer) -> tuple[int, int]:
    return stage.engine.counters(SPARE).started, server.counters(SPARE).started


async def test_turns_go_to_both_and_a_drained_one_gets_nothing_new(
    stage: Stage, admin: httpx.AsyncClient, second_server: ScriptedServer
) -> None:
    replicas = await twins(stage, admin, second_server)
    shown = (await stage.contestants())[NAME]
    assert [one["id"] for one in shown["replicas"]] == [one["id"] for one in replicas]
    async with stage.person() as voter:
        before = await started(stage, second_server)
        await asyncio.gather(*(chat(voter) for _ in range(20)))
        after = await started(stage, second_server)
        assert all(now > then for now, then in zip(after, before, strict=True))
        drained = next(one for one in replicas if one["url"] == second_server.url)
        where = f"/admin/replicas/{quote(drained['id'], safe='')}"
        changed = expect(await admin.patch(where, json={"state": "draining"}), 200)
        assert (changed["id"], changed["state"]) == (drained["id"], "draining")
        await asyncio.sleep(2.0)
        before = await started(stage, second_server)
        await asyncio.gather(*(chat(voter) for _ in range(10)))
        assert (await started(stage, second_server))[1] == before[1]
        # It is kept where every runner finds it, also after its contestant has changed.
        expect(await admin.patch(f"/admin/contestants/{NAME}", json={"weight": 0.5}), 200)
        await until_states(admin, ["draining", "ready"])
        expect(await admin.patch(where, json={"state": "ready"}), 200)
        await until_states(admin, ["ready", "ready"])


async def test_a_contestant_whose_every_replica_is_drained_plays_no_more(
    stage: Stage, admin: httpx.AsyncClient, second_server: ScriptedServer
) -> None:
    for one in await twins(stage, admin, second_server):
        expect(await admin.patch(f"/admin/replicas/{one['id']}", json={"state": "draining"}), 200)
    async with stage.person() as voter:
        response = await voter.http.post("/chat", json={"prompt": "Hello?", "model": NAME})
        expect_error(response, 503, "model_not_ready", "model")
        assert int(response.headers["retry-after"]) >= 1


async def test_servers_are_changed_while_the_arena_runs(
    stage: Stage, admin: httpx.AsyncClient, second_server: ScriptedServer
) -> None:
    await twins(stage, admin, second_server)
    where = f"/admin/contestants/{NAME}"
    changed = expect(await admin.patch(where, json={"urls": [second_server.url]}), 200)
    assert changed["urls"] == [second_server.url]
    [left] = await until_states(admin, ["ready"])
    assert left["url"] == second_server.url
    async with stage.person() as voter:
        before = await started(stage, second_server)
        await chat(voter)
        assert await started(stage, second_server) == (before[0], before[1] + 1)
    for urls, field in (([], "urls"), (["ftp://x"], "urls.0"), ([stage.engine.url] * 2, "urls")):
        expect_error(await admin.patch(where, json={"urls": urls}), 422, "invalid_input", field)


async def test_a_replica_that_is_not_there_is_not_found(stage: Stage, admin: httpx.AsyncClient) -> None:
    response = await admin.patch("/admin/replicas/nobody@http://127.0.0.1:1", json={"state": "draining"})
    expect_error(response, 404, "replica_not_found", "id")
    response = await admin.patch("/admin/replicas/nobody@http://127.0.0.1:1", json={"state": "asleep"})
    expect_error(response, 422, "invalid_input", "state")
    async with httpx.AsyncClient(verify=False, base_url=stage.url) as stranger:
        expect_error(await stranger.get("/admin/replicas"), 401, "admin_key_needed")
        expect_error(await stranger.patch("/admin/replicas/x", json={}), 401, "admin_key_needed")


async def test_the_fleet_is_in_the_metrics_without_a_name(stage: Stage, admin: httpx.AsyncClient) -> None:
    replicas = expect(await admin.get("/admin/replicas"), 200)["replicas"]
    text = (await admin.get("/metrics")).text
    assert f'arena_replicas{{state="ready"}} {len(replicas)}.0' in text
    for one in replicas:
        assert f'arena_replica_outstanding_tokens{{replica="{one["label"]}"}}' in text
        assert f'arena_replica_rate_tokens_per_second{{replica="{one["label"]}"}}' in text
        assert one["contestant"] not in text
