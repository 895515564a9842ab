"""Named comparisons, chats, follow-ups and the way back to what was."""

import pytest
from playwright.sync_api import expect
from tests.e2e.arena import Arena
from tests.e2e.conftest import PARROT, SCRIPTED_NAMES, OpenScreen
from tests.e2e.engines import ScriptedProcess
from tests.e2e.screen import Screen

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_side_by_side_names_its_models_and_takes_no_vote(screen: Screen) -> None:
    screen.open("#/side-by-side")
    first, second = SCRIPTED_NAMES
    screen.at("model-a").select_option(second)
    expect(screen.at("model-b")).to_have_value(first)
    screen.at("model-b").select_option(PARROT)
    screen.ask("Both of you, by name.")
    screen.await_state("ready")
    expect(screen.at("name-a")).to_have_text(second)
    expect(screen.at("name-b")).to_have_text(PARROT)
    assert screen.text("b") == "Both of you, by name."
    expect(screen.at("vote-bar")).to_have_count(0)
    screen.ask("Once more.")
    expect(screen.at("turn-2")).to_be_visible()
    screen.await_state("ready")
    assert screen.text("b") == "Once more."
    screen.shoot("side-by-side")


def test_a_chat_goes_on_over_several_turns(screen: Screen) -> None:
    screen.open("#/chat")
    screen.at("model-a").select_option(PARROT)
    screen.ask("One.")
    screen.await_state("ready")
    screen.ask("Two.")
    expect(screen.at("turn-2")).to_be_visible()
    screen.await_state("ready")
    assert screen.text("a") == "Two."
    expect(screen.at("answer-b")).to_have_count(0)
    screen.page.reload()
    expect(screen.at("prompt")).to_have_text(["One.", "Two."])


def test_a_follow_up_keeps_the_pair_hidden_and_counts_once(screen: Screen) -> None:
    screen.battle("The first question.")
    screen.ask("The second question.")
    expect(screen.at("turn-2")).to_be_visible()
    screen.await_state("ready")
    expect(screen.at("name-a").last).to_have_text("Model A")
    screen.at("vote-b").click()
    expect(screen.at("reveal")).to_be_visible()
    names = screen.at("name-b").all_inner_texts()
    assert len(names) == 2
    assert names[0] == names[1]
    assert names[0] in SCRIPTED_NAMES


def test_a_follow_up_goes_to_the_top_and_stays_there(screen: Screen, engine: ScriptedProcess) -> None:
    screen.battle("Something before.")
    engine.say(rate_tokens_per_s=30, tokens=150)
    screen.ask("Something after.")
    screen.await_text("a", 100)
    # It glides there.
    screen.page.wait_for_timeout(1_000)
    asked = screen.at("prompt").last
    place = asked.bounding_box()
    screen.await_state("ready")
    assert place is not None
    assert place["y"] < 250
    assert asked.bounding_box() == place


def test_the_history_opens_an_old_battle(screen: Screen) -> None:
    screen.battle("The battle to come back to.")
    screen.at("vote-a").click()
    expect(screen.at("reveal")).to_be_visible()
    receipt = screen.at("receipt").inner_text()
    names = [screen.at(f"name-{side}").inner_text() for side in ("a", "b")]
    texts = [screen.text("a"), screen.text("b")]
    screen.at("new-battle").click()
    expect(screen.at("start")).to_be_visible()
    screen.at("nav-history").click()
    item = screen.at("history-item").filter(has_text="The battle to come back to.")
    expect(item).to_contain_text("voted")
    expect(item).to_contain_text(names[0])
    screen.shoot("history")
    item.click()
    expect(screen.at("receipt")).to_have_text(receipt)
    assert [screen.at(f"name-{side}").inner_text() for side in ("a", "b")] == names
    assert [screen.text("a"), screen.text("b")] == texts
    screen.page.go_back()
    expect(screen.at("history")).to_be_visible()


def test_nobody_else_can_open_a_battle(screen: Screen, arena: Arena, open_screen: OpenScreen) -> None:
    screen.battle("This is mine.")
    stranger = open_screen(arena)
    stranger.open(f"#/battle/{screen.conversation_id}")
    expect(stranger.at("error")).to_contain_text("does not exist, or belongs to someone else")
    expect(stranger.page.get_by_text("This is mine.")).to_have_count(0)


def test_an_open_battle_can_be_voted_on_after_coming_back(screen: Screen) -> None:
    screen.battle("Later.")
    screen.at("nav-leaderboard").click()
    screen.at("nav-history").click()
    screen.at("history-item").first.click()
    screen.await_state("ready")
    screen.page.keyboard.press("4")
    expect(screen.at("result")).to_contain_text("Both were bad")
