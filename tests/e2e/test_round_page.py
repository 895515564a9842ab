"""Rounds in the browser: a board that moves, win rates with intervals, categories, answers side by side."""

import re
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import expect
from tests.e2e.arena import Arena
from tests.e2e.conftest import SCRIPTED_NAMES, OpenScreen
from tests.e2e.engines import SCRIPTED, ScriptedProcess
from tests.e2e.screen import Screen

from agon.embedded.process import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}

THINGS = ("rivers", "glaciers", "forests", "deserts", "islands", "volcanoes", "meadows", "marshes", "canyons", "reefs")
CAREFUL, BRIEF, SILENT = "Careful", "Brief", "Silent"
ATTACK = "<img src=x onerror=\"document.title='taken over'\">"


def bank() -> list[dict[str, Any]]:
    nature = [
        {"id": f"n{place}", "category": "nature", "prompt": f"Describe beautiful {thing} and explain their seasons."}
        for place, thing in enumerate(THINGS)
    ]
    turns = {"id": "m0", "category": "maths", "turns": ["Add seven and eleven.", "Multiply the result by three."]}
    return [*nature, turns]


def answers(model: str) -> list[dict[str, Any]]:
    """`Careful` takes up every word of a question, `Brief` some of them, `Silent` one at most."""
    texts: dict[str, Callable[[str], str]] = {
        CAREFUL: lambda thing: f"**Seasons** of {thing}, I describe: beautiful ones. To explain:\n\n- warm\n- cold\n",
        BRIEF: lambda thing: f"The {thing} change with their seasons. {ATTACK}",
        SILENT: lambda thing: "Nothing." if thing != "rivers" else "Seasons.",
    }
    found: list[dict[str, Any]] = [
        {"question": f"n{place}", "text": texts[model](thing)} for place, thing in enumerate(THINGS)
    ]
    return [*found, {"question": "m0", "texts": ["Eighteen, seven and eleven.", "Multiply: fifty-four."]}]


class Round:
    """A round made through the API, with answers that were made elsewhere unless it is said."""

    def __init__(
        self, arena: Arena, questions: Sequence[dict[str, Any]], models: Sequence[str], *, made_here: bool = False
    ) -> None:
        self.id = str(uuid4())
        self._arena = arena
        body = {
            "id": self.id,
            "name": "Words of nature",
            "scorer": "overlap",
            "contestants": [{"name": model, "made_here": made_here} for model in models],
            "questions": questions,
        }
        with arena.client() as client:
            headers = {"Authorization": f"Bearer {arena.admin_key}"}
            client.post("/arena/rounds", json=body, headers=headers).raise_for_status()

    def submit(self, model: str, those: Sequence[dict[str, Any]]) -> None:
        with self._arena.client() as client:
            batch = [{"round_id": self.id, "model": model, **each} for each in those]
            reply = client.post("/arena/submit", json={"answers": batch})
            assert all("answer_id" in each for each in reply.json()["answers"]), reply.text

    def await_merged(self, count: int) -> None:
        with self._arena.client() as client:

            def merged() -> int:
                return client.get(f"/arena/rounds/{self.id}/board").json().get("merged", 0)

            assert wait_until(lambda: merged() >= count, 60), f"{merged()} answers are on the board, not {count}"


@pytest.fixture(scope="module")
def finished(arena: Arena) -> Round:
    """Three models on eleven questions; the last model has one answer less."""
    made = Round(arena, bank(), (CAREFUL, BRIEF, SILENT))
    for model, those in ((CAREFUL, answers(CAREFUL)), (BRIEF, answers(BRIEF)), (SILENT, answers(SILENT)[:-1])):
        made.submit(model, those)
    made.await_merged(32)
    return made


@pytest.fixture
def shown(arena: Arena, finished: Round, open_screen: OpenScreen) -> Callable[..., Screen]:
    def open_one(query: str = "", **context: Any) -> Screen:
        screen = open_screen(arena, **context)
        screen.open(f"#/rounds/{finished.id}{query}")
        screen.at("round-settled").wait_for()
        return screen

    return open_one


def test_a_round_is_found_in_the_list(arena: Arena, finished: Round, open_screen: OpenScreen) -> None:
    screen = open_screen(arena)
    screen.open()
    screen.at("nav-rounds").click()
    screen.at("round-item").filter(has_text="Words of nature").first.click()
    expect(screen.page).to_have_url(re.compile(r"#/rounds/[0-9a-f-]{36}$"))
    expect(screen.at("round-row")).to_have_count(3)
    assert screen.strangers() == []


def test_the_board_ranks_with_intervals(shown: Callable[..., Screen]) -> None:
    screen = shown()
    rows = screen.at("round-row")
    expect(rows).to_have_count(3)
    assert [row.locator(".model").inner_text() for row in rows.all()] == [CAREFUL, BRIEF, SILENT]
    expect(rows.first).to_contain_text(" to ")
    expect(rows.first.locator(".bar .span")).to_be_visible()
    expect(rows.last).to_contain_text("fewer answers")
    expect(screen.at("round-remarks")).to_contain_text("same questions")
    expect(screen.at("round-settled")).to_contain_text("32 of 33")
    screen.shoot("round-board")


def test_a_category_has_its_board_and_a_sparse_one_has_none(shown: Callable[..., Screen]) -> None:
    screen = shown()
    choice = screen.at("round-category")
    expect(choice.locator("option", has_text="maths")).to_be_disabled()
    choice.select_option("nature")
    expect(screen.page).to_have_url(re.compile(r"\?category=nature$"))
    expect(screen.at("round-row").last.locator("td").last).to_have_text("10")
    expect(screen.at("round-remarks")).not_to_contain_text("same questions")
    screen.page.reload()
    expect(choice).to_have_value("nature")


def test_win_rates_say_their_intervals_when_picked(shown: Callable[..., Screen]) -> None:
    screen = shown("?tab=rivals")
    expect(screen.at("rivals-table").locator("tbody tr")).to_have_count(3)
    said = screen.at("rivals-table-said")
    screen.at("rivals-table").locator('[data-cell="0-2"]').click()
    expect(said).to_contain_text(f"{CAREFUL} against {SILENT}: 100.0 % (95 % interval")
    expect(said).to_contain_text("10 won, 0 tied, 0 lost")
    screen.page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text(f"{CAREFUL} against {BRIEF}")
    screen.page.keyboard.press("ArrowDown")
    expect(said).to_contain_text(f"{SILENT} against {BRIEF}")


def test_answers_stand_side_by_side_and_stay_text(shown: Callable[..., Screen]) -> None:
    screen = shown("?tab=answers")
    panes = screen.at("scored-answer")
    expect(panes).to_have_count(2)
    expect(panes.first.get_by_role("heading", name=CAREFUL)).to_be_visible()
    expect(panes.first.locator("li", has_text="warm")).to_be_visible()
    expect(panes.nth(1)).to_contain_text("onerror")
    expect(panes.first.get_by_test_id("answer-score")).to_have_text(re.compile(r"^[01]\.\d{3}$"))
    screen.shoot("round-answers")
    screen.at("compare-model").last.check(force=True)
    expect(panes).to_have_count(3)
    screen.at("question").select_option("m0")
    expect(screen.at("question-text")).to_contain_text("Multiply the result by three.")
    expect(panes.first).to_contain_text("Answer to turn 2")
    expect(panes.last).to_contain_text("There is no answer.")
    screen.at("question-before").click()
    expect(screen.at("question-text")).to_contain_text("reefs")
    screen.page.reload()
    expect(panes).to_have_count(3)
    expect(screen.at("question-text")).to_contain_text("reefs")
    assert "taken over" not in screen.page.title()


def test_a_board_moves_as_answers_come(arena: Arena, open_screen: OpenScreen) -> None:
    running = Round(arena, bank(), (CAREFUL, BRIEF))
    screen = open_screen(arena)
    screen.open(f"#/rounds/{running.id}")
    expect(screen.at("round-row")).to_have_count(2)
    expect(screen.at("round-settled")).to_contain_text("0 of 22")
    running.submit(CAREFUL, answers(CAREFUL)[:4])
    expect(screen.at("round-settled")).to_contain_text("4 of 22")
    expect(screen.at("round-row").first.locator("td").last).to_have_text("4")
    running.submit(BRIEF, answers(BRIEF))
    running.submit(CAREFUL, answers(CAREFUL)[4:])
    expect(screen.at("round-settled")).to_contain_text("22 of 22")
    expect(screen.at("round-row").last.locator("td").last).to_have_text("11")
    assert sum("/events" in request.url for request in screen.requests) == 1


def test_what_went_wrong_is_told_with_what_to_do(
    arena: Arena, engine: ScriptedProcess, open_screen: OpenScreen
) -> None:
    failing, working = SCRIPTED_NAMES
    engine.say(SCRIPTED[0], fail={"kind": "http_500"})
    troubled = Round(arena, bank()[:1], (failing, working), made_here=True)
    screen = open_screen(arena)
    screen.open(f"#/rounds/{troubled.id}")
    expect(screen.at("round-settled")).to_contain_text("2 of 2", timeout=90_000)
    screen.at("tab-trouble").click()
    expect(screen.at("troubled").locator("li")).to_have_count(1)
    expect(screen.at("troubled")).to_contain_text(failing)
    expect(screen.at("troubled").locator(".error")).to_have_text(re.compile(r"\S"))
    expect(screen.page.get_by_text(f"agon round rerun {troubled.id}")).to_be_visible()
    screen.shoot("round-trouble")
    engine.say()
    arena.await_ready(3)


def test_a_round_that_is_not_there_is_said(arena: Arena, open_screen: OpenScreen) -> None:
    screen = open_screen(arena)
    screen.open(f"#/rounds/{uuid4()}")
    expect(screen.at("error")).to_have_attribute("data-code", "round_not_found")


@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
def test_every_part_fits_a_phone(shown: Callable[..., Screen], language: str) -> None:
    screen = shown(locale=language, **PHONE)
    for tab, part in (
        ("board", "round-table"),
        ("rivals", "rivals-table"),
        ("answers", "answers"),
        ("scorer", "scorer"),
    ):
        screen.at(f"tab-{tab}").tap()
        screen.at(part).wait_for()
        assert screen.overflow() == 0, tab
        screen.shoot(f"phone-round-{tab}-{language}")


def test_parts_follow_the_keyboard_and_say_where_they_are(shown: Callable[..., Screen]) -> None:
    screen = shown()
    screen.at("tab-board").focus()
    for key, tab in (("ArrowRight", "rivals"), ("ArrowRight", "answers"), ("End", "scorer"), ("Home", "board")):
        screen.page.keyboard.press(key)
        expect(screen.at(f"tab-{tab}")).to_be_focused()
        expect(screen.page.get_by_role("tabpanel")).to_have_attribute("aria-labelledby", f"tab-{tab}")
