"""Measuring scorers on votes: what was measured stays, and a scorer that is away disturbs no other."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

from agon.core.errors import InvalidInput, Unavailable
from agon.core.round_ports import RoundLedger
from agon.core.rounds import Round, RoundContestant
from agon.core.scoring import Sample, Scorer
from agon.core.votes import Winner
from agon.rounds.agreement import AgreementParts, Agreements, decode, encode
from agon.rounds.verdicts import Judging
from agon.scoring.agreement import HumanPair
from agon.scoring.plain import PlainScorer


class Pairs:
    def __init__(self, pairs: Sequence[HumanPair]) -> None:
        self.pairs = list(pairs)

    async def newest(self, limit: int) -> Sequence[HumanPair]:
        return self.pairs[::-1][:limit]


class Pages:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def pages(self) -> Mapping[str, str]:
        return self.texts

    async def put(self, scorer: str, page: str) -> None:
        self.texts[scorer] = page

    async def mine(self, seconds: float) -> bool:
        return seconds > 0


class Book:
    """Scorers by name; `asked` are the answers that each has scored."""

    def __init__(self) -> None:
        self.asked: dict[str, list[str]] = {}
        self.revision = "1"

    async def named(self, name: str) -> Scorer:
        if name == "away":
            raise Unavailable("It is away.")
        if name == "broken":
            raise InvalidInput("It is broken.", code="scorer_broken")
        asked = self.asked.setdefault(name, [])

        def rate(sample: Sample) -> float | None:
            asked.append(sample.answer)
            if "?" in sample.answer:
                return None
            size = float(len(sample.answer))
            return size if sample.reference is None else 0.5 + (size - len(sample.reference)) / 100

        return PlainScorer(name, rate, revision=self.revision, compares=name.startswith("judge:"))


def unheard(scorer: str, samples: int, seconds: float) -> None:
    del scorer, samples, seconds


class Ledger:
    def __init__(self, *scorers: str) -> None:
        self._scorers = scorers

    async def latest(self, *, limit: int, before: Any = None) -> Sequence[Round]:
        del before
        contestants = (RoundContestant("x", made_here=False),)
        return [Round(uuid4(), "r", scorer, contestants, 1) for scorer in self._scorers][:limit]


class World:
    def __init__(self, pairs: Sequence[HumanPair], *scorers: str, battles: int = 100) -> None:
        self.pairs, self.pages, self.book = Pairs(pairs), Pages(), Book()
        parts = AgreementParts(
            pairs=self.pairs,
            scorers=self.book,
            judging=Judging(None, clock=lambda: 0.0, timed=unheard),
            pages=self.pages,
            rounds=cast("RoundLedger", Ledger(*scorers)),
            always=("length",),
            now=lambda: datetime(2026, 1, 31, tzinfo=UTC),
        )
        self.agreements = Agreements(parts, battles=battles)

    def found(self, name: str) -> Any:
        page = decode(self.pages.texts[name])
        assert page is not None
        return page


def pair(number: int, a: str, b: str, winner: Winner = Winner.A) -> HumanPair:
    return HumanPair(f"Prompt {number}", a, b, winner)


PAIRS = [pair(n, "long answer", "short", Winner.A if n % 4 else Winner.B) for n in range(40)]


async def test_scorers_are_measured_on_what_people_preferred() -> None:
    world = World(PAIRS, "judge:x", "length")
    assert await world.agreements.look() == 80
    for name in ("length", "judge:x"):
        found = world.found(name).agreement
        assert (found.pairs, found.decided, found.right.share) == (40, 40, 0.75)
    assert len(world.book.asked["length"]) == 80
    assert len(world.book.asked["judge:x"]) == 40
    assert world.found("length").made_at == "2026-01-31T00:00:00Z"


async def test_only_new_votes_are_scored() -> None:
    world = World(PAIRS)
    await world.agreements.look()
    assert await world.agreements.look() == 0
    world.pairs.pairs.append(pair(99, "why?", "because"))
    assert await world.agreements.look() == 1
    assert (world.found("length").agreement.pairs, world.found("length").agreement.unscored) == (41, 1)
    assert len(world.book.asked["length"]) == 82


async def test_old_votes_make_room_for_new_ones() -> None:
    world = World(PAIRS, battles=10)
    await world.agreements.look()
    world.pairs.pairs += [pair(n, "long answer", "short") for n in range(100, 110)]
    assert await world.agreements.look() == 10
    assert world.found("length").agreement.right.share == 1.0
    world.pairs.pairs = world.pairs.pairs[-5:]
    assert await world.agreements.look() == 0
    assert world.found("length").agreement.pairs == 5


async def test_another_revision_is_measured_anew() -> None:
    world = World(PAIRS)
    await world.agreements.look()
    world.book.revision = "2"
    assert await world.agreements.look() == 40
    assert world.found("length").revision == "2"


async def test_scorers_that_are_away_or_broken_disturb_no_other() -> None:
    world = World(PAIRS, "away", "broken", "judge:x")
    assert await world.agreements.look() == 80
    assert set(world.pages.texts) == {"length", "judge:x"}


async def test_without_votes_nothing_is_loaded() -> None:
    world = World([], "judge:x")
    assert await world.agreements.look() == 0
    assert world.book.asked == {}


async def test_pages_come_back_as_they_were_and_foreign_ones_are_none() -> None:
    world = World(PAIRS)
    await world.agreements.look()
    page = world.found("length")
    assert decode(encode(page)) == page
    assert [decode(text) for text in ("", "[]", "{}", '{"format": 0}', '{"format": 1, "agreement": {}}')] == [None] * 5
