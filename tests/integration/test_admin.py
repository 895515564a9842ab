"""Contestants, changed while the arena runs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from tests.integration.stage import ENGINE_KEY, KEY_ENV, NAMES, SPARE, Stage
from tests.integration.voter import Voter, expect, expect_error

from agon.engines.scripted_text import check_text

pytestmark = pytest.mark.asyncio(loop_scope="session")

SPARE_NAME = "Copper Heron"


@pytest_asyncio.fixture(loop_scope="session")
async def admin(stage: Stage) -> AsyncIterator[httpx.AsyncClient]:
    async with stage.admin() as client:
        yield client
        await client.delete(f"/admin/contestants/{SPARE_NAME}")
        for name in NAMES:
            await client.patch(f"/admin/contestants/{name}", json={"weight": 1.0, "state": "active"})


def spare(stage: Stage, **changes: object) -> dict[str, object]:
    return {"name": SPARE_NAME, "url": stage.engine.url, "model": SPARE, "key_env": KEY_ENV, **changes}


async def fighters(voter: Voter, battles: int) -> list[set[str]]:
    """Who fights whom, by their votes."""
    pairs: list[set[str]] = []
    for _ in range(battles):
        vote = expect(await voter.vote(await voter.answered(), "tie"), 200)
        pairs.append(set(vote["models"].values()))
    return pairs


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/admin/contestants"),
        ("POST", "/admin/contestants"),
        ("PATCH", "/admin/contestants/x"),
        ("DELETE", "/admin/contestants/x"),
    ],
)
async def test_admins_show_their_key(stage: Stage, method: str, path: str) -> None:
    async with httpx.AsyncClient(verify=False, base_url=stage.url) as client:
        for header in (None, "", "Bearer", "Bearer wrong", f"Basic {stage.admin_key}", stage.admin_key):
            headers = {} if header is None else {"Authorization": header}
            response = await client.request(method, path, headers=headers, json={})
            expect_error(response, 401, "admin_key_needed")
            assert response.headers["www-authenticate"] == "Bearer"


async def test_a_contestant_is_seen_with_its_engine_but_without_its_key(stage: Stage, admin: httpx.AsyncClient) -> None:
    response = await admin.get("/admin/contestants")
    listed = {one["name"]: one for one in expect(response, 200)["contestants"]}
    assert set(listed) == set(NAMES)
    for name, model in NAMES.items():
        one = listed[name]
        assert (one["model"], one["urls"], one["key_env"]) == (model, [stage.engine.url], KEY_ENV)
        assert (one["engine"], one["state"], one["weight"], one["kind"]) == ("ready", "active", 1.0, "openai")
    assert ENGINE_KEY not in response.text


async def test_one_is_added_played_and_removed_without_a_restart(stage: Stage, admin: httpx.AsyncClient) -> None:
    added = expect(await admin.post("/admin/contestants", json=spare(stage)), 201)
    assert added["name"] == SPARE_NAME
    await stage.until_ready(3)
    async with stage.person() as voter:
        body = {"prompt": "Hello?", "model": SPARE_NAME}
        assert check_text(expect(await voter.http.post("/chat", json=body), 200)["text"]).complete
        vote = await vote_on_a_battle_of(voter, SPARE_NAME)
        expect_error(await admin.post("/admin/contestants", json=spare(stage)), 409, "contestant_exists", "name")
        assert (await admin.delete(f"/admin/contestants/{SPARE_NAME}")).status_code == 204
        expect_error(await admin.delete(f"/admin/contestants/{SPARE_NAME}"), 404, "contestant_not_found")
        listed = expect(await voter.http.get("/arena/models"), 200)["models"]
        assert {one["name"] for one in listed} == set(NAMES)
        expect_error(await voter.http.post("/chat", json=body), 422, "unknown_model", "model")
        kept = expect(await voter.http.get(f"/arena/votes/{vote['receipt']}"), 200)
        assert kept["models"] == vote["models"]


async def vote_on_a_battle_of(voter: Voter, name: str) -> dict[str, Any]:
    """Vote until it was this one's battle."""
    for _ in range(60):
        vote = expect(await voter.vote(await voter.answered()), 200)
        if name in vote["models"].values():
            return vote
    raise AssertionError("it was never drawn")


async def test_one_that_is_paused_gets_no_new_battles(stage: Stage, admin: httpx.AsyncClient) -> None:
    paused, other = NAMES
    async with stage.person() as voter:
        running = await voter.answered()
        changed = expect(await admin.patch(f"/admin/contestants/{paused}", json={"state": "paused"}), 200)
        assert changed["state"] == "paused"
        response = await voter.http.post("/arena/battles", json={"prompt": "Why?"})
        expect_error(response, 503, "not_enough_models")
        assert int(response.headers["retry-after"]) >= 1
        response = await voter.http.post("/chat", json={"prompt": "Hello?", "model": paused})
        expect_error(response, 503, "model_not_ready", "model")
        status = expect(await voter.http.get("/arena/status"), 200)
        assert not status["ready"]
        assert status["contestants"] == {"ready": 1, "loading": 0, "failed": 0, "paused": 1}
        listed = {one["name"]: one["state"] for one in (await voter.http.get("/arena/models")).json()["models"]}
        assert listed == {paused: "paused", other: "ready"}
        # What it was in goes on.
        await voter.add_turn(running)
        await voter.watch(running)
        expect(await voter.vote(running), 200)
        expect(await admin.patch(f"/admin/contestants/{paused}", json={"state": "active"}), 200)
        await voter.answered()


async def test_a_weight_of_nothing_keeps_one_out_of_battles(stage: Stage, admin: httpx.AsyncClient) -> None:
    expect(await admin.post("/admin/contestants", json=spare(stage)), 201)
    await stage.until_ready(3)
    out, _ = NAMES
    expect(await admin.patch(f"/admin/contestants/{out}", json={"weight": 0}), 200)
    await asyncio.sleep(0.3)
    async with stage.person() as voter:
        assert all(out not in pair for pair in await fighters(voter, 8))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"url": "ftp://127.0.0.1"}, "url"),
        ({"url": "http://user:secret@127.0.0.1/v1"}, "url"),
        ({"url": None}, None),
        ({"weight": -1}, "weight"),
        ({"weight": "much"}, "weight"),
        ({"max_concurrent": 0}, "max_concurrent"),
        ({"key_env": "not a name"}, "key_env"),
        ({"weights": "smollm2"}, None),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_bad_entry_is_refused_by_its_field(
    stage: Stage, admin: httpx.AsyncClient, change: dict[str, object], field: str | None
) -> None:
    response = await admin.post("/admin/contestants", json=spare(stage, **change))
    expect_error(response, 422, response.json()["error"]["code"], field)
    assert set(await stage.contestants()) == set(NAMES)


@pytest.mark.parametrize(("change", "field"), [({"weight": -1}, "weight"), ({"state": "removed"}, "state")])
async def test_a_bad_change_is_refused_by_its_field(
    stage: Stage, admin: httpx.AsyncClient, change: dict[str, object], field: str
) -> None:
    name = next(iter(NAMES))
    before = await stage.contestants()
    expect_error(await admin.patch(f"/admin/contestants/{name}", json=change), 422, "invalid_input", field)
    expect_error(await admin.patch("/admin/contestants/Nobody", json={"weight": 1}), 404, "contestant_not_found")
    assert (await stage.contestants())[name]["weight"] == before[name]["weight"]


async def test_an_engine_that_is_down_is_told_to_the_admin_alone(stage: Stage, admin: httpx.AsyncClient) -> None:
    expect(await admin.post("/admin/contestants", json=spare(stage, model="no-such-model")), 201)
    async with asyncio.timeout(20):
        while (shown := (await stage.contestants())[SPARE_NAME])["engine"] != "failed":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert shown["detail"]
    async with stage.person() as voter:
        models = await voter.http.get("/arena/models")
        assert {one["name"]: one["state"] for one in models.json()["models"]}[SPARE_NAME] == "failed"
        for response in (models, await voter.http.get("/arena/status")):
            assert shown["detail"] not in response.text
            assert "no-such-model" not in response.text
