"""The page as a person sees and uses it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import CDPSession, Dialog, Locator, Page, Request, expect

Side = Literal["a", "b"]

SHOTS = Path(__file__).parents[2] / "test-results"

# Notes every 40 ms how far each side is, as [phase, length].
_RECORD = """() => {
  window.growth = []
  const look = (side) => {
    const pane = [...document.querySelectorAll(`[data-testid="answer-${side}"]`)].at(-1)
    return [pane?.dataset.phase ?? '', pane?.querySelector('.body')?.textContent.trim().length ?? 0]
  }
  setInterval(() => { window.growth.push({ a: look('a'), b: look('b') }) }, 40)
}"""


@dataclass(frozen=True, slots=True)
class Glance:
    """One look at both sides."""

    phases: dict[Side, str]
    lengths: dict[Side, int]


# No slots: the library notes on an object which of its methods listen.
@dataclass
class Screen:
    """A page of the arena, and what it did that a person does not see."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list[str])
    console: list[str] = field(default_factory=list[str])
    requests: list[Request] = field(default_factory=list[Request])

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("dialog", self._refuse)
        self.page.on("request", self._note)

    def _note(self, request: Request) -> None:
        self.requests.append(request)

    def _refuse(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, route: str = "") -> None:
        self.page.goto(f"{self.url}/{route}")

    def at(self, testid: str) -> Locator:
        return self.page.get_by_test_id(testid)

    @property
    def composer(self) -> Locator:
        return self.at("composer")

    def ask(self, prompt: str) -> None:
        self.composer.fill(prompt)
        self.composer.press("Enter")

    def pane(self, side: Side) -> Locator:
        """That side's answer of the last turn."""
        return self.at(f"answer-{side}").last

    def text(self, side: Side) -> str:
        # Text is painted a frame after it came, and pages in the background are not painted.
        self.page.bring_to_front()
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.pane(side).locator(".body").inner_text().strip()

    def await_phase(self, side: Side, phase: str) -> None:
        expect(self.pane(side)).to_have_attribute("data-phase", phase)

    def await_text(self, side: Side, length: int = 12) -> None:
        """Wait until that side has written something and goes on writing."""
        self.await_phase(side, "writing")
        self.page.locator(f"[data-testid=answer-{side}] .prose:not([hidden])", has_text=_longer_than(length)).wait_for()

    def await_state(self, state: str) -> None:
        expect(self.at("conversation")).to_have_attribute("data-state", state)

    def battle(self, prompt: str = "Which bird is the quietest?") -> None:
        """Fight one to the point where a vote is due."""
        self.open()
        self.ask(prompt)
        self.await_state("ready")

    @property
    def conversation_id(self) -> str:
        return self.page.url.rsplit("/", 1)[1]

    def ledger(self) -> dict[str, Any]:
        """What the arena has kept of the conversation on the screen."""
        return self.page.request.get(f"{self.url}/arena/battles/{self.conversation_id}").json()

    def kept_text(self, side: Side) -> str:
        return self.ledger()["turns"][-1]["answers"][side]["text"]

    def record(self) -> None:
        self.page.evaluate(_RECORD)

    def recorded(self) -> list[Glance]:
        seen: list[dict[Side, tuple[str, int]]] = self.page.evaluate("window.growth")
        return [Glance({side: look[side][0] for side in look}, {side: look[side][1] for side in look}) for look in seen]

    def sent(self) -> list[str]:
        """Paths of the requests that changed something."""
        return [request.url.removeprefix(self.url) for request in self.requests if request.method == "POST"]

    def strangers(self) -> list[str]:
        """Requests that went elsewhere."""
        return [request.url for request in self.requests if not request.url.startswith((self.url, "data:", "blob:"))]

    def overflow(self) -> int:
        """How many pixels the page is wider than the screen."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def shoot(self, name: str) -> None:
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png", animations="disabled")


def tell(session: CDPSession, method: str, **parameters: object) -> None:
    """Say something to the browser itself."""
    session.send(method, parameters)  # pyright: ignore[reportUnknownMemberType]  the library leaves it untyped


def _longer_than(length: int) -> re.Pattern[str]:
    return re.compile(rf"[\s\S]{{{length},}}")
