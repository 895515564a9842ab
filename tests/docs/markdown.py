"""What the tests of the documentation know about Markdown."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_NOT_OURS = {"node_modules", "dist", "build", "data", "test-results"}
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_OUR_PATH = re.compile(r"`((?:src|tests|benchmarks|docs|web)/[\w./-]+)`")


@dataclass(frozen=True, slots=True)
class Link:
    path: str
    """Empty for one into the page itself."""
    fragment: str


def markdown_files(root: Path = ROOT) -> list[Path]:
    """Every Markdown file of the checkout; what was built or fetched into it is none of ours."""
    found: list[Path] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_OURS and not name.startswith(".")]
        found += [Path(folder, name) for name in files if name.endswith(".md")]
    return sorted(found)


def links(text: str) -> Iterator[Link]:
    """The links of a page that stay in the checkout."""
    for target in _LINK.findall(_CODE.sub("", _FENCE.sub("", text))):
        if not _ELSEWHERE.match(target) and not target.startswith("//"):
            path, _, fragment = target.partition("#")
            yield Link(path, fragment)


def anchors(text: str) -> set[str]:
    """The fragments that lead to a heading of a page, as code hosts make them."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        words = re.sub(r"\]\([^)]*\)", "", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        repeated = sum(1 for each in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", each))
        found.add(f"{slug}-{repeated}" if repeated else slug)
    return found


def broken_links(page: Path, root: Path = ROOT) -> list[str]:
    """What is wrong with the links of a page, in words."""
    text = page.read_text("utf-8")
    return [problem for link in links(text) if (problem := _problem(page, text, link, root))]


def _problem(page: Path, text: str, link: Link, root: Path) -> str | None:
    target = (page.parent / link.path).resolve() if link.path else page
    if not target.is_relative_to(root.resolve()):
        return f"{link.path} leaves the checkout"
    if not target.exists():
        return f"{link.path} is not there"
    if not link.fragment or target.suffix != ".md":
        return None
    there = text if target == page else target.read_text("utf-8")
    return None if link.fragment in anchors(there) else f"{link.path}#{link.fragment}: no such heading"


def named_paths(text: str) -> set[str]:
    """The files of ours that a page names as code, such as a test that proves a claim."""
    return set(_OUR_PATH.findall(text))
