"""Engines that fail, and people who stop them."""

import asyncio

import pytest
from tests.integration.stage import NAMES, Stage, end, serve_runner
from tests.integration.voter import assemble, assert_whole, expect, expect_error, names, texts_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

BROKEN, SOUND = NAMES
JSON = {"content-type": "application/json"}
KINDS = ["http_500", "http_503", "disconnect", "truncate", "error_event", "garbage", "empty"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_side_that_fails_once_is_tried_again_and_nobody_notices(stage: Stage, kind: str) -> None:
    stage.script(BROKEN, fail={"kind": kind, "at_token": 7, "times": 1})
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        final = await voter.find(battle)
        assert_whole(final)
        assert assemble(seen) == texts_of(final)
        assert names(seen, "failed") == names(seen, "void") == []
        expect(await voter.vote(battle), 200)


async def test_a_side_that_fails_twice_voids_its_battle(stage: Stage) -> None:
    before = stage.engine.counters(NAMES[BROKEN]).started
    stage.script(BROKEN, fail={"kind": "disconnect", "at_token": 5})
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        assert len(names(seen, "failed")) == 1
        assert len(names(seen, "done")) == 1
        [void] = names(seen, "void")
        found = await voter.find(battle)
        assert (found["state"], found["void_reason"]) == ("void", void["reason"])
        assert found["models"] is None
        expect_error(await voter.vote(battle), 409, "battle_void")
        where = f"/arena/battles/{battle['id']}"
        expect_error(await voter.http.post(f"{where}/turns", json={"prompt": "More?"}), 409, "battle_void")
        [side] = [side for side, one in found["turns"][0]["answers"].items() if one["state"] == "failed"]
        response = await voter.http.post(f"{where}/turns/1/regenerate", json={"side": side})
        expect_error(response, 409, "battle_void")
    assert stage.engine.counters(NAMES[BROKEN]).started == before + 2


async def test_two_sides_that_fail_void_the_battle_once(stage: Stage) -> None:
    stage.script(fail={"kind": "http_500"})
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        assert len(names(seen, "failed")) == 2
        assert len(names(seen, "void")) == 1


async def test_a_comparison_with_a_failed_side_can_go_on(stage: Stage) -> None:
    stage.script(BROKEN, fail={"kind": "http_500", "times": 2})
    async with stage.person() as voter:
        compared = await voter.compare(BROKEN, SOUND)
        seen = await voter.watch(compared)
        assert [data["side"] for data in names(seen, "failed")] == ["a"]
        assert names(seen, "void") == []
        where = f"/arena/battles/{compared['id']}"
        expect_error(await voter.http.post(f"{where}/turns", json={"prompt": "More?"}), 409, "answers_incomplete")
        response = await voter.http.post(f"{where}/turns/1/regenerate", json={"side": "b"})
        expect_error(response, 409, "answer_not_failed")
        again = expect(await voter.http.post(f"{where}/turns/1/regenerate", json={"side": "a"}), 202)
        assert again["turns"][0]["answers"]["a"]["state"] == "pending"
        await voter.watch(compared)
        assert_whole(await voter.find(compared))
        await voter.add_turn(compared)


async def test_stopping_frees_the_engine_and_keeps_what_was_said(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=20.0, tokens=150)
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch_until(battle, 4)
        expect(await voter.http.post(f"/arena/battles/{battle['id']}/stop"), 200)
        stopped = await voter.settled(battle)
        for side, answer in stopped["turns"][0]["answers"].items():
            assert (answer["state"], answer["finish_reason"]) == ("stopped", "stopped")
            assert answer["text"].startswith(assemble(seen).get(side, ""))
        assert sorted(data["finish_reason"] for data in names(await voter.watch(battle), "done")) == 2 * ["stopped"]
        expect_error(await voter.vote(battle), 409, "answers_incomplete")
        async with asyncio.timeout(10):
            while any(stage.engine.counters(model).active for model in NAMES.values()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_a_truncated_stream_is_no_answer(stage: Stage) -> None:
    stage.script(BROKEN, fail={"kind": "truncate", "at_token": 9})
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        assert len(names(seen, "failed")) == 1
        assert (await voter.find(battle))["state"] == "void"


async def test_what_no_ledger_can_hold_is_refused(stage: Stage) -> None:
    async with stage.person() as voter:
        for body in (b'{"prompt": "a\\u0000b"}', b'{"prompt": "half \\ud800 a character"}'):
            response = await voter.http.post("/arena/battles", content=body, headers=JSON)
            expect_error(response, 422, "invalid_input", "prompt")
        for body in (b'{"prompt": "Hi", "\\ud800": 1}', b'{"prompt": "Hi", "session_id": "\\ud800"}'):
            response = await voter.http.post("/chat", content=body, headers=JSON)
            assert response.status_code == 422, response.text


async def test_an_answer_whose_runner_went_away_is_finished_by_the_next(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=15.0, tokens=40)
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch_until(battle, 3)
        await end(stage.serving)
        stage.script(rate_tokens_per_s=0.0, tokens=40)
        stage.serving = asyncio.create_task(serve_runner(stage.settings))
        seen += await voter.watch(battle, seen[-1].id)
        final = await voter.find(battle)
        assert_whole(final)
        assert assemble(seen) == texts_of(final)
