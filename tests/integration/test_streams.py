"""Event streams: resumed at any point, watched by many, in order."""

import asyncio

import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import Json, Seen, Voter, assemble, assert_whole, expect, expect_error, names, texts_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


def of_turn(events: list[Seen], turn: int) -> list[Seen]:
    return [seen for seen in events if seen.data.get("turn") == turn]


async def assert_resumes_anywhere(voter: Voter, battle: Json, seen: list[Seen]) -> None:
    """From every event id, what was shown and what is still sent make up the ledger's text."""
    final = await voter.find(battle)
    for index, event in enumerate(seen):
        assert event.id is not None
        rest = await voter.watch(battle, after=event.id)
        for turn in range(1, len(final["turns"]) + 1):
            before = assemble(of_turn(seen[: index + 1], turn))
            assert assemble(of_turn(rest, turn), before) == texts_of(final, turn - 1), event.id
        settled = [data for part in (seen[: index + 1], rest) for data in names(part, "done")]
        assert len(settled) == 2 * len(final["turns"]), "each side is settled once"


async def test_a_stream_goes_on_from_every_event_id(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=60.0)
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        assert len(names(seen, "packet")) > 6
        assert_whole(await voter.find(battle))
        await assert_resumes_anywhere(voter, battle, seen)


async def test_it_goes_on_after_a_retry_over_the_text_of_the_first_attempt(stage: Stage) -> None:
    first, _ = NAMES
    stage.script(first, fail={"kind": "truncate", "at_token": 10, "times": 1}, rate_tokens_per_s=60.0)
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        final = await voter.find(battle)
        assert_whole(final)
        assert assemble(seen) == texts_of(final)
        assert names(seen, "failed") == []
        await assert_resumes_anywhere(voter, battle, seen)
    assert stage.engine.counters(NAMES[first]).failed > 0


async def test_it_goes_on_over_several_turns(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        await voter.add_turn(battle)
        seen = await voter.watch(battle)
        await assert_resumes_anywhere(voter, battle, seen)


async def test_one_who_drops_out_while_text_flows_misses_nothing(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=40.0)
    async with stage.person() as voter:
        battle = await voter.start()
        shown: dict[str, str] = {}
        after: str | None = None
        for packets in (1, 2, 3):
            seen: list[Seen] = []
            async for event in voter.stream(battle, after):
                seen.append(event)
                if len(names(seen, "packet")) == packets:
                    break
            shown, after = assemble(seen, shown), seen[-1].id
        shown = assemble(await voter.watch(battle, after), shown)
        assert shown == texts_of(await voter.find(battle))


async def test_the_position_can_be_given_in_the_address(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        last = (await voter.watch(battle))[-1].id
        response = await voter.http.get(f"/arena/battles/{battle['id']}/events", params={"after": last})
        assert response.status_code == 200
        assert "event:" not in response.text


async def test_watchers_see_the_same_whenever_they_come(stage: Stage) -> None:
    stage.script(rate_tokens_per_s=40.0)
    async with stage.person() as voter:
        battle = await voter.start()

        async def come(delay_s: float) -> list[Seen]:
            await asyncio.sleep(delay_s)
            return await voter.watch(battle)

        everything = await asyncio.gather(*(come(0.1 * number) for number in range(6)))
        final = texts_of(await voter.find(battle))
    for seen in everything:
        assert assemble(seen) == final
        assert len(names(seen, "done")) == 2


async def test_a_stream_says_how_it_is_to_be_treated(stage: Stage) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        response = await voter.http.get(f"/arena/battles/{battle['id']}/events")
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-accel-buffering"] == "no"


@pytest.mark.parametrize("text", ["x", "1-c1.2", "1-a1", "9" * 100, "1-a1.2-b1.2-a1.2"])
async def test_an_event_id_that_is_not_ours_is_refused(stage: Stage, text: str) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        where = f"/arena/battles/{battle['id']}/events"
        expect_error(await voter.http.get(where, headers={"Last-Event-ID": text}), 422, "bad_event_id")
        expect_error(await voter.http.get(where, params={"after": text}), 422, "bad_event_id")


@pytest.mark.parametrize("text", ["7", "1-a1.999999-b1.999999", "1-a9.9.s-b9.9.s"])
async def test_an_event_id_from_beyond_the_end_brings_everything_again(stage: Stage, text: str) -> None:
    async with stage.person() as voter:
        battle = await voter.answered()
        assert assemble(await voter.watch(battle, after=text)) == texts_of(await voter.find(battle))


async def test_one_who_stopped_an_answer_can_watch_it_being_generated_anew(stage: Stage) -> None:
    first, _ = NAMES
    stage.script(first, rate_tokens_per_s=30.0, tokens=120)
    async with stage.person() as voter:
        battle = await voter.start()
        seen = await voter.watch_until(battle, 8)
        expect(await voter.http.post(f"/arena/battles/{battle['id']}/stop"), 200)
        seen += await voter.watch(battle, seen[-1].id)
        stopped = await voter.settled(battle)
        assert assemble(seen) == texts_of(stopped)
        [side] = [side for side, one in stopped["turns"][0]["answers"].items() if one["state"] == "stopped"]
        stage.script(first, rate_tokens_per_s=0.0, tokens=24)
        response = await voter.http.post(f"/arena/battles/{battle['id']}/turns/1/regenerate", json={"side": side})
        expect(response, 202)
        seen += await voter.watch(battle, seen[-1].id)
        final = await voter.find(battle)
        assert_whole(final)
        assert assemble(seen) == texts_of(final)
        expect(await voter.vote(battle), 200)
