"""Boards and their companions as they are published: numbers with their meaning, ready to be read."""

from dataclasses import dataclass
from enum import StrEnum

from agon.core.errors import InvalidInput
from agon.core.traits import Category


class ForfeitRule(StrEnum):
    """What a battle amounts to that a side has lost by not answering in time."""

    LOSS = "loss"
    """A win of the other side."""
    VOID = "void"
    """Nothing; the board tells it and does not count it."""


class Window(StrEnum):
    """Which votes count by their time: whole UTC days, today being the last."""

    ALL = "all"
    MONTH = "30d"
    WEEK = "7d"

    @property
    def days(self) -> int | None:
        return {Window.ALL: None, Window.MONTH: 30, Window.WEEK: 7}[self]


@dataclass(frozen=True, slots=True)
class View:
    """One way to look at the votes. The plain one is the live board itself."""

    window: Window = Window.ALL
    category: Category | None = None
    """`None` for every vote."""
    style: bool = False
    """Whether the style of answers is taken out of the ratings."""

    @property
    def plain(self) -> bool:
        return self == View()


class PageKind(StrEnum):
    BOARD = "board"
    MATRIX = "matrix"
    HISTORY = "history"


@dataclass(frozen=True, slots=True)
class Page:
    """What can be asked for, and is kept up to date for as long as somebody asks."""

    kind: PageKind
    view: View

    @property
    def key(self) -> str:
        """The page's name among all others; `main` for the live board."""
        if self.kind is PageKind.BOARD and self.view.plain:
            return "main"
        category = self.view.category or "all"
        return f"{self.kind}:{self.view.window}:{category}:{'style' if self.view.style else 'plain'}"

    @classmethod
    def of_key(cls, key: str) -> "Page":
        """The page of that name. Raises `InvalidInput` if there is none."""
        if key == "main":
            return cls(PageKind.BOARD, View())
        try:
            kind, window, category, style = key.split(":")
            chosen = None if category == "all" else Category(category)
            return cls(PageKind(kind), View(Window(window), chosen, {"style": True, "plain": False}[style]))
        except (ValueError, KeyError):
            raise InvalidInput(f"{key!r} names no page of a board.") from None


@dataclass(frozen=True, slots=True)
class BoardNote:
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class BoardRow:
    model: str
    rating: float | None
    """Rating points (scale 400, base 10, mean 1000); `None` where the votes do not determine it."""
    low: float | None
    high: float | None
    rank: int | None
    battles: int
    """Votes, and forfeits where they count."""
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    """Share of battles won, a tie and a both-bad counting half."""
    elo: float | None
    """Online Elo over every vote; `None` before the first battle, and in any view but the plain one."""
    ttft_median_ms: float | None
    """Median time to first token over the last thousand answers in battles."""
    notes: tuple[BoardNote, ...] = ()
    forfeits: int = 0
    """Battles that it has lost by not answering in time; among the losses where they count."""


@dataclass(frozen=True, slots=True)
class CategoryVotes:
    category: Category
    votes: int


@dataclass(frozen=True, slots=True)
class StyleWeight:
    """How much one feature sways votes, in points: the advantage of the only answer that has any of it."""

    feature: str
    points: float
    se: float


@dataclass(frozen=True, slots=True)
class Board:
    name: str
    votes: int
    """Votes of this view, without forfeits."""
    updated_at: str
    """UTC, ISO 8601."""
    min_battles: int
    rows: tuple[BoardRow, ...]
    view: View = View()
    counted: int = 0
    """Votes and forfeits of the ledger when this was made; a page never replaces one that had seen more."""
    categories: tuple[CategoryVotes, ...] = ()
    """Votes of each category within the window, the largest first."""
    style: tuple[StyleWeight, ...] = ()
    notes: tuple[BoardNote, ...] = ()
    """What to know about the board as a whole."""
    forfeits: int = 0
    """Forfeits of this view, counted or not."""

    @property
    def page(self) -> Page:
        return Page(PageKind.BOARD, self.view)


Cells = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Win rates of each model, by row, against each other one, in the order of the board; `None` where none is known.

    A tie and a both-bad count as half. The averages give every opponent the same weight.
    """

    name: str
    view: View
    votes: int
    counted: int
    updated_at: str | None
    models: tuple[str, ...]
    battles: tuple[tuple[int, ...], ...]
    observed: Cells
    predicted: Cells
    """What the ratings say."""
    average_observed: tuple[float | None, ...]
    average_predicted: tuple[float | None, ...]

    @classmethod
    def empty(cls, name: str, view: View) -> "Matrix":
        """That of an arena without votes."""
        return cls(name, view, 0, 0, None, (), (), (), (), (), ())

    @property
    def page(self) -> Page:
        return Page(PageKind.MATRIX, self.view)


@dataclass(frozen=True, slots=True)
class Series:
    """One model through time; `None` on days on which the votes did not determine its rating."""

    model: str
    ratings: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Ratings at the end of UTC days, each from the votes of the window that ends then; models as on the board."""

    name: str
    view: View
    counted: int
    updated_at: str | None
    days: tuple[str, ...]
    """ISO 8601 dates; the last may not be over yet."""
    votes: tuple[int, ...]
    """Votes of each day's window."""
    series: tuple[Series, ...]

    @classmethod
    def empty(cls, name: str, view: View) -> "History":
        """That of an arena without votes."""
        return cls(name, view, 0, None, (), (), ())

    @property
    def page(self) -> Page:
        return Page(PageKind.HISTORY, self.view)


Published = Board | Matrix | History
