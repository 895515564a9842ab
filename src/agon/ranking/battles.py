"""Counted rows as coded columns: what everything beyond plain counts is computed from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import BoolArray, Differences, FloatArray, IntArray, Integers
from agon.ranking.columns import Coded, CodedText, hashable
from agon.ranking.moments import utc_days
from agon.ranking.outcomes import PairCounts

Rows = slice | BoolArray | IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CodedBattles:
    """V votes, each column (V,). `first` and `second` are places in `models`, `winners` codes of `Winner`.

    `rows` numbers them in their `sources`. The other columns are None where no source has them: `timestamps` in seconds
    since the epoch, UTC, NaN where a row has none; dictionary-encoded texts with -1 where a row has none; `style` the
    VxF differences named by `style_names`, NaN where a row has none.
    """

    models: tuple[str, ...]
    first: Integers
    second: Integers
    winners: Integers
    rows: IntArray
    sources: Coded
    timestamps: FloatArray | None = None
    vote_ids: Coded | None = None
    voters: Coded | None = None
    categories: Coded | None = None
    languages: Coded | None = None
    style: Differences | None = None
    style_names: tuple[str, ...] = ()

    @classmethod
    def joined(cls, models: tuple[str, ...], parts: "Sequence[CodedBattles]") -> "CodedBattles":
        """Parts one after the other, all coded by `models`. Raises `InvalidInput` if their style names differ."""
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return cls(models, none, none, none, none, Coded(none, ()))
        if len(parts) == 1:
            return replace(parts[0], models=models)
        names = {part.style_names for part in parts if part.style is not None}
        if len(names) > 1:
            raise InvalidInput("The sources describe style by different features.", code="bad_style", field="style")
        lengths = [len(part) for part in parts]
        sources = _joined_codes([part.sources for part in parts], lengths)
        assert sources is not None
        return cls(
            models=models,
            first=np.concatenate([part.first for part in parts]),
            second=np.concatenate([part.second for part in parts]),
            winners=np.concatenate([part.winners for part in parts]),
            rows=np.concatenate([part.rows for part in parts]),
            sources=sources,
            timestamps=_joined_numbers([part.timestamps for part in parts], [(length,) for length in lengths]),
            vote_ids=_joined_codes([part.vote_ids for part in parts], lengths),
            voters=_joined_codes([part.voters for part in parts], lengths),
            categories=_joined_codes([part.categories for part in parts], lengths),
            languages=_joined_codes([part.languages for part in parts], lengths),
            style=_joined_style([part.style for part in parts], lengths),
            style_names=names.pop() if names else (),
        )

    def __len__(self) -> int:
        return len(self.first)

    def where(self, rows: Rows) -> "CodedBattles":
        """Some of the rows, by mask or by place; the models stay."""
        return replace(
            self,
            first=self.first[rows],
            second=self.second[rows],
            winners=self.winners[rows],
            rows=self.rows[rows],
            sources=Coded(self.sources.codes[rows], self.sources.values),
            timestamps=None if self.timestamps is None else self.timestamps[rows],
            vote_ids=_picked(self.vote_ids, rows),
            voters=_picked(self.voters, rows),
            categories=_picked(self.categories, rows),
            languages=_picked(self.languages, rows),
            style=None if self.style is None else self.style[rows],
        )

    def decided(self) -> "CodedBattles":
        """The votes that somebody won; the models stay."""
        return self.where(self.winners < 2)

    def tidied(self) -> "CodedBattles":
        """The same votes with models in order of name, and only those that are in a vote."""
        size = len(self.models)
        seen = np.bincount(self.first, minlength=size) + np.bincount(self.second, minlength=size)
        order: list[int] = sorted(np.flatnonzero(seen).tolist(), key=self.models.__getitem__)
        if order == list(range(size)):
            return self
        place = np.zeros(size, dtype=self.first.dtype)
        place[order] = np.arange(len(order))
        models = tuple(self.models[code] for code in order)
        return replace(self, models=models, first=place[self.first], second=place[self.second])

    def counts(self) -> PairCounts:
        return PairCounts.from_codes(self.models, self.first, self.second, self.winners)

    def origin(self, place: int) -> tuple[int, str]:
        """Number of a row and the source that it is of."""
        return int(self.rows[place]), str(self.sources.values[int(self.sources.codes[place])])

    def time_order(self) -> IntArray:
        """Places by (timestamp, vote id), (V,); rows alike in both, or without a time, stay as they were read."""
        if self.timestamps is None:
            return np.arange(len(self))
        order = np.argsort(self.timestamps, kind="stable")
        if self.vote_ids is None:
            return order
        ids = CodedText(self.vote_ids)
        return sorted_ties(order, self.timestamps, ids.__getitem__)

    def days(self) -> IntArray:
        """UTC days since the epoch, (V,). Raises `InvalidInput` if a vote has no time."""
        if self.timestamps is None or np.isnan(self.timestamps).any():
            raise InvalidInput("Some votes have no time.", code="missing_timestamp", field="timestamp")
        return utc_days(self.timestamps)


def sorted_ties(order: IntArray, timestamps: FloatArray, key: Callable[[int], str]) -> IntArray:
    """Places in order of time, those of equal time by key; keys are made only where they decide, since text is slow."""
    same = np.diff(timestamps[order]) == 0
    shared = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if not shared.size:
        return order
    tied: list[int] = sorted(order[shared].tolist(), key=lambda place: (timestamps[place], key(place)))
    order = order.copy()
    order[shared] = tied
    return order


def codes_by_first_value(column: Coded) -> Integers:
    """The column's codes, with a repeated value under its first code and a missing one under -1."""
    if column.distinct:
        return column.codes
    values = column.values
    try:
        table = dict.fromkeys(values)
    except TypeError:
        values = [hashable(value) for value in values]
        table = dict.fromkeys(values)
    if len(table) == len(values) and None not in table and "" not in table and float not in set(map(type, values)):
        return column.codes
    first: dict[object, int] = {}
    codes = [-1 if _nothing(value) else first.setdefault(value, place) for place, value in enumerate(values)]
    return np.array([*codes, -1], dtype=np.int64)[column.codes]


def _nothing(value: object) -> bool:
    return value is None or value == "" or value != value  # noqa: PLR0124 - only a NaN differs from itself


def _picked(column: Coded | None, rows: Rows) -> Coded | None:
    return None if column is None else replace(column, codes=column.codes[rows])


def _joined_numbers(parts: Sequence[Differences | None], shapes: Sequence[tuple[int, ...]]) -> FloatArray | None:
    if all(part is None for part in parts):
        return None
    filled = [np.full(shape, np.nan) if part is None else part for part, shape in zip(parts, shapes, strict=True)]
    return np.concatenate(filled).astype(np.float64, copy=False)


def _joined_style(parts: list[Differences | None], lengths: list[int]) -> Differences | None:
    width = next((part.shape[1] for part in parts if part is not None), 0)
    joined = _joined_numbers(parts, [(length, width) for length in lengths])
    # One feature after the other in memory, as style control reads them.
    return None if joined is None else np.asfortranarray(joined, dtype=np.float32)


def _joined_codes(parts: Sequence[Coded | None], lengths: list[int]) -> Coded | None:
    there = [part for part in parts if part is not None]
    if not there:
        return None
    if len({id(part.values) for part in there}) == 1:
        values: Sequence[object] = there[0].values
        codes = [part.codes if part is not None else None for part in parts]
    else:
        table: dict[object, int] = {}
        codes = [None if part is None else _recoded(part, table) for part in parts]
        values = tuple(table)
    empty = [np.full(n, -1) if code is None else code for code, n in zip(codes, lengths, strict=True)]
    return Coded(np.concatenate(empty), values)


def _recoded(part: Coded, table: dict[object, int]) -> IntArray:
    places = [table.setdefault(value, len(table)) for value in part.values]
    return np.array([*places, -1], dtype=np.int64)[part.codes]
