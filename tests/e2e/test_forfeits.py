"""Sides that keep one waiting, and sides that run out of time: what a person sees, and what the board says."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Route, expect
from tests.e2e.arena import Arena
from tests.e2e.conftest import SCRIPTED_NAMES, OpenScreen
from tests.e2e.engines import SCRIPTED, ScriptedProcess
from tests.e2e.screen import Screen, Side

from agon.embedded.process import wait_until
from agon.engines.scripted_text import check_text

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

SLOW, QUICK = SCRIPTED_NAMES
SIDES: tuple[Side, Side] = ("a", "b")
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory, scripted_process: ScriptedProcess) -> Iterator[Arena]:
    """An arena in which an answer may take three seconds."""
    entries = [
        f"[[contestants]]\nname = {name!r}\nurl = {scripted_process.url!r}\nmodel = {model!r}"
        for name, model in zip(SCRIPTED_NAMES, SCRIPTED, strict=True)
    ]
    started = Arena(tmp_path_factory.mktemp("hasty"), "\n".join(["[limits]\nbattle_deadline_s = 3", *entries]))
    started.await_ready(2)
    yield started
    started.stop()


def lose(screen: Screen, engine: ScriptedProcess) -> tuple[Side, Side]:
    """Fight a battle in which one side falls silent: which one it was, and which was not."""
    engine.say("heron", rate_tokens_per_s=20, fail={"kind": "stall", "at_token": 12})
    screen.open()
    screen.ask("Are you in a hurry?")
    screen.await_state("forfeited")
    late: Side = screen.ledger()["forfeited_by"]
    return late, "b" if late == "a" else "a"


def forfeits(arena: Arena) -> dict[str, int]:
    with arena.client() as client:
        board = client.get("/arena/boards/main").json()
    return {row["model"]: row["forfeits"] for row in board["rows"]}


def test_a_side_that_is_late_loses_and_nobody_votes(
    hasty: Arena, engine: ScriptedProcess, open_screen: OpenScreen
) -> None:
    screen = open_screen(hasty)
    late, other = lose(screen, engine)
    sentence = f"Model {late.upper()} ran out of time and loses this battle by forfeit."
    for _ in range(2):
        screen.await_phase(late, "forfeited")
        screen.await_phase(other, "done")
        expect(screen.pane(late)).to_contain_text(sentence)
        expect(screen.at("forfeit")).to_contain_text(sentence)
        expect(screen.at("vote-bar")).to_have_count(0)
        expect(screen.composer).to_have_count(0)
        assert check_text(screen.text(other)).complete
        said = screen.pane(late).locator(".prose").inner_text()
        assert check_text(said).tokens >= 10
        words = screen.page.locator("body").inner_text().lower()
        for secret in ("heron", "otter", "stall"):
            assert secret not in words
        screen.page.reload()
    screen.shoot("battle-forfeit")

    engine.say()
    screen.page.keyboard.press("n")
    screen.ask("And this time?")
    screen.await_state("ready")
    screen.at("vote-tie").click()
    expect(screen.at("result")).to_contain_text("A tie")
    screen.open("#/history")
    expect(screen.at("history-item").nth(1)).to_contain_text("forfeit")


def test_the_board_tells_forfeits_apart_from_votes(
    hasty: Arena, engine: ScriptedProcess, open_screen: OpenScreen
) -> None:
    screen = open_screen(hasty)
    before = forfeits(hasty).get(SLOW, 0)
    lose(screen, engine)
    assert wait_until(lambda: forfeits(hasty).get(SLOW) == before + 1, 10)
    screen.open("#/leaderboard")
    row = screen.at("board-row").filter(has_text=SLOW)
    expect(row.get_by_test_id("forfeits")).to_have_text(str(before + 1))
    expect(screen.at("board-row").filter(has_text=QUICK).get_by_test_id("forfeits")).to_have_text("0")
    expect(screen.at("board-forfeits")).to_have_text(f"Forfeits: {before + 1}")
    screen.at("sort-forfeits").click()
    expect(screen.at("board-row").first).to_contain_text(QUICK)
    screen.shoot("board-forfeits")


def test_a_forfeit_on_a_phone_in_chinese(hasty: Arena, engine: ScriptedProcess, open_screen: OpenScreen) -> None:
    screen = open_screen(hasty, locale="zh-CN", **PHONE)
    late, other = lose(screen, engine)
    expect(screen.at("forfeit")).to_contain_text(f"模型 {late.upper()} 回答超时")
    expect(screen.at(f"show-{late}")).to_contain_text("已超时")
    screen.at(f"show-{other}").tap()
    expect(screen.pane(other)).to_be_visible()
    assert screen.overflow() == 0
    screen.shoot("phone-forfeit-other")
    screen.at(f"show-{late}").tap()
    screen.shoot("phone-forfeit")
    screen.open("#/leaderboard")
    screen.at("board-row").first.wait_for()
    assert screen.overflow() == 0
    screen.shoot("phone-board-forfeits")


def test_a_side_that_has_not_begun_says_why(hasty: Arena, engine: ScriptedProcess, open_screen: OpenScreen) -> None:
    engine.say(first_token_delay_s=2)
    screen = open_screen(hasty)
    told: list[str] = []

    def tell_first(route: Route) -> None:
        """The first connection says only that side a waits, and breaks off."""
        if told:
            route.continue_()
            return
        told.append(route.request.url)
        data = '{"turn":1,"side":"a","message":"The model is being loaded."}'
        route.fulfill(body=f"event: waiting\ndata: {data}\n\n", content_type="text/event-stream")

    screen.page.route("**/events*", tell_first)
    screen.open()
    screen.ask("Are you there?")
    expect(screen.at("waiting-a")).to_have_text("The model is being loaded.")
    expect(screen.at("waiting-b")).to_have_count(0)
    screen.await_phase("a", "thinking")
    screen.shoot("battle-waiting")
    screen.await_state("ready")
    expect(screen.at("waiting-a")).to_have_count(0)
    expect(screen.at("vote-a")).to_be_enabled()
