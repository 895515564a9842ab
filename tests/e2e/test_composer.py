"""Writing a prompt: keys, input methods, and refusals that keep what was written."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import expect
from tests.e2e.arena import Arena
from tests.e2e.engines import ScriptedProcess
from tests.e2e.screen import Screen, tell

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BATTLES = "/arena/battles"


@pytest.fixture
def crowd(arena: Arena) -> Iterator[httpx.Client]:
    """Somebody else, whose battles all stop when the test ends."""
    with arena.client() as person:
        yield person
        for battle in person.get(BATTLES).json()["conversations"]:
            person.post(f"{BATTLES}/{battle['id']}/stop")


def start_many(person: httpx.Client, number: int) -> list[int]:
    return [person.post(BATTLES, json={"prompt": f"Keep busy {n}."}).status_code for n in range(number)]


def test_shift_enter_breaks_the_line(screen: Screen) -> None:
    screen.open()
    screen.composer.press_sequentially("first")
    screen.composer.press("Shift+Enter")
    screen.composer.press_sequentially("second")
    expect(screen.composer).to_have_value("first\nsecond")
    assert screen.sent() == []
    screen.composer.press("Enter")
    expect(screen.at("prompt")).to_have_text("first\nsecond")
    screen.await_state("ready")


def test_enter_that_accepts_a_suggestion_sends_nothing(screen: Screen) -> None:
    screen.open()
    screen.composer.focus()
    keyboard = screen.page.context.new_cdp_session(screen.page)
    tell(keyboard, "Input.imeSetComposition", text="ni hao", selectionStart=6, selectionEnd=6)
    enter: dict[str, object] = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
    tell(keyboard, "Input.dispatchKeyEvent", type="rawKeyDown", **enter)
    tell(keyboard, "Input.dispatchKeyEvent", type="keyUp", **enter)
    expect(screen.composer).to_have_value("ni hao")
    tell(keyboard, "Input.insertText", text="你好")
    expect(screen.composer).to_have_value("你好")
    # Safari ends the composition first, and then sends this.
    screen.composer.dispatch_event("keydown", {"key": "Enter", "keyCode": 229, "cancelable": True})
    expect(screen.composer).to_have_value("你好")
    assert screen.sent() == []
    screen.composer.press("Enter")
    expect(screen.at("prompt")).to_have_text("你好")
    assert len(screen.sent()) == 1
    screen.await_state("ready")


def test_an_empty_prompt_cannot_be_sent_and_a_long_one_says_by_how_much(screen: Screen) -> None:
    screen.open()
    screen.ask("   \n ")
    expect(screen.at("send")).to_be_disabled()
    screen.composer.fill("x" * 8_003)
    expect(screen.page.get_by_text("3 characters too many")).to_be_visible()
    screen.composer.press("Enter")
    expect(screen.at("send")).to_be_disabled()
    assert screen.sent() == []


def test_an_impatient_enter_starts_one_battle(screen: Screen) -> None:
    screen.open()
    screen.composer.fill("Once, please.")
    for _ in range(4):
        screen.page.keyboard.press("Enter")
    screen.await_state("ready")
    assert len(screen.page.request.get(f"{screen.url}{BATTLES}").json()["conversations"]) == 1


def test_a_busy_arena_keeps_the_prompt_and_takes_it_later(
    screen: Screen, engine: ScriptedProcess, crowd: httpx.Client
) -> None:
    engine.say(rate_tokens_per_s=10, tokens=900)
    screen.open()
    # Each model writes two answers at a time.
    crowding = start_many(crowd, 4)
    assert crowding == [201, 201, 429, 429]
    screen.ask("Is there room for me?")
    expect(screen.at("error")).to_contain_text("Every place is taken")
    expect(screen.at("error")).to_contain_text("Your prompt is still in the box.")
    expect(screen.composer).to_have_value("Is there room for me?")
    screen.shoot("busy")
    screen.page.reload()
    expect(screen.composer).to_have_value("Is there room for me?")
    screen.composer.press("Enter")
    expect(screen.at("retry")).to_contain_text("Try again in")
    engine.say()
    for battle in crowd.get(BATTLES).json()["conversations"]:
        crowd.post(f"{BATTLES}/{battle['id']}/stop")
    screen.at("retry").click()
    screen.await_state("ready")
    expect(screen.at("prompt")).to_have_text("Is there room for me?")


def test_one_model_is_no_battle_and_the_prompt_stays(arena: Arena, screen: Screen, engine: ScriptedProcess) -> None:
    engine.say("heron", fail={"kind": "http_500"})
    with arena.client() as person:
        # Each is tried twice: five failures in a row give a model a rest, and at its end it is found to be down.
        for number in range(3):
            battle = person.post(BATTLES, json={"prompt": f"Fail {number}."}).json()["id"]
            person.get(f"{BATTLES}/{battle}/events")
            assert person.get(f"{BATTLES}/{battle}").json()["state"] == "void"
    arena.await_failed(1)
    screen.open()
    screen.ask("Anybody there?")
    expect(screen.at("error")).to_contain_text("A battle needs two models that are ready; fewer are.")
    expect(screen.composer).to_have_value("Anybody there?")
    screen.shoot("one-model")
    engine.say()
    expect(screen.at("retry")).to_have_text("Try again")
    arena.await_ready(3)
    screen.at("retry").click()
    screen.await_state("ready")


def test_a_draft_outlives_the_page(screen: Screen) -> None:
    screen.open()
    screen.composer.fill("Half a thou")
    screen.open("#/leaderboard")
    screen.open("#/battle")
    screen.page.reload()
    expect(screen.composer).to_have_value("Half a thou")
