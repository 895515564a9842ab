"""The whole path with real models: a prompt, two growing answers, a vote, the names, the board."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from playwright.sync_api import Page, Response, expect
from tests.e2e.arena import Arena
from tests.e2e.conftest import REAL_NAMES, OpenScreen
from tests.e2e.screen import Screen, Side, tell

pytestmark = [pytest.mark.e2e, pytest.mark.models, pytest.mark.timeout(600)]

SECRETS = (*REAL_NAMES, "smollm", "gguf")


class Wire:
    """All that reaches a page: responses with their headers, and pushed events."""

    def __init__(self, page: Page) -> None:
        self._responses: list[Response] = []
        self._pushed: list[str] = []
        page.on("response", self._keep)
        session = page.context.new_cdp_session(page)
        session.on("Network.eventSourceMessageReceived", self._note)
        tell(session, "Network.enable")

    def _keep(self, response: Response) -> None:
        self._responses.append(response)

    def _note(self, message: dict[str, Any]) -> None:
        self._pushed.append(json.dumps(message, ensure_ascii=False))

    def everything(self) -> Iterable[str]:
        yield from self._pushed
        for response in self._responses:
            yield json.dumps(response.all_headers())
            if "event-stream" not in response.headers.get("content-type", "") and response.status == 200:
                yield response.body().decode(errors="replace")


def assert_secret(texts: Iterable[str]) -> None:
    for text in texts:
        for secret in SECRETS:
            assert secret.lower() not in text.lower()


def assert_grew(screen: Screen, side: Side) -> None:
    """Its text came bit by bit, and never became shorter."""
    lengths = [glance.lengths[side] for glance in screen.recorded() if glance.phases[side] == "writing"]
    assert len(set(lengths)) >= 3
    assert lengths == sorted(lengths)


def test_from_prompt_to_board(real_arena: Arena, open_screen: OpenScreen) -> None:
    watcher = open_screen(real_arena)
    watcher.open("#/leaderboard")
    expect(watcher.at("board-empty")).to_be_visible()
    watcher.page.evaluate("window.loadedOnce = true")

    screen = open_screen(real_arena)
    wire = Wire(screen.page)
    screen.open()
    screen.record()
    screen.ask("Describe a small harbour town at dawn, in one paragraph.")
    for side in ("a", "b"):
        screen.await_text(side)
    expect(screen.at("vote-a")).to_be_disabled()
    screen.shoot("battle-mid-stream")
    screen.await_state("ready")
    assert_grew(screen, "a")
    assert_grew(screen, "b")

    seen = list(wire.everything())
    assert any(f'"id":"{screen.conversation_id}"' in text for text in seen)
    assert sum('"packet"' in text for text in seen) > 4
    events = screen.page.request.get(f"{real_arena.url}/arena/battles/{screen.conversation_id}/events").text()
    assert events.count("event: done") == 2
    assert_secret([events, screen.page.content(), *screen.console, *seen])
    for choice in ("a", "b", "tie", "both_bad"):
        expect(screen.at(f"vote-{choice}")).to_be_enabled()

    screen.page.keyboard.press("1")
    expect(screen.at("reveal")).to_be_visible()
    names = [screen.at(f"name-{side}").inner_text() for side in ("a", "b")]
    assert sorted(names) == sorted(REAL_NAMES)
    expect(screen.at("result")).to_contain_text(f"{names[0]} won")
    receipt = screen.at("receipt").inner_text()
    vote = screen.page.request.get(f"{real_arena.url}/arena/votes/{receipt}").json()
    assert vote["winner"] == "a"
    assert vote["models"] == {"a": names[0], "b": names[1]}
    screen.shoot("battle-voted")

    # One win leaves the ratings without a limit; with a tie beside it they are numbers, and can be drawn.
    real_arena.vote("tie")
    rows = watcher.at("board-row")
    expect(rows).to_have_count(2)
    expect(watcher.at("ratings-plot").locator("svg")).to_be_visible()
    expect(watcher.at("board-votes")).to_contain_text("2")
    expect(watcher.at("board-table")).not_to_contain_text("not rated")
    expect(rows.locator(".badge").filter(has_text="needs more votes")).to_have_count(2)
    for name in REAL_NAMES:
        expect(rows.filter(has_text=name)).to_have_count(1)
    assert watcher.page.evaluate("window.loadedOnce")
    watcher.shoot("board")


def test_a_second_turn_goes_to_the_same_two(real_arena: Arena, open_screen: OpenScreen) -> None:
    screen = open_screen(real_arena)
    screen.battle("Name one colour.")
    screen.ask("And another one?")
    expect(screen.at("turn-2")).to_be_visible()
    screen.await_state("ready")
    assert [turn["prompt"] for turn in screen.ledger()["turns"]] == ["Name one colour.", "And another one?"]
    screen.page.keyboard.press("3")
    expect(screen.at("result")).to_contain_text("A tie")
    for side in ("a", "b"):
        named = screen.at(f"name-{side}").all_inner_texts()
        assert len(named) == 2
        assert len(set(named)) == 1
