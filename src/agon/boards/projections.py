"""Counts of views that follow the votes: each vote is counted once a view, and taken away once if its day is over."""

from dataclasses import dataclass, field, replace

import numpy as np

from agon.boards.columns import VoteRows
from agon.core.board import View
from agon.ranking.arrays import Integers
from agon.ranking.bradley_terry import BradleyTerry
from agon.ranking.history import RollingCounts
from agon.ranking.outcomes import PairCounts


@dataclass(slots=True, eq=False)
class _Followed:
    """One view's counts, up to a row."""

    seen: int = 0
    counts: PairCounts = field(default_factory=PairCounts.empty)
    rolling: RollingCounts | None = None
    fit: BradleyTerry | None = None


class Projections:
    """The counts and the last fit of each view in use. Style is no matter here: it needs rows, not counts."""

    def __init__(self) -> None:
        self._views: dict[View, _Followed] = {}

    def counts(self, rows: VoteRows, view: View, today: int) -> PairCounts:
        """Counts of a view among all models of the rows; equal to counting anew. `rows` only ever grow."""
        followed = self._followed(view)
        fresh = rows.chosen(replace(view, style=False), today, since=followed.seen)
        followed.seen = rows.reach(replace(view, style=False))
        if view.window.days is None:
            if fresh.size:
                columns = rows.first[fresh], rows.second[fresh], rows.winners[fresh]
                followed.counts = followed.counts.with_models(rows.models).with_votes(*columns)
        else:
            followed.rolling = followed.rolling or RollingCounts(view.window.days)
            _roll(followed.rolling, rows, fresh, today)
            followed.counts = followed.rolling.counts
        followed.counts = followed.counts.with_models(rows.models)
        return followed.counts

    def last_fit(self, view: View) -> BradleyTerry | None:
        return self._followed(view).fit

    def keep_fit(self, view: View, fit: BradleyTerry) -> None:
        self._followed(view).fit = fit

    def only(self, views: set[View]) -> None:
        """Forget all other views."""
        plain = {replace(view, style=False) for view in views}
        self._views = {view: followed for view, followed in self._views.items() if view in plain}

    def _followed(self, view: View) -> _Followed:
        return self._views.setdefault(replace(view, style=False), _Followed())


def _roll(rolling: RollingCounts, rows: VoteRows, fresh: Integers, today: int) -> None:
    rolling.advance(today)
    for day in np.unique(rows.days[fresh]).tolist():
        that_day = fresh[rows.days[fresh] == day]
        columns = rows.first[that_day], rows.second[that_day], rows.winners[that_day]
        rolling.add(day, PairCounts.from_codes(rows.models, *columns))
