"""Categories of a battle, from the tags that releases carry."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from agon.battlelogs.rows import Frame
from agon.ranking.columns import Coded, Column
from agon.ranking.spellings import is_true

HARD_CRITERIA = 6
"""Criteria of seven that make a prompt a hard one, as LMArena counts."""
_PLAIN = ("category", "categories", "selected_category")
_TAGGED = ("category_tag", "is_code", "dedup_tag")


def category_columns() -> tuple[str, ...]:
    return (*_PLAIN, *_TAGGED)


def read_categories(frame: Frame) -> list[tuple[str, ...]] | None:
    """The categories of each row, by the names that the tags give them; None if the table has none."""
    columns = {name: values_of(frame.columns[name]) for name in category_columns() if name in frame.columns}
    if not columns:
        return None
    return [tuple(_names(dict(zip(columns, row, strict=True)))) for row in zip(*columns.values(), strict=True)]


def values_of(column: Column) -> list[object]:
    """The column's values one a row."""
    if isinstance(column, Coded):
        table = (*column.values, None)
        return [table[code] for code in cast("list[int]", column.codes.tolist())]
    return list(column)


def parsed(value: object) -> object:
    """The value, or what it stands for if it is a JSON text, as nested values are in a CSV file."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _names(row: Mapping[str, object]) -> Iterator[str]:
    for name in _PLAIN:
        yield from _plain(parsed(row.get(name)))
    tags = parsed(row.get("category_tag"))
    if isinstance(tags, dict):
        yield from _tagged(cast("dict[str, object]", tags))
    if is_true(row.get("is_code")):
        yield "code"
    dedup = parsed(row.get("dedup_tag"))
    if isinstance(dedup, dict) and is_true(cast("dict[str, object]", dedup).get("sampled")):
        yield "sampled"


def _plain(value: object) -> Iterator[str]:
    if isinstance(value, str) and value.strip():
        yield value.strip()
    elif isinstance(value, list | tuple):
        yield from (item.strip() for item in cast("Sequence[object]", value) if isinstance(item, str))


def _tagged(tags: Mapping[str, object]) -> Iterator[str]:
    for name, tag in tags.items():
        if not isinstance(tag, dict):
            continue
        found = [key for key, value in cast("dict[str, object]", tag).items() if value is True]
        yield from found
        if name.startswith("criteria") and len(found) >= HARD_CRITERIA:
            yield "hard"
