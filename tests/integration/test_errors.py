"""Every error has one shape, and every limit is kept."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import expect, expect_error, names

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNKNOWN = "00000000-0000-4000-8000-000000000000"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/arena/nowhere", 404, "not_found"),
        ("GET", "/docs", 404, "not_found"),
        ("GET", "/arena/boards/other", 404, "board_not_found"),
        ("GET", "/arena/boards/other/events", 404, "board_not_found"),
        ("GET", f"/arena/votes/{UNKNOWN}", 404, "receipt_not_found"),
        ("GET", f"/arena/battles/{UNKNOWN}", 404, "conversation_not_found"),
        ("GET", f"/arena/battles/{UNKNOWN}/events", 404, "conversation_not_found"),
        ("POST", f"/arena/battles/{UNKNOWN}/stop", 404, "conversation_not_found"),
        ("DELETE", "/arena/battles", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("PUT", "/chat", 405, "method_not_allowed"),
        ("GET", "/arena/battles/not-an-id", 422, "invalid_input"),
        ("GET", "/arena/battles?limit=0", 422, "invalid_input"),
        ("GET", "/arena/battles?limit=1000", 422, "invalid_input"),
        ("GET", "/arena/battles?before=x", 422, "invalid_input"),
        ("POST", "/arena/battles", 422, "missing_field"),
    ],
)
async def test_errors_have_one_shape(stage: Stage, method: str, path: str, status: int, code: str) -> None:
    async with stage.person() as voter:
        response = await voter.http.request(method, path)
    expect_error(response, status, code)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b"", "missing_field", "body"),
        (b"{", "invalid_json", None),
        (b"\xff\xfe", None, None),
        (b"[]", "invalid_input", "body"),
        (b"null", None, None),
        (b"{}", "missing_field", "prompt"),
        (b'{"prompt": 7}', "invalid_input", "prompt"),
        (b'{"prompt": ""}', "empty_prompt", "prompt"),
        (b'{"prompt": "  "}', "empty_prompt", "prompt"),
        (b'{"prompt": "Why?", "model": "x"}', "invalid_input", "model"),
        (b'{"prompt": "Why?"' + b"[" * 5000, None, None),
    ],
)
async def test_a_bad_body_is_refused_by_its_field(
    stage: Stage, body: bytes, code: str | None, field: str | None
) -> None:
    async with stage.person() as voter:
        response = await voter.http.post("/arena/battles", content=body, headers=JSON)
    assert response.status_code in {400, 422}
    expect_error(response, response.status_code, code or response.json()["error"]["code"], field)


@pytest.mark.parametrize("winner", ["c", "", None, 1, "A"])
async def test_a_verdict_that_is_none_is_refused(stage: Stage, winner: object) -> None:
    async with stage.person() as voter:
        response = await voter.http.post(f"/arena/battles/{UNKNOWN}/vote", json={"winner": winner})
    expect_error(response, 422, "invalid_input", "winner")


async def test_an_idempotency_key_has_its_bounds(stage: Stage) -> None:
    async with stage.person() as voter:
        for key in ("", "k" * 201):
            response = await voter.http.post("/arena/battles", json={"prompt": "Hi"}, headers={"Idempotency-Key": key})
            assert response.json()["error"]["field"] == "idempotency-key"
            expect_error(response, 422, "invalid_input")
        response = await voter.http.post(
            "/arena/battles", json={"prompt": "Hi"}, headers={"Idempotency-Key": "k" * 200}
        )
        expect(response, 201)


async def test_another_site_may_change_nothing(stage: Stage) -> None:
    async with stage.person() as voter:
        for site in ("cross-site", "same-site"):
            headers = {"Sec-Fetch-Site": site}
            response = await voter.http.post("/arena/battles", json={"prompt": "Hi"}, headers=headers)
            expect_error(response, 403, "cross_site")
            assert (await voter.http.get("/arena/status", headers=headers)).status_code == 200
        expect(
            await voter.http.post("/arena/battles", json={"prompt": "Hi"}, headers={"Sec-Fetch-Site": "same-origin"}),
            201,
        )


async def test_the_limits_are_told(narrow_stage: Stage) -> None:
    async with narrow_stage.person() as voter:
        limits = (await voter.http.get("/arena/status")).json()["limits"]
    assert limits == {"prompt_chars": 60, "turns": 2, "answer_tokens": 32}


async def test_a_prompt_and_the_turns_have_their_limits(narrow_stage: Stage) -> None:
    await narrow_stage.reset()
    async with narrow_stage.person() as voter:
        response = await voter.http.post("/arena/battles", json={"prompt": "光" * 61})
        expect_error(response, 422, "limit_exceeded", "prompt")
        battle = await voter.answered("光" * 60)
        where = f"/arena/battles/{battle['id']}/turns"
        expect_error(await voter.http.post(where, json={"prompt": "x" * 61}), 422, "limit_exceeded", "prompt")
        await voter.add_turn(battle)
        await voter.watch(battle)
        expect_error(await voter.http.post(where, json={"prompt": "More?"}), 422, "too_many_turns")
        expect(await voter.vote(battle), 200)


async def chunks(size: int) -> AsyncIterator[bytes]:
    """A body that does not say its length."""
    yield b'{"prompt": "'
    for _ in range(size // 100):
        yield b"x" * 100
    yield b'"}'


async def test_a_body_has_its_limit_whether_it_says_its_length_or_not(narrow_stage: Stage) -> None:
    async with narrow_stage.person() as voter:
        response = await voter.http.post("/arena/battles", content=b"x" * 2049, headers=JSON)
        expect_error(response, 413, "body_too_large", "body")
        response = await voter.http.post("/arena/battles", content=chunks(4000), headers=JSON)
        expect_error(response, 413, "body_too_large", "body")
        response = await voter.http.post("/arena/battles", content=chunks(1000), headers=JSON)
        expect_error(response, 422, "limit_exceeded", "prompt")


async def test_a_side_that_takes_too_long_loses_its_battle(narrow_stage: Stage) -> None:
    await narrow_stage.reset()
    stalled, _ = NAMES
    narrow_stage.script(stalled, fail={"kind": "stall", "at_token": 3})
    async with narrow_stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        assert len(names(seen, "forfeited")) == 1
        assert names(seen, "failed") == names(seen, "void") == []
        assert (await voter.find(battle))["state"] == "forfeited"
        expect_error(await voter.vote(battle), 409, "battle_forfeited")
    async with asyncio.timeout(10):
        while narrow_stage.engine.counters(NAMES[stalled]).active:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_a_crowd_is_told_when_to_come_back(narrow_stage: Stage) -> None:
    """Sixteen places a contestant: when they are taken, the next one is sent away."""
    await narrow_stage.reset()
    narrow_stage.script(rate_tokens_per_s=10.0, tokens=32)
    async with narrow_stage.person() as voter:
        await voter.http.get("/arena/battles")
        refused: httpx.Response | None = None
        started = 0
        while refused is None and started < 120:
            response = await voter.http.post("/arena/battles", json={"prompt": "Why?"})
            if response.status_code == 201:
                started += 1
                await asyncio.sleep(0.02)
            else:
                refused = response
        assert refused is not None
        # Which bound comes first depends on how fast the engines were found to be.
        code = refused.json()["error"]["code"]
        assert code in {"busy", "arena_limit"}
        expect_error(refused, 429, code)
        assert re.fullmatch(r"[1-9]\d*", refused.headers["retry-after"])
        history = (await voter.http.get("/arena/battles", params={"limit": 100})).json()["conversations"]
        assert len(history) == started
        states = [(await voter.settled(battle))["state"] for battle in history]
        assert set(states) <= {"ready", "void"}, "everyone who was let in is answered or told"
    await narrow_stage.reset()
