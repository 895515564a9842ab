"""Answers that are interrupted: a reload, a gateway that dies, a stop, an engine that fails."""

import signal

import pytest
from playwright.sync_api import Route, expect
from tests.e2e.arena import Arena
from tests.e2e.engines import ScriptedProcess
from tests.e2e.screen import Screen, Side

from agon.engines.scripted_text import check_text

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

SIDES: tuple[Side, Side] = ("a", "b")


def assert_whole(screen: Screen) -> None:
    """Both answers are complete, nothing in them is lost or doubled, and the ledger has the same."""
    screen.await_state("ready")
    for side in SIDES:
        screen.await_phase(side, "done")
        assert check_text(screen.text(side)).complete
        assert screen.text(side) == screen.kept_text(side)


def test_the_sides_do_not_wait_for_each_other(screen: Screen, engine: ScriptedProcess) -> None:
    engine.say("heron", first_token_delay_s=2.5)
    engine.say("otter", rate_tokens_per_s=60, tokens=60)
    screen.open()
    screen.record()
    screen.ask("Which of you is first?")
    assert_whole(screen)
    phases = [tuple(sorted(glance.phases.values())) for glance in screen.recorded()]
    assert ("thinking", "writing") in phases
    assert ("done", "thinking") in phases
    assert not any("writing" in (glance.phases["a"], glance.phases["b"]) for glance in screen.recorded()[-1:])


def test_a_reload_goes_on_where_it_was(screen: Screen, engine: ScriptedProcess) -> None:
    engine.say(rate_tokens_per_s=25, tokens=150)
    screen.open()
    screen.ask("Tell me something long.")
    for side in SIDES:
        screen.await_text(side, 100)
    before = {side: screen.text(side) for side in SIDES}
    screen.page.reload()
    for side in SIDES:
        screen.await_text(side, len(before[side]))
        assert screen.text(side).startswith(before[side])
    assert_whole(screen)


def test_a_killed_gateway_is_got_over(arena: Arena, screen: Screen, engine: ScriptedProcess) -> None:
    engine.say(rate_tokens_per_s=20, tokens=160)
    screen.open()
    screen.ask("Keep talking.")
    for side in SIDES:
        screen.await_text(side, 60)
    gateway = arena.child("gateway")
    gateway.send_signal(signal.SIGKILL)
    expect(screen.at("reconnecting")).to_be_visible()
    assert_whole(screen)
    expect(screen.at("reconnecting")).to_have_count(0)
    assert arena.child("gateway").pid != gateway.pid
    screen.page.keyboard.press("2")
    expect(screen.at("reveal")).to_be_visible()


@pytest.mark.parametrize("way", ["Escape", "button"])
def test_stopped_sides_are_generated_anew(screen: Screen, engine: ScriptedProcess, way: str) -> None:
    engine.say(rate_tokens_per_s=20, tokens=400)
    screen.open()
    screen.ask("Talk until I stop you.")
    for side in SIDES:
        screen.await_text(side)
    if way == "Escape":
        screen.page.keyboard.press("Escape")
    else:
        screen.at("stop").click()
    for side in SIDES:
        screen.await_phase(side, "stopped")
        assert not check_text(screen.text(side)).complete
    expect(screen.at("vote-a")).to_be_disabled()
    expect(screen.composer).to_be_visible()

    engine.say()
    screen.at("regenerate-a").click()
    screen.await_phase("a", "done")
    screen.await_phase("b", "stopped")
    expect(screen.at("vote-a")).to_be_disabled()
    screen.at("regenerate-b").click()
    assert_whole(screen)
    expect(screen.at("vote-a")).to_be_enabled()


def test_a_late_reply_to_a_stop_undoes_nothing(screen: Screen, engine: ScriptedProcess) -> None:
    engine.say(rate_tokens_per_s=20, tokens=400)
    screen.open()
    screen.ask("Talk until I stop you.")
    for side in SIDES:
        screen.await_text(side)

    def reply_late(route: Route) -> None:
        before = screen.page.request.get(route.request.url.removesuffix("/stop")).body()
        route.fetch()
        for side in SIDES:
            screen.await_phase(side, "stopped")
        route.fulfill(body=before, content_type="application/json")

    screen.page.route("**/stop", reply_late)
    screen.record()
    with screen.page.expect_response("**/stop"):
        screen.page.keyboard.press("Escape")
    expect(screen.at("regenerate-a")).to_be_visible()
    screen.page.wait_for_timeout(500)
    assert not any("thinking" in glance.phases.values() for glance in screen.recorded())
    for side in SIDES:
        assert screen.text(side) == screen.kept_text(side)


def test_an_answer_that_breaks_once_goes_on(screen: Screen, engine: ScriptedProcess) -> None:
    engine.say(rate_tokens_per_s=40, tokens=60, fail={"kind": "disconnect", "at_token": 20, "times": 1})
    screen.open()
    screen.ask("Do not mind the cut.")
    assert_whole(screen)


def test_a_void_battle_says_so_and_the_next_one_counts(screen: Screen, engine: ScriptedProcess) -> None:
    engine.say("heron", fail={"kind": "http_500"})
    screen.open()
    screen.ask("This one is doomed.")
    expect(screen.at("void")).to_contain_text("This battle does not count")
    expect(screen.at("vote-bar")).to_have_count(0)
    failed = screen.page.locator("[data-phase=failed]")
    expect(failed).to_have_count(1)
    expect(failed).to_contain_text("could not be completed")
    screen.shoot("battle-void")
    page_text = screen.page.locator("body").inner_text()
    for secret in ("heron", "otter", "http_500", "500", "script asks"):
        assert secret not in page_text.lower()

    engine.say()
    screen.at("new-battle").click()
    screen.ask("This one is not.")
    assert_whole(screen)
    screen.at("vote-both_bad").click()
    expect(screen.at("result")).to_contain_text("Both were bad")


def test_a_second_page_watches_the_same_battle(screen: Screen, engine: ScriptedProcess) -> None:
    engine.say(rate_tokens_per_s=30, tokens=100)
    screen.open()
    screen.ask("Speak to both of my windows.")
    screen.await_text("a")
    other = Screen(screen.page.context.new_page(), screen.url)
    other.page.goto(screen.page.url)
    assert_whole(screen)
    assert_whole(other)
    assert other.text("a") == screen.text("a")
    assert not other.errors
