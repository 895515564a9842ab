"""Every vote and forfeit as columns of codes, in the order of reading: what views are counted from, in memory."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agon.core.board import ForfeitRule, View, Window
from agon.core.board_ports import RankedVote
from agon.core.traits import Category, Style, Traits
from agon.core.votes import Winner
from agon.ranking.arrays import BoolArray, Differences, IntArray, Integers
from agon.ranking.outcomes import WINNER_CODES
from agon.ranking.style import FEATURES, RawStyle, style_differences

CATEGORIES = tuple(Category)
DAY_S = 86_400.0
_BITS = {category: 1 << place for place, category in enumerate(CATEGORIES)}
_FIRST_ROOM = 1_024


@dataclass(frozen=True, slots=True, eq=False)
class VoteRows:
    """V votes, each column (V,): places in `models`, codes of `Winner`, UTC days since the epoch, seconds, ids.

    Of the first `described` it is known what their texts tell: `categories` are bits, `style` the VxF differences.
    These rows do not change any more; the columns of later ones still may. `forfeited` are the places of those that no
    vote but a forfeit has decided, in order; `rule` says whether they count. `totals` are the votes of each category.
    """

    models: tuple[str, ...]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    winners: NDArray[np.int8]
    days: NDArray[np.int32]
    times: NDArray[np.float64]
    ids: NDArray[np.int64]
    categories: NDArray[np.int32]
    style: Differences
    described: int
    forfeited: IntArray
    rule: ForfeitRule
    totals: Mapping[Category, int]

    def __len__(self) -> int:
        return len(self.first)

    def reach(self, view: View) -> int:
        """How many of the first rows a view can judge: it may have to wait for texts."""
        return len(self) if view.category is None and not view.style else self.described

    def chosen(self, view: View, today: int, *, since: int = 0) -> Integers:
        """Places of the rows from `since` on that count in a view."""
        part = slice(since, self.reach(view))
        mask = self._recent(part, view.window, today)
        if view.category is not None:
            mask &= (self.categories[part] & _BITS[view.category]) != 0
        if self.rule is ForfeitRule.VOID:
            mask[_within(self.forfeited, part) - since] = False
        return np.flatnonzero(mask) + since

    def forfeits(self, view: View, today: int) -> Integers:
        """Places of a view's forfeits, counted or not."""
        places = _within(self.forfeited, slice(0, self.reach(view)))
        if view.window.days is not None:
            places = places[self.days[places] > today - view.window.days]
        if view.category is not None:
            places = places[(self.categories[places] & _BITS[view.category]) != 0]
        return places

    def losers(self, forfeits: Integers) -> Integers:
        """Who has lost these by forfeit, as places in `models`."""
        won_by_first = self.winners[forfeits] == WINNER_CODES[Winner.A]
        return np.where(won_by_first, self.second[forfeits], self.first[forfeits])

    def votes_by_category(self, window: Window, today: int) -> Mapping[Category, int]:
        """Votes of each category within a window, as far as texts are known."""
        if window.days is None:
            return self.totals
        known = slice(0, self.described)
        votes = self._recent(known, window, today)
        votes[_within(self.forfeited, known)] = False
        bits = self.categories[known][votes]
        return {category: int(((bits & bit) != 0).sum()) for category, bit in _BITS.items()}

    def _recent(self, part: slice, window: Window, today: int) -> BoolArray:
        days = self.days[part]
        return np.ones(len(days), dtype=np.bool_) if window.days is None else days > today - window.days


class VoteColumns:
    """`VoteRows` that grow: votes come at the end, and traits later, in the same order."""

    def __init__(self, rule: ForfeitRule = ForfeitRule.LOSS) -> None:
        self._rule = rule
        self._forfeited: IntArray = np.zeros(0, dtype=np.int64)
        self._places: dict[str, int] = {}
        self._length = 0
        self._described = 0
        self._totals = dict.fromkeys(CATEGORIES, 0)
        self._room = _emptied(_FIRST_ROOM)

    def rows(self) -> VoteRows:
        """The rows as they are now, without copying."""
        n = self._length
        whole = self._room
        return VoteRows(
            models=tuple(self._places),
            first=whole.first[:n],
            second=whole.second[:n],
            winners=whole.winners[:n],
            days=whole.days[:n],
            times=whole.times[:n],
            ids=whole.ids[:n],
            categories=whole.categories[:n],
            style=whole.style[:n],
            described=self._described,
            forfeited=self._forfeited,
            rule=self._rule,
            totals=dict(self._totals),
        )

    def know(self, models: Iterable[str]) -> tuple[str, ...]:
        """All models so far and these; a model keeps its place for ever."""
        for model in models:
            self._places.setdefault(model, len(self._places))
        return tuple(self._places)

    def add(self, votes: Sequence[RankedVote]) -> None:
        self.know(name for vote in votes for name in (vote.contestant_a, vote.contestant_b))
        start, stop = self._length, self._length + len(votes)
        self._grow(stop)
        whole, part = self._room, slice(start, stop)
        whole.first[part] = [self._places[vote.contestant_a] for vote in votes]
        whole.second[part] = [self._places[vote.contestant_b] for vote in votes]
        whole.winners[part] = [WINNER_CODES[vote.winner] for vote in votes]
        whole.times[part] = [vote.created_at.timestamp() for vote in votes]
        whole.days[part] = np.floor(whole.times[part] / DAY_S)
        whole.ids[part] = [vote.id for vote in votes]
        forfeits = np.flatnonzero([vote.forfeit for vote in votes]) + start
        if forfeits.size:
            self._forfeited = np.concatenate([self._forfeited, forfeits])
        self._length = stop
        if self._described == start:
            known = next((place for place, vote in enumerate(votes) if vote.traits is None), len(votes))
            self._write([vote.traits for vote in votes[:known] if vote.traits is not None])

    def undescribed(self, limit: int) -> list[int]:
        """Ids of the first votes whose texts nobody has looked at."""
        found: list[int] = self._room.ids[self._described : min(self._described + limit, self._length)].tolist()
        return found

    def describe(self, traits: Mapping[int, Traits]) -> None:
        """Takes in what the texts of the first undescribed votes tell; all of `undescribed` must be there."""
        self._write([traits[vote] for vote in self.undescribed(len(traits))])

    def _write(self, traits: Sequence[Traits]) -> None:
        if not traits:
            return
        part = slice(self._described, self._described + len(traits))
        forfeits = _within(self._forfeited, part)
        self._room.categories[part] = [sum(_BITS[each] for each in one.categories) for one in traits]
        a, b = (
            np.array([_counts(style) for style in side]) for side in zip(*((t.a, t.b) for t in traits), strict=True)
        )
        self._room.style[part] = style_differences(RawStyle(FEATURES, a, b))
        # Nobody judged these texts: whoever was late has lost whatever they looked like.
        self._room.style[forfeits] = 0.0
        judged = np.ones(len(traits), dtype=np.bool_)
        judged[forfeits - part.start] = False
        voted = itertools.compress(traits, judged.tolist())
        for category in itertools.chain.from_iterable(one.categories for one in voted):
            self._totals[category] += 1
        self._described += len(traits)

    def _grow(self, length: int) -> None:
        have = len(self._room)
        if length <= have:
            return
        room = _emptied(max(length, 2 * have))
        for old, new in zip(_arrays(self._room), _arrays(room), strict=True):
            new[:have] = old
        # Whoever reads the old arrays may go on: what was in them stays as it was.
        self._room = room


def _within(places: IntArray, part: slice) -> IntArray:
    """Of some places in order those within a part."""
    start, stop = np.searchsorted(places, (part.start, part.stop))
    return places[start:stop]


def _arrays(rows: VoteRows) -> tuple[NDArray[np.generic], ...]:
    return rows.first, rows.second, rows.winners, rows.days, rows.times, rows.ids, rows.categories, rows.style


def _counts(style: Style) -> tuple[int, ...]:
    return style.tokens, style.headers, style.lists, style.bold


def _emptied(room: int) -> VoteRows:
    return VoteRows(
        models=(),
        first=np.zeros(room, dtype=np.int32),
        second=np.zeros(room, dtype=np.int32),
        winners=np.zeros(room, dtype=np.int8),
        days=np.zeros(room, dtype=np.int32),
        times=np.zeros(room),
        ids=np.zeros(room, dtype=np.int64),
        categories=np.zeros(room, dtype=np.int32),
        style=np.zeros((room, len(FEATURES)), dtype=np.float32),
        described=0,
        forfeited=np.zeros(0, dtype=np.int64),
        rule=ForfeitRule.LOSS,
        totals={},
    )
