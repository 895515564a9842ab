"""Keeps the pages that somebody looks at: other windows and categories, style taken out, matrices, histories."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agon.boards.columns import VoteRows
from agon.boards.live import LiveBoard, day_of, written
from agon.boards.pages import Setting, make_page
from agon.boards.projections import Projections
from agon.core.board import Page, PageKind
from agon.core.board_ports import BoardStore, ExportedTurn, VoteSource
from agon.core.conversation import Side
from agon.core.traits import Traits, traits_of

_TEXTS_AT_ONCE = 200
_MAX_AGE = timedelta(seconds=10)
_REST = {
    PageKind.BOARD: timedelta(seconds=0.5),
    PageKind.MATRIX: timedelta(seconds=2),
    PageKind.HISTORY: timedelta(seconds=3),
}
"""How long a page stands at least before the votes move it again."""
_REST_PER_WORK = 20
"""A page that takes long to make is made so much more seldom: it uses at most a twentieth of one processor."""


@dataclass(frozen=True, slots=True)
class _Made:
    """When a page was made, from what, and from when on it may be made anew."""

    at: datetime
    seen: tuple[int, int]
    again: datetime


class PageKeeper:
    """One call at a time. What is heavy runs in a thread, so that the live board never waits for it."""

    def __init__(self, *, live: LiveBoard, votes: VoteSource, boards: BoardStore, now: Callable[[], datetime]) -> None:
        self._live = live
        self._source = votes
        self._boards = boards
        self._now = now
        self._projections = Projections()
        self._made: dict[Page, _Made] = {}

    async def read_texts(self) -> bool:
        """Look at the texts of the first votes that nobody has looked at; false if there are no more."""
        missing = self._live.columns.undescribed(_TEXTS_AT_ONCE)
        if missing:
            traits = await asyncio.to_thread(_told, await self._source.dialogues(missing))
            await self._source.keep_traits(traits)
            self._live.columns.describe(traits)
        return len(missing) == _TEXTS_AT_ONCE

    async def keep(self) -> None:
        """Make those of the wanted pages that are missing or that the votes have moved."""
        wanted = await self._boards.wanted()
        self._made = {page: made for page, made in self._made.items() if page in wanted}
        self._projections.only({page.view for page in wanted})
        for page, there in wanted.items():
            setting, rows = self._live.setting, self._live.columns.rows()
            if setting is not None and self._is_due(page, rows, there=there):
                await self._make(page, rows, setting)

    def _is_due(self, page: Page, rows: VoteRows, *, there: bool) -> bool:
        made, now = self._made.get(page), self._now()
        if made is None or not there:
            return True
        old = now - made.at > _MAX_AGE
        return now >= made.again and (old or made.seen != _seen(page, rows) or day_of(made.at) != day_of(now))

    async def _make(self, page: Page, rows: VoteRows, setting: Setting) -> None:
        begun = self._now()
        fresh = replace(setting, updated_at=written(begun), today=day_of(begun))
        made = await asyncio.to_thread(make_page, page, rows, self._projections, fresh)
        done = self._now()
        rest = max(_REST[page.kind], _REST_PER_WORK * (done - begun))
        self._made[page] = _Made(begun, _seen(page, rows), done + rest)
        await self._boards.publish(made)


def _seen(page: Page, rows: VoteRows) -> tuple[int, int]:
    return rows.reach(page.view), len(rows.models)


def _told(dialogues: Mapping[int, Sequence[ExportedTurn]]) -> dict[int, Traits]:
    return {
        vote: traits_of(
            [turn.prompt for turn in turns],
            [turn.answers[Side.A] for turn in turns],
            [turn.answers[Side.B] for turn in turns],
        )
        for vote, turns in dialogues.items()
    }
