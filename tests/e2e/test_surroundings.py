"""The same page by keyboard alone, on a phone, in the dark, in Chinese and for a screen reader."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.e2e.arena import Arena
from tests.e2e.conftest import PARROT, OpenScreen
from tests.e2e.engines import ScriptedProcess
from tests.e2e.screen import Screen

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
MOST_TABS = 40

# Text and labels that people meet; what people and models wrote, names, code and keys are in no language of the page.
_WORDS = """() => {
  const foreign = 'noscript, [data-testid=prompt], .prose, code, kbd, option, [data-testid^=name-],' +
    '[data-testid^=board-link-],' +
    '[data-testid=history-item] .title, .brand, [data-testid=language], textarea, .model, .switch .name, svg'
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest(foreign)) found.push(walker.currentNode.textContent)
  }
  for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      if (!element.matches('[data-testid=language], [data-testid=brand]')) found.push(element.getAttribute(name))
    }
  }
  return [document.title, ...found].map((text) => text.trim()).filter((text) => text !== '')
}"""
# Names and keys that are the same in every language.
SAME_EVERYWHERE = re.compile(r"Agon|Python|Enter|Shift|Esc|Heron Valley|Otter Creek|Parrot|\b[ABn]\b")


@pytest.fixture
def screen_of(arena: Arena, engine: ScriptedProcess, open_screen: OpenScreen) -> Callable[..., Screen]:
    """Pages of the scripted arena in other surroundings."""
    del engine
    arena.await_ready(3)
    return partial(open_screen, arena)


def tab_to(screen: Screen, testid: str) -> None:
    """Reach it by Tab alone, and see where the focus is."""
    for _ in range(MOST_TABS):
        if screen.page.evaluate("document.activeElement?.dataset.testid") == testid:
            break
        screen.page.keyboard.press("Tab")
    expect(screen.at(testid)).to_be_focused()
    assert screen.at(testid).evaluate(
        "element => { const it = getComputedStyle(element), box = getComputedStyle(element.parentElement);"
        " return [it, box].some(style => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1) }"
    )


def test_a_battle_by_keyboard_alone(screen: Screen, engine: ScriptedProcess) -> None:
    engine.say(tokens=30)
    keyboard = screen.page.keyboard
    screen.open()
    tab_to(screen, "composer")
    keyboard.type("Only keys.")
    keyboard.press("Enter")
    screen.await_state("ready")
    tab_to(screen, "vote-tie")
    keyboard.press("Enter")
    expect(screen.at("result")).to_contain_text("A tie")
    tab_to(screen, "new-battle")
    keyboard.press("Enter")
    tab_to(screen, "composer")
    keyboard.type("Keys again.")
    keyboard.press("Enter")
    screen.await_state("ready")
    keyboard.press("2")
    expect(screen.at("reveal")).to_be_visible()
    keyboard.press("n")
    expect(screen.at("start")).to_be_visible()


def test_digits_typed_into_a_follow_up_are_no_votes(screen: Screen) -> None:
    screen.battle("Careful with digits.")
    screen.composer.press_sequentially("1 2 3 4 n")
    expect(screen.composer).to_have_value("1 2 3 4 n")
    screen.await_state("ready")


def test_on_a_phone_everything_is_in_reach(screen_of: Callable[..., Screen], engine: ScriptedProcess) -> None:
    engine.say(rate_tokens_per_s=40, tokens=120)
    screen = screen_of(**PHONE)
    screen.open()
    assert screen.overflow() == 0
    screen.shoot("phone-start")
    screen.composer.fill("Written with one thumb, about " + "a" * 60 + " and more.")
    screen.at("send").tap()
    screen.await_text("a", 80)
    assert screen.overflow() == 0
    screen.shoot("phone-mid-stream")
    screen.await_state("ready")
    expect(screen.pane("b")).to_be_hidden()
    screen.at("show-b").tap()
    expect(screen.pane("b")).to_be_visible()
    expect(screen.pane("a")).to_be_hidden()
    assert screen.overflow() == 0
    for choice in ("a", "b", "tie", "both_bad"):
        expect(screen.at(f"vote-{choice}")).to_be_in_viewport(ratio=1)
        box = screen.at(f"vote-{choice}").bounding_box()
        assert box is not None
        assert box["height"] >= 40
    screen.shoot("phone-ready")
    screen.at("vote-b").tap()
    expect(screen.at("reveal")).to_be_visible()
    assert screen.overflow() == 0
    screen.shoot("phone-voted")
    for place in ("leaderboard", "history", "side-by-side", "chat"):
        screen.open(f"#/{place}")
        screen.page.locator("main h1").wait_for()
        assert screen.overflow() == 0
    screen.open("#/leaderboard")
    screen.at("board-row").first.wait_for()
    assert screen.overflow() == 0
    screen.shoot("phone-board")


def luminance(screen: Screen, css: str) -> float:
    """How bright a colour of the body is, from 0 to 255."""
    colour: str = screen.page.locator("body").evaluate(f"element => getComputedStyle(element).{css}")
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_the_dark_follows_the_system_and_the_switch(screen_of: Callable[..., Screen]) -> None:
    screen = screen_of(color_scheme="dark")
    screen.battle("What glows at night?")
    assert luminance(screen, "backgroundColor") < 60
    assert luminance(screen, "color") > 180
    screen.shoot("dark-ready")
    screen.at("vote-a").click()
    expect(screen.at("reveal")).to_be_visible()
    screen.open("#/leaderboard")
    screen.at("board-row").first.wait_for()
    screen.shoot("dark-board")
    screen.at("theme").click()
    assert luminance(screen, "backgroundColor") > 180
    screen.page.reload()
    screen.at("board-row").first.wait_for()
    assert luminance(screen, "backgroundColor") > 180


def assert_chinese(screen: Screen) -> None:
    words: list[str] = screen.page.evaluate(_WORDS)
    assert any(re.search(r"[\u4e00-\u9fff]", word) for word in words)
    assert [word for word in words if re.search("[A-Za-z]{2}", SAME_EVERYWHERE.sub("", word))] == []


def test_a_chinese_browser_gets_a_chinese_page(
    arena: Arena, screen_of: Callable[..., Screen], engine: ScriptedProcess
) -> None:
    screen = screen_of(locale="zh-CN")
    screen.open()
    expect(screen.page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(screen.page.locator("h1")).to_contain_text("哪个回答更好")
    assert_chinese(screen)
    screen.shoot("chinese-start")
    engine.say(rate_tokens_per_s=20, tokens=400)
    screen.ask("鸟为什么会飞")
    screen.await_text("a")
    assert_chinese(screen)
    screen.page.keyboard.press("Escape")
    screen.await_phase("a", "stopped")
    assert_chinese(screen)
    engine.say()
    for side in ("a", "b"):
        screen.at(f"regenerate-{side}").click()
        screen.await_phase(side, "done")
    screen.await_state("ready")
    assert_chinese(screen)
    screen.shoot("chinese-ready")
    screen.page.keyboard.press("1")
    expect(screen.at("reveal")).to_be_visible()
    assert_chinese(screen)
    for place in ("leaderboard", "history", "side-by-side", "chat"):
        screen.open(f"#/{place}")
        screen.page.locator(f"main h1, [data-testid={place}]").first.wait_for()
        assert_chinese(screen)
    arena.vote("tie")
    screen.open("#/leaderboard")
    screen.at("board-row").first.wait_for()
    screen.at("ratings-plot").locator("svg").wait_for()
    assert_chinese(screen)
    screen.shoot("chinese-board")


def test_what_goes_wrong_is_said_in_chinese_too(screen_of: Callable[..., Screen], engine: ScriptedProcess) -> None:
    screen = screen_of(locale="zh-CN")
    engine.say("heron", fail={"kind": "http_500"})
    screen.open()
    screen.ask("鸟为什么会飞")
    expect(screen.at("void")).to_be_visible()
    assert_chinese(screen)
    screen.open("#/battle/0198c0de-0000-7000-8000-000000000000")
    expect(screen.at("error")).to_be_visible()
    assert_chinese(screen)


def test_the_chosen_language_is_remembered(screen: Screen) -> None:
    screen.open()
    expect(screen.page.locator("h1")).to_have_text("Which answer is better?")
    screen.at("language").click()
    expect(screen.page.locator("h1")).to_contain_text("哪个回答更好")
    screen.page.reload()
    expect(screen.page.locator("h1")).to_contain_text("哪个回答更好")
    expect(screen.page.locator("html")).to_have_attribute("lang", "zh-CN")
    screen.at("language").click()
    expect(screen.page.locator("h1")).to_have_text("Which answer is better?")


def assert_all_named(screen: Screen) -> None:
    """Every control says what it is, and there is one main heading."""
    outline = screen.page.locator("body").aria_snapshot()
    nameless = re.findall(
        r"^\s*- (?:button|link|textbox|combobox|img|region|group)(?:\s*\[[^\]]*\])*:?$", outline, re.MULTILINE
    )
    assert nameless == []
    assert len(re.findall(r"- heading .*\[level=1\]", outline)) == 1


def test_a_screen_reader_finds_its_way(screen: Screen, engine: ScriptedProcess) -> None:
    page = screen.page
    screen.open()
    assert_all_named(screen)
    expect(page).to_have_title("Battle · Agon")
    for role, name in (("navigation", "Main"), ("textbox", "Your prompt"), ("button", "Send")):
        expect(page.get_by_role(role, name=name)).to_be_visible()  # pyright: ignore[reportArgumentType]
    expect(page.get_by_role("link", name="Battle", exact=True)).to_have_attribute("aria-current", "page")
    page.keyboard.press("Tab")

    engine.say(rate_tokens_per_s=20, tokens=60)
    screen.ask("Read me out.")
    screen.await_text("a")
    expect(screen.at("announcer")).to_contain_text("Model A: Writing…")
    expect(screen.pane("a").locator(".body")).to_have_attribute("aria-busy", "true")
    screen.await_state("ready")
    expect(screen.at("announcer")).to_have_text("Model A: Done. Model B: Done")
    expect(page.get_by_role("region", name="Model A")).to_be_visible()
    votes = page.get_by_role("group", name="Your vote").get_by_role("button")
    expect(votes).to_have_text([re.compile("A is"), re.compile("B is"), re.compile("Tie"), re.compile("Both")])
    assert_all_named(screen)
    votes.nth(0).click()
    expect(page.get_by_role("status").filter(has_text="won")).to_be_visible()
    assert_all_named(screen)

    screen.open("#/leaderboard")
    expect(page.get_by_role("table")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Rank")).to_have_attribute("aria-sort", "ascending")
    assert_all_named(screen)
    screen.open("#/chat")
    expect(page.get_by_role("combobox", name="Model")).to_contain_text(PARROT)
    assert_all_named(screen)


def test_the_skip_link_leads_past_the_head(screen: Screen) -> None:
    screen.open("#/leaderboard")
    screen.page.locator("main h1").wait_for()
    skip = screen.page.get_by_role("link", name="Skip to content")
    skip.focus()
    expect(skip).to_be_in_viewport()
    screen.page.keyboard.press("Enter")
    expect(screen.page.locator("main")).to_be_focused()
    assert screen.page.url.endswith("#/leaderboard")
