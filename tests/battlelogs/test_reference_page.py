"""The reference names every form, every reason and every notice, and no other reason."""

import re
from pathlib import Path

from agon.battlelogs.faults import SENTENCES
from agon.battlelogs.layouts import LAYOUTS
from agon.battlelogs.reader import EVENT_LOGS
from agon.ranking.rejects import Notice, Reason

PAGE = (Path(__file__).parents[2] / "docs/reference/battle-logs.md").read_text("utf-8")


def words(text: str) -> set[str]:
    return set(re.findall(r"`([a-z]\w+)`", text))


def test_every_form_is_listed() -> None:
    (forms,) = re.findall(r"## Forms.*?\n\n(\|.*?)\n\n", PAGE, re.DOTALL)
    listed = set(re.findall(r"^\| `(\w+)`", forms, re.MULTILINE))
    assert listed == {*(layout.name for layout in LAYOUTS), *(name for name, _, _ in EVENT_LOGS), "empty"}


def test_every_reason_is_listed_and_no_other() -> None:
    rows = PAGE[PAGE.index("## Rows") : PAGE.index("A whole file is refused")]
    reasons = {*SENTENCES, *map(str, Reason)}
    assert reasons <= words(rows)
    assert words("\n".join(re.findall(r"^\| (`.*?) \|", rows, re.MULTILINE))) <= reasons


def test_every_notice_is_listed() -> None:
    assert {str(notice) for notice in Notice} <= words(PAGE)
