"""What strict rounds cannot take is refused in the process, and what is taken is taken once."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from agon.core.errors import AgonError, NotFound, Unavailable
from agon.core.round_ports import RoundLedger, Submission, Submitted
from agon.core.rounds import Question, Round, answer_id
from agon.rounds.bank_copies import BankCopies
from agon.rounds.refusals import unknown_round
from agon.rounds.submitting import Submitting

BANK = [Question(f"q{n}", (f"What is {n}?",)) for n in range(12_000)]
BANK.append(Question("turns", ("One.", "Two.")))
BANK.append(Question("again", ("What is 0?",)))


class CountingLedger:
    """Rounds of one bank, and how often it was asked."""

    def __init__(self, bank: Sequence[Question] = BANK) -> None:
        self.bank = bank
        self.strict: dict[UUID, bool] = {}
        self.reads = 0
        self.written: list[Submission] = []
        self.away = False

    def add(self, *, strict: bool = True) -> UUID:
        made = uuid4()
        self.strict[made] = strict
        return made

    async def find(self, round_id: UUID) -> Round:
        self.reads += 1
        await asyncio.sleep(0)
        if self.away:
            raise Unavailable("away", code="ledger_unavailable")
        if round_id not in self.strict:
            raise unknown_round()
        return Round(round_id, "r", "format", (), len(self.bank), self.strict[round_id])

    async def questions(self, round_id: UUID, *, skip: int = 0, limit: int | None = None) -> Sequence[Question]:
        del round_id
        self.reads += 1
        await asyncio.sleep(0)
        return self.bank[skip : None if limit is None else skip + limit]

    async def submit(self, submissions: Sequence[Submission]) -> Sequence[Submitted | AgonError]:
        if self.away:
            return [Unavailable("away", code="ledger_unavailable") for _ in submissions]
        repeated = [one in self.written for one in submissions]
        self.written += submissions
        return [
            Submitted(answer_id(one.round, one.contestant, one.question), again)
            for one, again in zip(submissions, repeated, strict=True)
        ]


class Desk:
    def __init__(self, ledger: CountingLedger, **bounds: int) -> None:
        self.ledger = ledger
        self.told = 0
        port = cast("RoundLedger", cast("Any", ledger))
        self.copies = BankCopies(port, **bounds)
        self.submitting = Submitting(port, self.copies, answers_came=self._tell)

    def _tell(self) -> None:
        self.told += 1

    async def codes(self, *sent: object) -> list[str]:
        results = await self.submitting.submit(sent)
        return [one.code if isinstance(one, AgonError) else "repeated" if one.repeated else "taken" for one in results]


def sent(round_id: UUID, **fields: object) -> dict[str, object]:
    return {"round_id": str(round_id), "model": "m", "text": "x", **fields}


async def test_questions_are_found_by_id_and_by_text() -> None:
    desk = Desk(CountingLedger())
    made = desk.ledger.add()
    answers = [sent(made, question="q7"), sent(made, prompt="What is 0?"), sent(made, turns=["One.", "Two."])]
    assert await desk.codes(*answers) == ["taken"] * 3
    assert [one.question for one in desk.ledger.written] == ["q7", "q0", "turns"]


async def test_a_flood_of_made_up_prompts_never_reaches_the_ledger() -> None:
    desk = Desk(CountingLedger())
    made = desk.ledger.add()
    await desk.codes(sent(made, question="q7"))
    reads, told = desk.ledger.reads, desk.told
    flood = [sent(made, prompt=f"Made up {n}") for n in range(5_000)]
    assert set(await desk.codes(*flood)) == {"question_unknown"}
    assert set(await desk.codes(*[sent(made, question=f"none{n}") for n in range(5_000)])) == {"question_unknown"}
    assert (desk.ledger.reads, len(desk.ledger.written), desk.told) == (reads, 1, told)


async def test_a_bank_is_read_once_however_many_wait() -> None:
    desk = Desk(CountingLedger())
    made = desk.ledger.add()
    await asyncio.gather(*(desk.copies.of(made) for _ in range(100)))
    await desk.copies.of(made)
    # The round, and three pages of its bank.
    assert desk.ledger.reads == 4


async def test_whoever_gives_up_leaves_the_bank_to_the_others() -> None:
    desk = Desk(CountingLedger())
    made = desk.ledger.add()
    first, second = (asyncio.create_task(desk.copies.of(made)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).strict
    assert desk.ledger.reads == 4


async def test_copies_are_bounded_and_the_last_used_stay() -> None:
    desk = Desk(CountingLedger(BANK[:10]), most_rounds=3)
    rounds = [desk.ledger.add() for _ in range(4)]
    for made in (*rounds[:3], rounds[0], rounds[3]):
        await desk.copies.of(made)
    reads = desk.ledger.reads
    for made in (rounds[0], rounds[2], rounds[3]):
        await desk.copies.of(made)
    assert desk.ledger.reads == reads
    await desk.copies.of(rounds[1])
    assert desk.ledger.reads > reads


async def test_copies_are_bounded_by_their_questions() -> None:
    desk = Desk(CountingLedger(BANK[:10]), most_questions=25)
    rounds = [desk.ledger.add() for _ in range(3)]
    for made in rounds:
        await desk.copies.of(made)
    reads = desk.ledger.reads
    await desk.copies.of(rounds[1])
    assert desk.ledger.reads == reads
    await desk.copies.of(rounds[0])
    assert desk.ledger.reads > reads


async def test_one_bank_larger_than_the_bound_is_still_kept() -> None:
    desk = Desk(CountingLedger(BANK[:10]), most_questions=5)
    made = desk.ledger.add()
    await desk.copies.of(made)
    reads = desk.ledger.reads
    await desk.copies.of(made)
    assert desk.ledger.reads == reads


async def test_of_an_open_round_the_ledger_decides() -> None:
    desk = Desk(CountingLedger())
    made = desk.ledger.add(strict=False)
    assert await desk.codes(sent(made, prompt="Anything"), sent(made, question="x")) == ["taken", "taken"]
    assert desk.ledger.written[0].turns == ("Anything",)
    # Its bank was not read.
    assert desk.ledger.reads == 1


async def test_a_round_that_is_not_there_is_not_remembered() -> None:
    desk = Desk(CountingLedger())
    later = uuid4()
    assert await desk.codes(sent(later, question="q1")) == ["round_not_found"]
    desk.ledger.strict[later] = True
    assert await desk.codes(sent(later, question="q1")) == ["taken"]


async def test_only_news_is_told() -> None:
    desk = Desk(CountingLedger())
    made = desk.ledger.add()
    assert await desk.codes(sent(made, question="q1"), "nothing") == ["taken", "invalid_input"]
    assert desk.told == 1
    assert await desk.codes(sent(made, question="q1")) == ["repeated"]
    assert desk.told == 1


async def test_a_ledger_that_is_away_is_said_once_for_all() -> None:
    desk = Desk(CountingLedger())
    made = desk.ledger.add()
    await desk.copies.of(made)
    desk.ledger.away = True
    with pytest.raises(Unavailable):
        await desk.codes(sent(made, question="q1"), sent(uuid4(), question="q1"))
    assert await desk.codes(sent(made, question="q1"), sent(made, question="no")) == [
        "ledger_unavailable",
        "question_unknown",
    ]
    desk.ledger.away = False
    with pytest.raises(NotFound):
        await desk.copies.of(uuid4())
