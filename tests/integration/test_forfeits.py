"""Sides that are late, over HTTP: what is told, what is refused, and that nobody learns who it was."""

import pytest
import pytest_asyncio
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import assemble, expect, expect_error, names

pytestmark = pytest.mark.asyncio(loop_scope="session")

STALLED, QUICK = NAMES
STALL = {"kind": "stall", "at_token": 3}


@pytest_asyncio.fixture(loop_scope="session")
async def hasty(narrow_stage: Stage) -> Stage:
    """An arena in which an answer of a battle may take three seconds."""
    await narrow_stage.reset()
    return narrow_stage


async def test_a_forfeited_battle_can_be_read_and_nothing_else(hasty: Stage) -> None:
    hasty.script(STALLED, fail=STALL)
    async with hasty.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        [late] = names(seen, "forfeited")
        [done] = names(seen, "done")
        assert {late["side"], done["side"]} == {"a", "b"}
        assert late["message"] == f"Model {late['side'].upper()} ran out of time and loses this battle by forfeit."

        response = await voter.http.get(f"/arena/battles/{battle['id']}")
        found = expect(response, 200)
        assert (found["state"], found["forfeited_by"], found["void_reason"]) == ("forfeited", late["side"], None)
        assert found["models"] is None
        answers = found["turns"][0]["answers"]
        assert {side: answer["state"] for side, answer in answers.items()} == {
            late["side"]: "forfeited",
            done["side"]: "done",
        }
        assert assemble(seen) == {side: answer["text"] for side, answer in answers.items()}
        assert answers[late["side"]]["text"], "what it had written stays"
        assert assemble(await voter.watch(battle)) == assemble(seen), "a second watcher is told the same"
        middle = next(event.id for event in seen if event.name == "packet")
        again = await voter.watch(battle, middle)
        assert [event.name for event in again if event.name != "packet"].count("forfeited") == 1

        path = f"/arena/battles/{battle['id']}"
        expect_error(await voter.vote(battle), 409, "battle_forfeited")
        expect_error(await voter.http.post(f"{path}/turns", json={"prompt": "And?"}), 409, "battle_forfeited")
        for side in ("a", "b"):
            again_of = await voter.http.post(f"{path}/turns/1/regenerate", json={"side": side})
            expect_error(again_of, 409, "battle_forfeited")
        listed = await voter.http.get("/arena/battles")
        line = expect(listed, 200)["conversations"][0]
        assert (line["state"], line["models"], line["winner"]) == ("forfeited", None, None)
        told = response.text + listed.text + "".join(str(event.data) for event in seen)
        for secret in (*NAMES, *NAMES.values()):
            assert secret not in told


async def test_two_late_sides_make_a_battle_void(hasty: Stage) -> None:
    hasty.script(fail=STALL)
    async with hasty.person() as voter:
        battle = await voter.start()
        seen = await voter.watch(battle)
        assert sorted(event["side"] for event in names(seen, "forfeited")) == ["a", "b"]
        assert names(seen, "void") == [{"reason": "Neither model answered in time, so this battle does not count."}]
        found = await voter.find(battle)
        assert (found["state"], found["forfeited_by"]) == ("void", None)
        expect_error(await voter.vote(battle), 409, "battle_void")
