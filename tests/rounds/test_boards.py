"""When boards of rounds are made, over stores in memory."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest
from tests.rounds.scores import ROUND, a_round, on

from agon.core.errors import NotFound, Unavailable
from agon.core.round_ports import Progress, QuestionScores, RoundLedger, Total
from agon.core.rounds import AnswerStage, Round
from agon.rounds.board_page import decode
from agon.rounds.boards import RoundBoard, RoundBoardReader


@dataclass
class Ledger:
    """Answers of one round, as the ledger tells them."""

    questions: list[QuestionScores] = field(default_factory=list[QuestionScores])
    reads: int = 0

    async def find(self, round_id: UUID) -> Round:
        if round_id != ROUND:
            raise NotFound("no such round", code="round_not_found")
        return a_round(["x", "y"], 40)

    async def progress(self, round_id: UUID) -> Sequence[Progress]:
        return [Progress(name, {AnswerStage.PENDING: 1}) for name in ("x", "y")]

    async def totals(self, round_id: UUID) -> Sequence[Total]:
        self.reads += 1
        found = {name: [each.scores[name] for each in self.questions if name in each.scores] for name in ("x", "y")}
        return [Total(name, len(scores), sum(scores)) for name, scores in found.items() if scores]

    async def scores(self, round_id: UUID) -> Sequence[QuestionScores]:
        return list(self.questions)

    async def scored_rounds(self) -> Mapping[UUID, int]:
        merged = sum(len(each.scores) for each in self.questions)
        return {ROUND: merged} if merged else {}


@dataclass
class Boards:
    """Pages by round, and whether the server is there."""

    pages: dict[UUID, tuple[int, str]] = field(default_factory=dict[UUID, tuple[int, str]])
    means: Mapping[str, float] = field(default_factory=dict[str, float])
    away: bool = False
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def publish(self, round_id: UUID, means: Mapping[str, float], page: str, version: int) -> bool:
        if self.away:
            raise Unavailable("away")
        if version < self.pages.get(round_id, (0, ""))[0]:
            return False
        self.pages[round_id] = (version, page)
        self.means = means
        self.came.set()
        return True

    async def page(self, round_id: UUID) -> str | None:
        return self.pages[round_id][1] if round_id in self.pages else None

    async def ranked(self, round_id: UUID) -> Sequence[tuple[str, float]]:
        return sorted(self.means.items(), key=lambda each: -each[1])

    async def there(self, rounds: Sequence[UUID]) -> Mapping[UUID, int]:
        return {each: self.pages[each][0] for each in rounds if each in self.pages}

    async def changes(self, round_id: UUID) -> AsyncIterator[None]:
        yield


@pytest.fixture
def ledger() -> Ledger:
    return Ledger([on("q1", x=1, y=3), on("q2", x=2)])


@pytest.fixture
def boards() -> Boards:
    return Boards()


@pytest.fixture
def maker(ledger: Ledger, boards: Boards) -> RoundBoard:
    rounds = cast("RoundLedger", cast("Any", ledger))
    return RoundBoard(rounds=rounds, source=ledger, boards=boards, now=lambda: datetime.now(UTC))


@pytest.fixture
def reader(ledger: Ledger, boards: Boards) -> RoundBoardReader:
    rounds = cast("RoundLedger", cast("Any", ledger))
    return RoundBoardReader(rounds=rounds, source=ledger, boards=boards, patience_s=0.3)


async def _until(boards: Boards, version: int) -> None:
    async with asyncio.timeout(10):
        while boards.pages[ROUND][0] < version:
            boards.came.clear()
            await boards.came.wait()


async def test_a_board_is_the_ledgers(maker: RoundBoard, boards: Boards) -> None:
    await maker.publish(ROUND)
    version, page = boards.pages[ROUND]
    assert version == 3
    assert boards.means == {"x": 1.5, "y": 3.0}
    assert [(row.contestant, row.score.value) for row in decode(page).rows] == [("y", 3.0), ("x", 1.5)]


async def test_many_changes_make_few_boards_and_the_last_is_complete(
    maker: RoundBoard, ledger: Ledger, boards: Boards
) -> None:
    for n in range(50):
        ledger.questions.append(on(f"more{n}", x=n))
        await maker.publish(ROUND)
    await _until(boards, 53)
    assert ledger.reads <= 3
    await maker.close()


async def test_what_comes_while_a_board_is_made_is_in_the_next(
    maker: RoundBoard, ledger: Ledger, boards: Boards
) -> None:
    first = asyncio.create_task(maker.publish(ROUND))
    await asyncio.sleep(0)
    ledger.questions.append(on("late", y=1))
    await maker.publish(ROUND)
    await first
    await _until(boards, 4)


async def test_what_is_due_at_the_end_is_made(maker: RoundBoard, ledger: Ledger, boards: Boards) -> None:
    await maker.publish(ROUND)
    ledger.questions.append(on("late", y=1))
    await maker.publish(ROUND)
    await maker.close()
    assert boards.pages[ROUND][0] == 4


async def test_lost_and_stale_boards_are_made_anew(maker: RoundBoard, ledger: Ledger, boards: Boards) -> None:
    assert await maker.rebuild() == 1
    assert await maker.rebuild() == 0
    before = decode(boards.pages[ROUND][1])
    boards.pages.clear()
    assert await maker.rebuild() == 1
    after = decode(boards.pages[ROUND][1])
    assert (after.rows, after.rivals, after.merged) == (before.rows, before.rivals, before.merged)
    ledger.questions.append(on("late", y=1))
    assert await maker.rebuild() == 1
    assert boards.pages[ROUND][0] == 4


async def test_a_server_that_is_away_is_said_or_waited_for(maker: RoundBoard, ledger: Ledger, boards: Boards) -> None:
    await maker.publish(ROUND)
    boards.away = True
    with pytest.raises(Unavailable):
        await maker.make(ROUND)
    ledger.questions.append(on("late", y=1))
    await maker.publish(ROUND)
    await maker.close()
    assert await maker.rebuild() == 0
    boards.away = False
    assert await maker.rebuild() == 0
    await maker.publish(ROUND)
    await _until(boards, 4)
    assert await maker.rebuild() == 0


async def test_a_reader_tells_an_empty_board_from_a_lost_one(
    reader: RoundBoardReader, maker: RoundBoard, ledger: Ledger
) -> None:
    with pytest.raises(NotFound):
        await reader.standings(UUID(int=1))
    with pytest.raises(Unavailable, match="being made"):
        await reader.standings(ROUND)
    await maker.make(ROUND)
    found = await reader.standings(ROUND)
    assert found.merged == 3
    assert await reader.standings(ROUND) is found


async def test_a_reader_waits_a_moment_for_a_board_that_is_being_made(
    reader: RoundBoardReader, maker: RoundBoard
) -> None:
    asked = asyncio.create_task(reader.standings(ROUND))
    await asyncio.sleep(0.02)
    await maker.make(ROUND)
    assert (await asked).merged == 3


async def test_a_board_before_the_first_score_has_its_contestants(reader: RoundBoardReader, ledger: Ledger) -> None:
    ledger.questions.clear()
    found = await reader.standings(ROUND)
    assert (found.made_at, [row.contestant for row in found.rows]) == (None, ["x", "y"])
    assert found.answers["x"].pending == 1
    assert found.answers["x"].missing == 39
