"""What a model or a person writes is text: it runs nothing, loads nothing and becomes no element of the page."""

import pytest
from playwright.sync_api import Locator, expect
from tests.e2e.conftest import PARROT
from tests.e2e.engines import Parrot
from tests.e2e.screen import Screen

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

HOSTILE = """Plain words first.

<img src=x onerror="window.owned = 1">
<script>window.owned = 2</script>
<svg onload="window.owned = 3"><circle r=9 /></svg>
<iframe src="https://stranger.example/frame"></iframe>
<style>body { display: none }</style>
<a href="javascript:window.owned = 4" id="composer">inline</a>

[script link](javascript:window.owned=5) [coded link](&#106;avascript:window.owned=6)
[data link](data:text/html,<script>window.owned=7</script>) [honest link](https://honest.example/page)

![picture](https://stranger.example/pixel.png) ![](javascript:window.owned=8)

[ref]: javascript:window.owned=9
[by reference][ref] <javascript:window.owned=10> <https://stranger.example/auto>

| a | b |
| --- | --- |
| <img src=x onerror=alert(11)> | `<b>code</b>` |

$\\href{javascript:window.owned=12}{formula} \\htmlClass{x}{y} \\includegraphics{https://stranger.example/math.png}$

```html"><img src=x onerror=alert(13)>
</code></pre><script>window.owned = 14</script>
```

Plain words last."""

FORBIDDEN = "script, img, iframe, svg, style, object, embed, form, [onerror], [onload], [id], [href^=javascript]"

SHOWCASE = """# A heading

Some **bold**, *slanted* and `code`, then $e^{i\\pi} + 1 = 0$ in a line:

$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$

```python
def merge(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(intervals)  # not yet
```

1. one
2. two

> It costs $5 and not $10.

| bird | sound |
| :-- | --: |
| owl | none |
"""


def chat(screen: Screen, prompt: str) -> Locator:
    """Say it to the parrot; returns where its answer is shown."""
    screen.open("#/chat")
    screen.at("model-a").select_option(PARROT)
    screen.ask(prompt)
    return screen.pane("a").locator(".prose:not([hidden])")


def test_hostile_text_stays_text(screen: Screen, parrot: Parrot) -> None:
    parrot.pause_s = 0.01
    prose = chat(screen, HOSTILE)
    screen.await_phase("a", "done")
    assert screen.kept_text("a") == HOSTILE
    expect(prose).to_contain_text("Plain words last.")
    expect(screen.at("prompt")).to_have_text(HOSTILE)
    for shown in (prose, screen.at("prompt")):
        expect(shown.locator(FORBIDDEN).locator("visible=true")).to_have_count(0)
        expect(shown.locator(FORBIDDEN)).to_have_count(0)
    for written in ("<script>window.owned = 2</script>", '<img src=x onerror="window.owned = 1">', "<b>code</b>"):
        expect(prose).to_contain_text(written)
    links = prose.locator("a")
    hosts = links.evaluate_all("links => links.map(link => new URL(link.href).protocol + new URL(link.href).host)")
    assert set(hosts) == {"https:honest.example", "https:stranger.example"}
    for link in links.all():
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow ugc")
    assert screen.page.evaluate("window.owned") is None
    assert screen.strangers() == []
    screen.shoot("hostile")


def test_hostile_text_stays_text_in_the_history(screen: Screen, parrot: Parrot) -> None:
    del parrot
    chat(screen, "<img src=x onerror='window.owned = 1'> **title**")
    screen.await_phase("a", "done")
    screen.at("nav-history").click()
    expect(screen.at("history-item").first).to_contain_text("<img src=x")
    expect(screen.at("history").locator("img")).to_have_count(0)
    assert screen.page.evaluate("window.owned") is None


def test_code_formulas_and_tables_are_set(screen: Screen, parrot: Parrot) -> None:
    parrot.pause_s = 0.005
    prose = chat(screen, SHOWCASE)
    screen.await_phase("a", "done")
    expect(prose.locator("h3")).to_have_text("A heading")
    expect(prose.locator("strong")).to_have_text("bold")
    expect(prose.locator("figure.code figcaption")).to_contain_text("python")
    assert prose.locator("pre code span").count() > 3
    expect(prose.locator(".katex").first).to_be_visible()
    expect(prose.locator(".math.display .katex")).to_have_count(1)
    expect(prose.locator("ol li")).to_have_text(["one", "two"])
    expect(prose.locator("blockquote")).to_have_text("It costs $5 and not $10.")
    expect(prose.locator("td")).to_have_text(["owl", "none"])
    screen.shoot("markdown")
    assert screen.strangers() == []


def test_unfinished_constructs_hold_while_they_grow(screen: Screen, parrot: Parrot) -> None:
    parrot.pause_s = 0.12
    lines = "\n".join(f"print('<b>{number}</b>')" for number in range(12))
    prose = chat(screen, f"Before.\n\n```python\n{lines}\n```\n\nThen $$\\frac{{1}}{{2}}$$ and **bold")
    screen.await_phase("a", "writing")
    code = prose.locator("figure.code pre code")
    expect(code).to_contain_text("<b>2</b>")
    screen.await_phase("a", "writing")
    expect(prose).not_to_contain_text("```")
    expect(prose.locator("b")).to_have_count(0)
    screen.await_phase("a", "done")
    expect(code).to_contain_text("<b>11</b>")
    expect(prose).to_contain_text("and **bold")
    expect(prose.locator(".katex").first).to_be_visible()
