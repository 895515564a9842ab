"""Whoever submits answers shows a key where keys are wanted, and keeps within bounds of their own."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from tests.integration.stage import Stage, serve_gateway
from tests.integration.voter import expect, expect_error

pytestmark = pytest.mark.asyncio(loop_scope="session")

JSON = {"content-type": "application/json"}
KEYS = ("first-key-0123456789", "second-key-0123456789")


@asynccontextmanager
async def gateway(stage: Stage, **limits: Any) -> AsyncGenerator[httpx.AsyncClient]:
    """A gateway of its own, with its own buckets."""
    async with (
        stage.gateway(**limits) as url,
        httpx.AsyncClient(verify=False, base_url=url, timeout=30) as client,
    ):
        yield client


async def create(stage: Stage, questions: int = 3, **changes: Any) -> str:
    bank = [{"id": f"q{n}", "prompt": f"{n}?"} for n in range(questions)]
    body = {"name": "Limits", "scorer": "format", "questions": bank, **changes}
    async with stage.admin() as admin:
        return expect(await admin.post("/arena/rounds", json=body), 201)["id"]


def answer(round_id: str, question: str = "q0", **changes: Any) -> dict[str, Any]:
    return {"round_id": round_id, "model": "m", "question": question, "text": "x", **changes}


async def test_a_sender_who_sends_too_much_waits(stage: Stage) -> None:
    made = await create(stage)
    async with gateway(stage, client_submits_per_minute=6) as client:
        for _ in range(3):
            expect(await client.post("/arena/submit", json=answer(made)), 200)
        batch = {"answers": [answer(made) for _ in range(5)]}
        refused = await client.post("/arena/submit", json=batch)
        expect_error(refused, 429, "too_many_submits")
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        # What was refused cost nothing; unknown questions and broken answers cost as much as others.
        expect(await client.post("/arena/submit", json={"answers": [answer(made), answer(made, "no"), 7]}), 200)
        for sent in (json.dumps(answer(made)).encode(), b"{", b""):
            response = await client.post("/arena/submit", content=sent, headers=JSON)
            expect_error(response, 429, "too_many_submits")
        # Other routes do not care.
        expect(await client.get(f"/arena/rounds/{made}"), 200)
        shown = (await client.get("/metrics")).text
    assert 'arena_round_submissions_total{outcome="taken"} 1.0' in shown
    assert 'arena_round_submissions_total{outcome="repeated"} 3.0' in shown
    assert 'arena_round_submissions_total{outcome="refused"} 2.0' in shown
    assert 'arena_round_submissions_total{outcome="throttled"} 8.0' in shown
    assert 'arena_req_total{method="POST",route="/arena/submit",status="429"} 4.0' in shown


async def test_without_a_limit_nobody_waits(stage: Stage) -> None:
    made = await create(stage)
    async with gateway(stage, client_submits_per_minute=0) as client:
        for _ in range(10):
            expect(await client.post("/arena/submit", json={"answers": [answer(made)] * 100}), 200)


@asynccontextmanager
async def keyed(stage: Stage, **limits: object) -> AsyncGenerator[str]:
    settings = stage.settings
    changed: Mapping[str, object] = {
        "server": settings.server.model_copy(update={"api_keys": KEYS}),
        "limits": settings.limits.model_copy(update=limits),
    }
    async with serve_gateway(settings.model_copy(update=changed)) as url:
        yield url


async def test_where_keys_are_wanted_each_has_a_bucket(stage: Stage) -> None:
    made = await create(stage)
    async with (
        keyed(stage, client_submits_per_minute=2) as url,
        httpx.AsyncClient(verify=False, base_url=url, timeout=30) as client,
    ):
        for headers in ({}, {"Authorization": "Bearer wrong-key-0123456789"}, {"Authorization": KEYS[0]}):
            refused = await client.post("/arena/submit", json=answer(made), headers=headers)
            expect_error(refused, 401, "invalid_api_key")
            assert refused.headers["www-authenticate"] == "Bearer"
        first, second = ({"Authorization": f"Bearer {key}"} for key in KEYS)
        for _ in range(2):
            expect(await client.post("/arena/submit", json=answer(made), headers=first), 200)
        expect_error(await client.post("/arena/submit", json=answer(made), headers=first), 429, "too_many_submits")
        expect(await client.post("/arena/submit", json=answer(made), headers=second), 200)
        # Reading stays open, and an API key is no admin key.
        expect(await client.get("/arena/rounds"), 200)
        expect_error(await client.post("/arena/rounds", json={}, headers=first), 401, "admin_key_needed")


async def pieces(sent: bytes) -> AsyncIterator[bytes]:
    """A body that does not say its length."""
    for first in range(0, len(sent), 500):
        yield sent[first : first + 500]


async def test_bodies_have_bounds_of_their_own(stage: Stage) -> None:
    made = await create(stage)
    limits = {"body_bytes": 2048, "submit_bytes": 4096, "bank_bytes": 8192}
    bank = json.dumps({"name": "x", "scorer": "format", "questions": [{"prompt": "x" * 6000}]}).encode()
    larger = bank.replace(b"xxx", b"xxxxx")
    answers = json.dumps(answer(made, model="long", text="x" * 3000)).encode()
    async with gateway(stage, **limits) as client:
        headers = {**JSON, "Authorization": f"Bearer {stage.admin_key}"}
        expect(await client.post("/arena/rounds", content=bank, headers=headers), 201)
        expect(await client.post("/arena/submit", content=answers, headers=JSON), 200)
        for path, sent in (("/arena/rounds", larger), ("/arena/submit", answers + b" " * 4096)):
            expect_error(await client.post(path, content=sent, headers=headers), 413, "body_too_large", "body")
            in_pieces = await client.post(path, content=pieces(sent), headers=headers)
            expect_error(in_pieces, 413, "body_too_large", "body")
        contestants = f"/arena/rounds/{made}/contestants"
        expect_error(await client.post(contestants, content=bank, headers=headers), 413, "body_too_large", "body")


async def test_a_thousand_answers_go_in_one_request(stage: Stage) -> None:
    made = await create(stage, questions=100)
    sent = [answer(made, f"q{n}", model=f"m{who}", text="word " * 100) for n in range(100) for who in range(10)]
    random.Random(7).shuffle(sent)
    async with gateway(stage) as client:
        replies = expect(await client.post("/arena/submit", json={"answers": sent}), 200)["answers"]
        assert not any(reply["repeated"] for reply in replies)
        assert len({reply["answer_id"] for reply in replies}) == 1000
        again = expect(await client.post("/arena/submit", json={"answers": sent}), 200)["answers"]
        assert [reply["answer_id"] for reply in again] == [reply["answer_id"] for reply in replies]
        assert all(reply["repeated"] for reply in again)
        found = expect(await client.get(f"/arena/rounds/{made}"), 200)
    assert {one["answered"] for one in found["progress"]} == {100}


async def test_gateways_that_race_keep_each_answer_once(stage: Stage) -> None:
    made = await create(stage, questions=20)
    sent = [answer(made, f"q{n}", model=f"m{who}") for n in range(20) for who in range(5)]
    async with gateway(stage) as one, gateway(stage) as two:

        async def send(client: httpx.AsyncClient, each: dict[str, Any]) -> dict[str, Any]:
            return expect(await client.post("/arena/submit", json=each), 200)

        replies = await asyncio.gather(*(send(client, each) for client in (one, two) for each in sent))
        found = expect(await one.get(f"/arena/rounds/{made}"), 200)
    assert sum(not reply["repeated"] for reply in replies) == 100
    assert {one["answered"] for one in found["progress"]} == {20}
