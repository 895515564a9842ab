#!/usr/bin/env python3
"""Takes the README's pictures of a running arena, through Chromium.

    .venv/bin/python docs/images/take.py http://127.0.0.1:8000

First it fights some battles over the HTTP API. Each asks a question whose answer is known, and the vote goes to the
side that says it; a tie if both do, both bad if neither does. Then it fights one battle on the page, the same way.
The votes count: take pictures of an arena that is there for nothing else.
"""

import argparse
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, expect, sync_playwright

FOLDER = Path(__file__).parent
VIEW = {"width": 1200, "height": 800}
PATIENCE_MS = 90_000
QUESTIONS = (
    ("What is the capital of France?", "Paris"),
    ("What is 7 times 8?", "56"),
    ("Write a Python function that returns the length of a string.", "def "),
    ("Which planet is the largest of the solar system?", "Jupiter"),
    ("What is the chemical symbol of gold?", "Au"),
    ("Write an SQL query that counts the rows of the table users.", "COUNT("),
    ("In which year did the Second World War end?", "1945"),
    ("Sort these numbers: 9, 2, 5.", "2, 5, 9"),
)
# Short enough that both answers fit into the picture.
SHOWN = ("Write a short Python function that reverses a string.", "[::-1]")


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the README's pictures of a running arena.")
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8000")
    parser.add_argument("--battles", type=int, default=40, help="how many to fight before (default: 40)")
    args = parser.parse_args()
    with httpx.Client(base_url=args.url, timeout=PATIENCE_MS / 1000) as client, ThreadPoolExecutor(2) as pool:
        client.get("/arena/battles")  # the first answer sets the cookie, and both threads are the same person
        while not client.get("/arena/status").json()["ready"]:
            time.sleep(1)
        list(pool.map(lambda asked: fight(client, *asked), islice(cycle(QUESTIONS), args.battles)))
    picture(args.url)


def fight(client: httpx.Client, question: str, expected: str) -> None:
    """One battle to its vote; one that becomes void, or finds no room, is left out."""
    started = client.post("/arena/battles", json={"prompt": question})
    if started.status_code != 201:
        return
    path = f"/arena/battles/{started.json()['id']}"
    client.get(f"{path}/events")
    battle = client.get(path).raise_for_status().json()
    if battle["state"] == "ready":
        client.post(f"{path}/vote", json={"winner": winner(battle, expected)})


def winner(battle: dict[str, Any], expected: str) -> str:
    answers = battle["turns"][-1]["answers"]
    return verdict(answers["a"]["text"], answers["b"]["text"], expected)


def verdict(a: str, b: str, expected: str) -> str:
    match expected.lower() in a.lower(), expected.lower() in b.lower():
        case True, False:
            return "a"
        case False, True:
            return "b"
        case True, True:
            return "tie"
        case _:
            return "both_bad"


def picture(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=VIEW, color_scheme="light", locale="en-GB", reduced_motion="reduce")
        page.set_default_timeout(PATIENCE_MS)
        take_battle(page, url)
        take_board(page)
        browser.close()


def take_battle(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_test_id("composer").fill(SHOWN[0])
    page.get_by_test_id("send").click()
    expect(page.get_by_test_id("vote-a")).to_be_enabled(timeout=PATIENCE_MS)
    a, b = (page.get_by_test_id(f"answer-{side}").inner_text() for side in "ab")
    page.get_by_test_id(f"vote-{verdict(a, b, SHOWN[1])}").click()
    page.get_by_test_id("reveal").wait_for()
    save(page, "battle.png")


def take_board(page: Page) -> None:
    page.get_by_test_id("nav-leaderboard").click()
    page.get_by_test_id("board-row").first.wait_for()
    page.get_by_test_id("ratings-plot").locator("svg").wait_for()
    save(page, "board.png")


def save(page: Page, name: str) -> None:
    page.wait_for_timeout(800)  # the reveal's movement
    page.screenshot(path=FOLDER / name)
    sys.stdout.write(f"{FOLDER / name}\n")


if __name__ == "__main__":
    main()
