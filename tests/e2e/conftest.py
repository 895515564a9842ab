"""Two arenas for all browser tests, one with real models and one with scripted engines, and a browser a module."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.e2e.arena import Arena
from tests.e2e.engines import SCRIPTED, Parrot, ScriptedProcess
from tests.e2e.screen import Screen

from agon.engines.catalogue import SMOLLM2, SMOLLM2_Q8, built_in
from agon.engines.weights import WeightStore

PATIENCE_MS = 45_000
REAL_NAMES = ("Alder Falls", "Birch Harbour")
SCRIPTED_NAMES = ("Heron Valley", "Otter Creek")
PARROT = "Parrot"

OpenScreen = Callable[..., Screen]


@pytest.fixture(scope="session")
def real_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """Two built-in models under names that no text says by chance."""
    folder = tmp_path_factory.mktemp("real")
    contestants = zip(REAL_NAMES, (SMOLLM2, SMOLLM2_Q8), strict=True)
    lines = [f"[[contestants]]\nname = {name!r}\nweights = {weights!r}" for name, weights in contestants]
    bring_weights(folder / "data" / "models", SMOLLM2, SMOLLM2_Q8)
    head = "[limits]\nanswer_tokens = 80\nbattle_deadline_s = 90\n[engine]\nthreads = 1"
    arena = Arena(folder, "\n".join([head, *lines]))
    yield arena
    arena.stop()


def bring_weights(models: Path, *names: str) -> None:
    """From the folder that all test runs on this machine share, so that they are downloaded once."""
    cache = Path(os.environ.get("AGON_TEST_MODELS") or Path.home() / ".cache" / "agon-tests" / "models")
    models.mkdir(parents=True)
    for name in names:
        WeightStore(cache).ensure(built_in(name).weights)
        for file in (f"{name}.gguf", f".{name}.sha256"):
            try:
                (models / file).hardlink_to(cache / file)
            except OSError:
                shutil.copy2(cache / file, models / file)


@pytest.fixture(scope="session")
def scripted_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedProcess]:
    process = ScriptedProcess(tmp_path_factory.mktemp("engine"))
    yield process
    process.stop()


@pytest.fixture(scope="session")
def parrot_server() -> Iterator[Parrot]:
    parrot = Parrot()
    yield parrot
    parrot.stop()


@pytest.fixture(scope="session")
def arena(
    tmp_path_factory: pytest.TempPathFactory, scripted_process: ScriptedProcess, parrot_server: Parrot
) -> Iterator[Arena]:
    """Two scripted models that fight, and a parrot that only chats: its weight in the pairing is 0."""
    entries = [
        f"[[contestants]]\nname = {name!r}\nurl = {scripted_process.url!r}\nmodel = {model!r}\nmax_concurrent = 2"
        for name, model in zip(SCRIPTED_NAMES, SCRIPTED, strict=True)
    ]
    parrot = f"[[contestants]]\nname = {PARROT!r}\nurl = {parrot_server.url!r}\nmodel = 'parrot'\nweight = 0"
    limits = "[limits]\nanswer_tokens = 1000\nbattle_deadline_s = 90"
    started = Arena(tmp_path_factory.mktemp("scripted"), "\n".join([limits, *entries, parrot]))
    yield started
    started.stop()


@pytest.fixture
def engine(scripted_process: ScriptedProcess) -> Iterator[ScriptedProcess]:
    yield scripted_process
    scripted_process.say()


@pytest.fixture
def parrot(parrot_server: Parrot) -> Iterator[Parrot]:
    yield parrot_server
    parrot_server.pause_s = 0.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # No longer than a module: while it is open, its loop counts as running, and asynchronous tests could not run.
    expect.set_options(timeout=PATIENCE_MS)
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_screen(browser: Browser) -> Iterator[OpenScreen]:
    """Opens pages, each for a person of its own; fails the test if one of them had an error."""
    screens: list[Screen] = []

    def open_one(at: Arena, **context: Any) -> Screen:
        settings: dict[str, Any] = {"locale": "en-GB", "viewport": {"width": 1280, "height": 860}, **context}
        page = browser.new_context(**settings).new_page()
        page.set_default_timeout(PATIENCE_MS)
        screens.append(Screen(page, at.url))
        return screens[-1]

    yield open_one
    errors = [error for screen in screens for error in screen.errors]
    for screen in screens:
        screen.page.context.close()
    assert not errors


@pytest.fixture
def screen(arena: Arena, engine: ScriptedProcess, open_screen: OpenScreen) -> Screen:
    """A page of the scripted arena, whose engines behave as `engine` is told."""
    del engine
    arena.await_ready(3)
    return open_screen(arena)
