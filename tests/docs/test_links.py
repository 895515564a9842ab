"""Links in the documentation lead somewhere, and so do the files it names."""

from pathlib import Path

import pytest
from tests.docs.markdown import ROOT, anchors, broken_links, links, markdown_files, named_paths

PAGES = [page.relative_to(ROOT).as_posix() for page in markdown_files()]
BUILT = ("src/agon/page", "benchmarks/results")


def test_the_pages_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/reference/api.md", "web/README.md"} <= set(PAGES)
    assert not any("node_modules" in page for page in PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    assert broken_links(ROOT / page) == []


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_are_there(page: str) -> None:
    named = named_paths((ROOT / page).read_text("utf-8"))
    places = (ROOT, (ROOT / page).parent)
    missing = sorted(path for path in named if not any((place / path).exists() for place in places))
    assert [path for path in missing if not path.startswith(BUILT)] == []


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    other = tmp_path / "other.md"
    other.write_text("# One\n\n## A `code` & more\n\n## One\n")
    page.write_text(
        "# Here\n[good](other.md) [part](other.md#a-code--more) [twice](other.md#one-1) [self](#here)\n"
        "[away](https://example.org/x) `[code](nowhere.md)`\n```\n[fenced](nowhere.md)\n```\n"
        "[gone](gone.md) ![picture](gone.png) [heading](other.md#two) [up](../../../etc)\n"
    )
    assert broken_links(page, tmp_path) == [
        "gone.md is not there",
        "gone.png is not there",
        "other.md#two: no such heading",
        "../../../etc leaves the checkout",
    ]


def test_headings_in_code_are_none() -> None:
    assert anchors("# Real\n```\n# not\n```\n") == {"real"}


def test_a_link_may_have_a_title() -> None:
    assert [link.path for link in links('[a](b.md "The title")')] == ["b.md"]
