"""What boards need from the outside. The contract of `ports` holds for these, too."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from agon.core.board import Board, History, Matrix, Page, Published, View
from agon.core.conversation import Side
from agon.core.traits import Traits
from agon.core.votes import Winner


@dataclass(frozen=True, slots=True)
class RankedVote:
    """What decided a battle: a vote, or a forfeit, which the side that answered has won."""

    id: int
    contestant_a: str
    contestant_b: str
    winner: Winner
    created_at: datetime
    traits: Traits | None = None
    """`None` until somebody has looked at the texts, by the present rules."""
    forfeit: bool = False


@dataclass(frozen=True, slots=True)
class VotePage:
    votes: Sequence[RankedVote]
    """Of bounded number, in order of (created_at, id); from page to page in order of commit."""
    cursor: str
    """Opaque; every vote that was committed after this page was read comes after it."""
    more: bool = False
    """Whether there was more to read than a page holds."""


class VoteSource(Protocol):
    async def votes_after(self, cursor: str | None) -> VotePage:
        """The next votes and forfeits, from the first on without a cursor; no one is left out, and none comes twice."""
        ...

    async def ttft_medians_ms(self) -> Mapping[str, float]:
        """Median time to first token by contestant, over the last thousand battle answers of each."""
        ...

    async def dialogues(self, votes: Sequence[int]) -> Mapping[int, "Sequence[ExportedTurn]"]:
        """The turns of the battles behind votes and forfeits, by their ids."""
        ...

    async def keep_traits(self, traits: Mapping[int, Traits]) -> None:
        """Write what the texts tell, by the vote's id, over what older rules told."""
        ...


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    prompt: str
    answers: Mapping[Side, str]


@dataclass(frozen=True, slots=True)
class ExportedVote:
    """A vote or a forfeit with its battle. `turns` is empty where dialogues were not asked for."""

    conversation: UUID
    person: UUID
    """Whose battle it was."""
    contestants: Mapping[Side, str]
    winner: Winner
    created_at: datetime
    turns: Sequence[ExportedTurn]
    forfeit: bool = False


class VoteArchive(Protocol):
    def every_vote(self, *, dialogues: bool) -> AsyncGenerator[ExportedVote]:
        """All votes and forfeits of one moment in order of (created_at, id), in a transaction while they are read."""
        ...


class BoardStore(Protocol):
    async def publish(self, published: Published) -> bool:
        """Put the page in place and tell the watchers, unless one that had seen more votes is there.

        The live board stays; any other page is forgotten some seconds after nobody wants it any longer.
        """
        ...

    async def board(self, view: View) -> Board | None: ...

    async def matrix(self, view: View) -> Matrix | None: ...

    async def history(self, view: View) -> History | None: ...

    def boards(self, view: View) -> AsyncIterator[Board]:
        """The board each time it changes, and now and then without a change; the present one first, if there is one."""
        ...

    async def want(self, page: Page) -> None:
        """Have a page kept for the next minute; if it is not there, whoever keeps pages is woken."""
        ...

    async def wanted(self) -> Mapping[Page, bool]:
        """What is wanted now besides the live board, and whether it is there. Those that are there last on."""
        ...

    def wants(self) -> AsyncIterator[None]:
        """Each time something is wanted that is not there, and now and then."""
        ...
