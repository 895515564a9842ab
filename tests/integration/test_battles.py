"""Battles over HTTP, from the first prompt to the vote."""

import asyncio
from uuid import UUID, uuid4

import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import assemble, assert_whole, expect, expect_error, names, texts_of

from agon.engines.scripted_text import check_text

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_whole_battle(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.start("Why?")
        assert battle["state"] == "streaming"
        assert battle["models"] is None
        assert battle["turns"][0]["prompt"] == "Why?"
        seen = await voter.watch(battle)
        found = await voter.find(battle)
        assert_whole(found)
        assert assemble(seen) == texts_of(found)
        assert sorted(data["side"] for data in names(seen, "done")) == ["a", "b"]
        vote = expect(await voter.vote(battle, "b"), 200)
        assert set(vote["models"].values()) == set(NAMES)
        after = await voter.find(battle)
        assert (after["state"], after["winner"], after["receipt"]) == ("voted", "b", vote["receipt"])
        assert after["models"] == vote["models"]
        async with stage.person() as anybody:
            assert expect(await anybody.http.get(f"/arena/votes/{vote['receipt']}"), 200) == vote


async def test_the_two_sides_answer_the_same_prompt_each_in_its_own_words(stage: Stage) -> None:
    async with stage.person() as voter:
        texts = texts_of(await voter.answered())
    assert check_text(texts["a"]).key != check_text(texts["b"]).key


async def test_further_turns_keep_the_pair_and_carry_the_history(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        for number in (2, 3):
            changed = await voter.add_turn(battle, f"Question {number}")
            assert len(changed["turns"]) == number
            seen = await voter.watch(changed)
            # A new watcher is sent the earlier turns too.
            assert [data["turn"] for data in names(seen, "done")] == sorted(2 * list(range(1, number + 1)))
        found = await voter.find(battle)
        assert_whole(found)
        vote = expect(await voter.vote(battle), 200)
    connection = await stage.ledger()
    rows = await connection.fetch(
        "select side, turn, contestant, prompt_tokens from answers where conversation = $1 order by side, turn",
        UUID(battle["id"]),
    )
    await connection.close()
    for side in ("a", "b"):
        ours = [row for row in rows if row["side"] == side]
        assert {row["contestant"] for row in ours} == {vote["models"][side]}
        prompts = [row["prompt_tokens"] for row in ours]
        assert prompts == sorted(set(prompts)), "each turn sends more than the one before"


async def test_a_slow_side_does_not_delay_the_other(stage: Stage) -> None:
    slow, quick = NAMES
    stage.script(slow, rate_tokens_per_s=15.0, tokens=24)
    async with stage.person() as voter:
        battle = await voter.start()
        order = [(seen.name, seen.data["side"]) for seen in await voter.watch(battle)]
        found = await voter.find(battle)
        assert_whole(found)
        vote = expect(await voter.vote(battle), 200)
    side = {name: side for side, name in vote["models"].items()}
    first_end = next(index for index, (name, _) in enumerate(order) if name == "done")
    assert order[first_end] == ("done", side[quick])
    assert [where for name, where in order[first_end + 1 :] if name == "packet"].count(side[slow]) > 3


async def test_a_stalled_side_leaves_the_other_complete(stage: Stage) -> None:
    stalled, quick = NAMES
    stage.script(stalled, fail={"kind": "stall", "at_token": 5})
    async with stage.person() as voter:
        battle = await voter.start()
        async for seen in voter.stream(battle):
            if seen.name == "done":
                break
        found = await voter.find(battle)
        states = {answer["state"] for answer in found["turns"][0]["answers"].values()}
        assert states == {"done", "pending"}
        stopped = expect(await voter.http.post(f"/arena/battles/{battle['id']}/stop"), 200)
        assert stopped["id"] == battle["id"]
        done = await voter.settled(battle)
        assert {answer["state"] for answer in done["turns"][0]["answers"].values()} == {"done", "stopped"}
    assert stage.engine.counters(NAMES[quick]).active == 0


async def test_a_vote_must_wait_for_both_answers(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=20.0)
    async with stage.person() as voter:
        battle = await voter.start()
        expect_error(await voter.vote(battle), 409, "answers_incomplete")
        body = {"prompt": "More?"}
        response = await voter.http.post(f"/arena/battles/{battle['id']}/turns", json=body)
        expect_error(response, 409, "turn_in_progress")
        await voter.watch(battle)
        expect(await voter.vote(battle), 200)


async def test_after_the_vote_nothing_changes_any_more(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        expect(await voter.vote(battle, "tie"), 200)
        where = f"/arena/battles/{battle['id']}"
        expect_error(await voter.http.post(f"{where}/turns", json={"prompt": "More?"}), 409, "battle_voted")
        response = await voter.http.post(f"{where}/turns/1/regenerate", json={"side": "a"})
        expect_error(response, 409, "battle_voted")
        expect_error(await voter.vote(battle, "a"), 409, "already_voted")
        assert expect(await voter.http.post(f"{where}/stop"), 200)["state"] == "voted"


@pytest.mark.parametrize("winner", ["a", "b", "tie", "both_bad"])
async def test_every_verdict_can_be_given(stage: Stage, winner: str) -> None:
    async with stage.person() as voter:
        vote = expect(await voter.vote(await voter.answered(), winner), 200)
    assert vote["winner"] == winner


async def test_a_hundred_clicks_are_one_vote(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        responses = await asyncio.gather(*(voter.vote(battle, "a", key="click") for _ in range(100)))
        assert {expect(response, 200)["receipt"] for response in responses} == {
            expect(await voter.vote(battle, "a", key="click"), 200)["receipt"]
        }
        expect_error(await voter.vote(battle, "b", key="click"), 409, "idempotency_mismatch")
        expect_error(await voter.vote(battle, "a", key="other"), 409, "already_voted")


async def test_a_repeated_start_is_the_same_battle(stage: Stage) -> None:
    async with stage.person() as voter:
        # The first answer brings the cookie that makes the rest one person.
        await voter.http.get("/arena/battles")
        key = {"Idempotency-Key": "start-1"}
        body = {"prompt": "Why?"}
        responses = await asyncio.gather(
            *(voter.http.post("/arena/battles", json=body, headers=key) for _ in range(10))
        )
        assert len({expect(response, 201)["id"] for response in responses}) == 1
        other = await voter.http.post("/arena/battles", json={"prompt": "What?"}, headers=key)
        expect_error(other, 409, "idempotency_mismatch")
        first, second = NAMES
        for models in ({"a": first, "b": second}, {"a": second, "b": first}):
            named = await voter.http.post("/arena/side-by-side", json={**body, "models": models}, headers=key)
            expect_error(named, 409, "idempotency_mismatch")
        async with stage.person() as stranger:
            theirs = expect(await stranger.http.post("/arena/battles", json=body, headers=key), 201)
        assert theirs["id"] != responses[0].json()["id"]


async def test_a_repeated_comparison_is_of_the_same_models(stage: Stage) -> None:
    first, second = NAMES
    key = {"Idempotency-Key": "compare-1"}
    async with stage.person() as voter:
        await voter.http.get("/arena/battles")
        body = {"prompt": "Why?", "models": {"a": first, "b": second}}
        one = expect(await voter.http.post("/arena/side-by-side", json=body, headers=key), 201)
        assert expect(await voter.http.post("/arena/side-by-side", json=body, headers=key), 201)["id"] == one["id"]
        swapped = {"prompt": "Why?", "models": {"a": second, "b": first}}
        response = await voter.http.post("/arena/side-by-side", json=swapped, headers=key)
        expect_error(response, 409, "idempotency_mismatch")


async def test_a_repeated_turn_is_the_same_turn(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        where, key = f"/arena/battles/{battle['id']}/turns", {"Idempotency-Key": "turn-2"}
        responses = await asyncio.gather(
            *(voter.http.post(where, json={"prompt": "More?"}, headers=key) for _ in range(10))
        )
        assert {len(expect(response, 201)["turns"]) for response in responses} == {2}
        await voter.watch(battle)
        assert len(expect(await voter.http.post(where, json={"prompt": "More?"}, headers=key), 201)["turns"]) == 2
        response = await voter.http.post(where, json={"prompt": "Less?"}, headers=key)
        expect_error(response, 409, "idempotency_mismatch")


async def test_a_battle_is_its_persons_own(stage: Stage) -> None:
    async with stage.person() as voter, stage.person() as other:
        battle = await voter.answered()
        await other.start()
        where = f"/arena/battles/{battle['id']}"
        for response in (
            await other.http.get(where),
            await other.http.get(f"{where}/events"),
            await other.http.post(f"{where}/stop"),
            await other.http.post(f"{where}/turns", json={"prompt": "Mine?"}),
            await other.http.post(f"{where}/turns/1/regenerate", json={"side": "a"}),
        ):
            expect_error(response, 404, "conversation_not_found")
        expect_error(await other.vote(battle), 404, "battle_not_found")
        expect_error(await other.vote({"id": uuid4()}), 404, "battle_not_found")
        assert (await voter.find(battle))["state"] == "ready"


async def test_a_cookie_that_was_tampered_with_makes_a_stranger(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        cookie = voter.http.cookies["agon_voter"]
        person, _, signature = cookie.rpartition(".")
        # Not its last letter: some of its bits mean nothing.
        changed = ("A" if signature[0] != "A" else "B") + signature[1:]
        for forged in (f"{person}.{changed}", f"x{person}.{signature}", str(uuid4()), "", "x.y", cookie + "x"):
            async with stage.person() as forger:
                forger.http.cookies.set("agon_voter", forged)
                expect_error(await forger.http.get(f"/arena/battles/{battle['id']}"), 404, "conversation_not_found")
                history = await forger.http.get("/arena/battles")
                assert history.json()["conversations"] == []
                assert "agon_voter" in history.headers["set-cookie"]
                assert "HttpOnly" in history.headers["set-cookie"]


async def test_history_is_ones_own_and_comes_page_by_page(stage: Stage) -> None:
    async with stage.person() as voter, stage.person() as other:
        await other.start("Not yours")
        started = [await voter.answered(f"Question {number}") for number in range(3)]
        vote = expect(await voter.vote(started[1], "tie"), 200)
        first = expect(await voter.http.get("/arena/battles", params={"limit": 2}), 200)
        rest = expect(await voter.http.get("/arena/battles", params={"limit": 2, "before": first["next"]}), 200)
        shown = first["conversations"] + rest["conversations"]
        assert [one["id"] for one in shown] == [battle["id"] for battle in started[::-1]]
        assert rest["next"] is None
        assert [one["title"] for one in shown] == ["Question 2", "Question 1", "Question 0"]
        assert [one["state"] for one in shown] == ["open", "voted", "open"]
        assert [one["models"] for one in shown] == [None, vote["models"], None]


async def test_side_by_side_names_its_models_and_is_never_voted_on(stage: Stage) -> None:
    first, second = NAMES
    async with stage.person() as voter:
        compared = await voter.compare(first, second)
        assert compared["models"] == {"a": first, "b": second}
        await voter.watch(compared)
        assert_whole(await voter.find(compared))
        expect_error(await voter.vote(compared), 409, "not_a_battle")
        body = {"prompt": "Why?", "models": {"a": first, "b": first}}
        expect_error(await voter.http.post("/arena/side-by-side", json=body), 422, "same_model", "models.b")
        body = {"prompt": "Why?", "models": {"a": first, "b": "Nobody"}}
        expect_error(await voter.http.post("/arena/side-by-side", json=body), 422, "unknown_model", "models.b")
