"""The leaderboard's views: windows, categories, style control, win rates and history, and why a model has no rank."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.e2e.arena import Arena
from tests.e2e.conftest import PARROT, OpenScreen
from tests.e2e.engines import ScriptedProcess
from tests.e2e.screen import Screen

from agon.embedded.process import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}


VOTES = ("a", "b", "a", "b", "tie")


def counted(arena: Arena) -> int:
    with arena.client() as client:
        return client.get("/arena/boards/main").json()["votes"]


@pytest.fixture
def voted(arena: Arena, engine: ScriptedProcess, open_screen: OpenScreen) -> Callable[..., Screen]:
    """Pages of an arena with votes both ways."""
    del engine
    arena.await_ready(3)
    before = counted(arena)
    for winner in VOTES:
        arena.vote(winner)
    assert wait_until(lambda: counted(arena) >= before + len(VOTES), 20)

    def open_one(route: str = "#/leaderboard", **context: Any) -> Screen:
        screen = open_screen(arena, **context)
        screen.open(route)
        screen.at("board-row").first.wait_for()
        return screen

    return open_one


def test_every_view_is_a_choice_away_and_in_the_address(voted: Callable[..., Screen]) -> None:
    screen = voted()
    votes = screen.at("board-votes").inner_text()
    screen.page.get_by_text("7 days").click()
    expect(screen.page).to_have_url(f"{screen.url}/#/leaderboard?window=7d")
    expect(screen.at("board-votes")).to_have_text(votes)
    screen.at("category").select_option("latin")
    expect(screen.at("board-remarks")).to_contain_text("few votes")
    screen.at("category").select_option("chinese")
    expect(screen.at("view-empty")).to_be_visible()
    screen.at("category").select_option("")
    screen.at("style").check()
    expect(screen.at("board-row").first).to_be_visible()
    expect(screen.page).to_have_url(f"{screen.url}/#/leaderboard?window=7d&style=true")
    screen.page.reload()
    expect(screen.at("style")).to_be_checked()
    expect(screen.at("window-7d")).to_be_checked()
    expect(screen.at("board-votes")).to_have_text(votes)


def test_win_rates_and_history_are_shown(voted: Callable[..., Screen]) -> None:
    screen = voted()
    expect(screen.at("ratings-plot").locator("svg")).to_be_visible()
    screen.at("tab-matrix").click()
    expect(screen.at("matrix-table").locator("tbody tr")).to_have_count(2)
    observed = screen.at("matrix-table").inner_text()
    screen.at("matrix-predicted").check()
    expect(screen.at("matrix-table").locator("tbody tr")).to_have_count(2)
    assert any(letter.isdigit() for letter in observed)
    screen.at("tab-history").click()
    expect(screen.at("history-plot").locator("svg")).to_be_visible()
    first = screen.at("history-model").first
    expect(first).to_have_attribute("aria-pressed", "true")
    first.click()
    expect(first).to_have_attribute("aria-pressed", "false")
    screen.shoot("board-history")


def test_a_model_without_a_rank_has_its_reason(voted: Callable[..., Screen]) -> None:
    screen = voted()
    expect(screen.at("unranked")).to_contain_text(PARROT)
    expect(screen.at("unranked")).to_contain_text("It has not fought a battle yet.")


def test_a_view_moves_with_each_vote(voted: Callable[..., Screen], arena: Arena) -> None:
    screen = voted("#/leaderboard?window=7d&tab=matrix")
    shown = screen.at("board-votes").inner_text()
    arena.vote("tie")
    expect(screen.at("board-votes")).not_to_have_text(shown)


def test_tabs_follow_the_arrows(voted: Callable[..., Screen]) -> None:
    screen = voted()
    screen.at("tab-intervals").focus()
    for key, tab in (
        ("ArrowRight", "matrix"),
        ("End", "history"),
        ("ArrowRight", "intervals"),
        ("ArrowLeft", "history"),
    ):
        screen.page.keyboard.press(key)
        expect(screen.at(f"tab-{tab}")).to_be_focused()
        expect(screen.at(f"tab-{tab}")).to_have_attribute("aria-selected", "true")
    expect(screen.page.get_by_role("tabpanel", name="History")).to_be_visible()


def test_every_view_fits_a_phone(voted: Callable[..., Screen]) -> None:
    screen = voted(**PHONE)
    for tab, part in (("matrix", "matrix-table"), ("history", "history-plot"), ("intervals", "ratings-plot")):
        screen.at(f"tab-{tab}").tap()
        screen.at(part).wait_for()
        assert screen.overflow() == 0, tab
        box = screen.at(f"tab-{tab}").bounding_box()
        assert box is not None
        assert box["height"] >= 40
    screen.shoot("phone-board-views")
