"""Reads boards for those who ask, and has pages made that nobody looked at lately."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from agon.core.board import Board, History, Matrix, Page, PageKind, View
from agon.core.board_ports import BoardStore
from agon.core.errors import Unavailable

_LOOK_S = 0.05
_LOOKS = 100
"""Patience for a page that is being made: 5 s."""

Found = TypeVar("Found")


class BoardReader:
    """Every method gives `None` where no vote was ever counted, and raises `Unavailable` if a page is not made."""

    def __init__(self, boards: BoardStore) -> None:
        self._boards = boards

    async def board(self, view: View) -> Board | None:
        if view.plain:
            return await self._boards.board(view)
        return await self._made(Page(PageKind.BOARD, view), self._boards.board)

    async def matrix(self, view: View) -> Matrix | None:
        return await self._made(Page(PageKind.MATRIX, view), self._boards.matrix)

    async def history(self, view: View) -> History | None:
        return await self._made(Page(PageKind.HISTORY, view), self._boards.history)

    async def boards(self, view: View) -> AsyncGenerator[Board]:
        """The board now and at each change; it is kept for as long as somebody follows it."""
        page = Page(PageKind.BOARD, view)
        if not view.plain:
            await self._boards.want(page)
        async for board in self._boards.boards(view):
            yield board
            if not view.plain:
                await self._boards.want(page)

    async def _made(self, page: Page, read: Callable[[View], Awaitable[Found | None]]) -> Found | None:
        await self._boards.want(page)
        if await self._boards.board(View()) is None:
            return None
        for _ in range(_LOOKS):
            if (found := await read(page.view)) is not None:
                return found
            await asyncio.sleep(_LOOK_S)
        raise Unavailable("This part of the board is still being counted; ask again soon.", code="board_not_made")
