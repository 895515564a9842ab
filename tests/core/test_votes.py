"""The table of ballots: every combination of facts and repetition, against rules written down a second time."""

from itertools import product
from uuid import UUID

import pytest
from tests.core.builders import PERSON, STRANGER, vote

from agon.core.errors import AgonError
from agon.core.votes import Ballot, BattleFacts, Vote, Winner, judge

KEYS = (None, "one", "two")
VOTES = (None, *(vote(winner, key) for winner in (Winner.A, Winner.TIE) for key in KEYS))


def outcome(ballot: Ballot, facts: BattleFacts | None) -> Vote | str | None:
    try:
        return judge(ballot, facts)
    except AgonError as refused:
        return refused.code


def expected(ballot: Ballot, facts: BattleFacts) -> Vote | str | None:
    if facts.person != ballot.person:
        return "battle_not_found"
    if not facts.is_battle:
        return "not_a_battle"
    if facts.vote is not None:
        same_winner = facts.vote.winner is ballot.winner
        match (ballot.receipt == facts.vote.receipt, ballot.idempotency_key == facts.vote.idempotency_key):
            case (True, _):
                return facts.vote
            case (_, False):
                return "already_voted"
            case _ if same_winner:
                return facts.vote
            case _:
                return "already_voted" if ballot.idempotency_key is None else "idempotency_mismatch"
    if facts.void:
        return "battle_void"
    if facts.forfeited:
        return "battle_forfeited"
    return None if facts.all_done else "answers_incomplete"


@pytest.mark.parametrize("person", [PERSON, STRANGER])
@pytest.mark.parametrize("is_battle", [True, False])
def test_every_combination_is_judged_by_the_rules(person: UUID, is_battle: bool) -> None:
    seen: set[str] = set()
    for void, forfeited, all_done, earlier, winner, key, receipt in product(
        (True, False), (True, False), (True, False), VOTES, (Winner.A, Winner.TIE), KEYS, (5, 6)
    ):
        ballot = Ballot(UUID(int=9), PERSON, winner, UUID(int=receipt), key)
        facts = BattleFacts(person, is_battle, void, all_done, earlier, forfeited)
        assert outcome(ballot, facts) == expected(ballot, facts), (ballot, facts)
        seen.add(str(outcome(ballot, facts)))
    assert len(seen) > 1 or person is STRANGER or not is_battle


def test_a_battle_that_is_not_there_is_told_as_one_of_somebody_else() -> None:
    ballot = Ballot(UUID(int=9), PERSON, Winner.A, UUID(int=6))
    assert outcome(ballot, None) == outcome(ballot, BattleFacts(STRANGER, True, False, True, None))


def test_a_repeated_ballot_gets_the_first_receipt() -> None:
    first = vote(Winner.B, "key", receipt=5)
    facts = BattleFacts(PERSON, True, False, True, first)
    assert judge(Ballot(UUID(int=9), PERSON, Winner.B, UUID(int=77), "key"), facts) is first
