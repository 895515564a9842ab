"""What an executor says of what it holds: absolute, never negative, and gone when the turn is."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.core.contestants import EngineState
from agon.core.conversation import Side
from agon.core.placement import AnswerRef, Beat, Cost, Job, Placement, ReplicaReport
from agon.dispatch.holdings import Holdings

HERE = ReplicaReport("north@one", "north", EngineState.READY, capacity=2)


def ref(number: int) -> AnswerRef:
    return AnswerRef(UUID(int=number), 1, Side.A, "north")


def placed(number: int, replica: str = HERE.id, *, holds_prefix: bool = False) -> Placement:
    return Placement(Job(ref(number), Cost(prompt=30, output=40, cached=20)), replica, "one", holds_prefix)


def left(beat: Beat, number: int) -> tuple[str, int, int]:
    return beat.held[ref(number)]


def test_what_is_held_is_stated_until_it_ends() -> None:
    holdings = Holdings()
    holdings.add(placed(1))
    holdings.add(placed(2, holds_prefix=True))
    beat = holdings.beat([HERE], 0.0)
    assert beat.held == {ref(1): (HERE.id, 30, 40), ref(2): (HERE.id, 10, 40)}
    assert (holdings.turns_on(HERE.id), holdings.tokens_on(HERE.id)) == (2, 120)
    holdings.ended(ref(1), 1.0)
    holdings.ended(ref(1), 1.0)
    assert set(holdings.beat([], 1.0).held) == {ref(2)}
    assert ref(2) in holdings
    assert ref(1) not in holdings


def test_the_first_token_takes_the_prompt_off() -> None:
    holdings = Holdings()
    holdings.add(placed(1))
    holdings.wrote(ref(1), 1)
    holdings.spoke(ref(1), 1.0)
    assert left(holdings.beat([], 1.0), 1) == (HERE.id, 0, 39)


def test_an_answer_longer_than_expected_has_the_more_to_come_the_longer_it_is() -> None:
    holdings = Holdings()
    holdings.add(placed(1))
    rest: list[int] = []
    for _ in range(10):
        holdings.wrote(ref(1), 40)
        rest.append(left(holdings.beat([], 0.0), 1)[2])
    assert rest == sorted(rest)
    assert rest[-1] == 100
    holdings.bound(ref(1), 410)
    assert left(holdings.beat([], 0.0), 1)[2] == 10


def test_a_beat_carries_what_was_written_since_the_last() -> None:
    holdings = Holdings()
    for number in (1, 2):
        holdings.add(placed(number))
        holdings.spoke(ref(number), 10.0)
        holdings.wrote(ref(number), 8)
    holdings.ended(ref(1), 10.5)
    report = holdings.beat([HERE], 11.0).replicas[0]
    assert (report.tokens, report.stream_s) == (16, pytest.approx(1.5))
    assert report.capacity == 2
    holdings.wrote(ref(2), 4)
    report = holdings.beat([HERE], 11.4).replicas[0]
    assert (report.tokens, report.stream_s) == (4, pytest.approx(0.4))
    holdings.ended(ref(2), 11.4)
    assert holdings.beat([HERE], 20.0) == Beat((HERE,), {})


def test_a_turn_that_moves_to_another_replica_begins_anew_there() -> None:
    holdings = Holdings()
    holdings.add(placed(1))
    holdings.spoke(ref(1), 0.0)
    holdings.add(placed(1))
    assert left(holdings.beat([], 0.0), 1) == (HERE.id, 0, 40)
    holdings.add(placed(1, "north@two"))
    assert left(holdings.beat([], 0.0), 1) == ("north@two", 30, 40)


steps = st.tuples(st.sampled_from(["add", "spoke", "wrote", "ended", "bound"]), st.integers(1, 4), st.integers(0, 300))


@given(st.lists(steps, max_size=60))
def test_whatever_happens_in_whatever_order_nothing_is_negative_and_nothing_stays(
    script: list[tuple[str, int, int]],
) -> None:
    holdings, now_s = Holdings(), 0.0
    for what, number, amount in script:
        now_s += amount / 100
        match what:
            case "add":
                holdings.add(placed(number))
            case "spoke":
                holdings.spoke(ref(number), now_s)
            case "wrote":
                holdings.wrote(ref(number), amount)
            case "bound":
                holdings.bound(ref(number), amount)
            case _:
                holdings.ended(ref(number), now_s)
        beat = holdings.beat([HERE], now_s)
        assert all(prompt >= 0 and rest >= 0 for _, prompt, rest in beat.held.values())
        assert beat.replicas[0].stream_s <= 4 * amount / 100 + 1e-9
    for number in range(1, 5):
        holdings.ended(ref(number), now_s)
    assert len(holdings) == 0
    assert holdings.tokens_on(HERE.id) == 0
