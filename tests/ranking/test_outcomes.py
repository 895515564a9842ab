import numpy as np
import pytest

from agon.core.errors import InvalidInput
from agon.core.votes import Winner
from agon.ranking.outcomes import WINNER_CODES, PairCounts


def test_winners_have_codes_by_name() -> None:
    assert [WINNER_CODES[Winner(word)] for word in ("a", "b", "tie", "both_bad")] == [0, 1, 2, 3]


def test_each_outcome_lands_in_its_table() -> None:
    counts = PairCounts.from_codes(("x", "y", "z"), [0, 1, 2, 0, 1], [1, 0, 1, 2, 2], [0, 0, 1, 2, 3])
    assert counts.wins.tolist() == [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
    assert counts.ties.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert counts.both_bad.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert counts.votes() == 5
    assert counts.score().sum() == 5.0


def test_repeats_count_as_that_many_votes() -> None:
    grouped = PairCounts.from_codes(("x", "y"), [0, 1], [1, 0], [0, 2], [3, 2])
    assert grouped.wins.tolist() == [[0, 3], [0, 0]]
    assert grouped.ties.tolist() == [[0, 2], [2, 0]]
    assert grouped.with_votes([0], [1], [1], [4]).wins.tolist() == [[0, 3], [4, 0]]


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.int64])
def test_codes_of_any_width_count_the_same_however_many_there_are(kind: type[np.integer]) -> None:
    codes = np.arange(700_001)
    first, second, winners = codes % 3, (codes % 3 + 1 + codes % 2) % 3, codes // 3 % 4
    columns = [column.astype(kind) for column in (first, second, winners)]
    counts = PairCounts.from_codes(("x", "y", "z"), *columns)
    expected = np.zeros((3, 3), dtype=np.int64)
    np.add.at(expected, (first[winners == 0], second[winners == 0]), 1)
    np.add.at(expected, (second[winners == 1], first[winners == 1]), 1)
    assert counts.wins.tolist() == expected.tolist()
    assert counts.votes() == len(codes)
    assert counts.with_votes(*(column[:9] for column in columns)).votes() == len(codes) + 9


def test_counts_are_closed_to_writing() -> None:
    counts = PairCounts.from_codes(("x", "y"), [0], [1], [0])
    for table in (counts.wins, counts.with_votes([0], [1], [2]).ties, counts.with_models(["z"]).both_bad):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 1] = 9


def test_new_models_join_behind_the_old() -> None:
    counts = PairCounts.from_codes(("x", "y"), [0], [1], [0]).with_models(["y", "w"])
    assert counts.models == ("x", "y", "w")
    assert counts.wins.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert counts.with_votes([2], [0], [3]).both_bad[0, 2] == 1


@pytest.mark.parametrize(
    ("first", "second", "winners", "code"),
    [
        ([0], [0], [0], "self_battle"),
        ([0], [2], [0], "unknown_model"),
        ([-1], [0], [0], "unknown_model"),
        ([0], [1], [4], "unknown_winner"),
        ([0], [1], [-1], "unknown_winner"),
        ([0, 1], [1], [0], "bad_votes"),
        (np.array([0.0]), [1], [0], "bad_votes"),
    ],
)
def test_bad_votes_are_refused(first: list[int], second: list[int], winners: list[int], code: str) -> None:
    counts = PairCounts.empty(("x", "y"))
    with pytest.raises(InvalidInput) as caught:
        PairCounts.from_codes(counts.models, first, second, winners)
    assert caught.value.code == code
    with pytest.raises(InvalidInput) as caught:
        counts.with_votes(first, second, winners)
    assert caught.value.code == code


def test_votes_that_were_not_counted_cannot_be_taken_away() -> None:
    counts = PairCounts.from_codes(("x", "y"), [0], [1], [0])
    with pytest.raises(InvalidInput) as caught:
        counts.without_votes([0], [1], [1])
    assert caught.value.code == "votes_not_counted"


@pytest.mark.parametrize(("names", "code"), [(("x", "x"), "repeated_model"), (("x", ""), "missing_model")])
def test_names_are_there_and_differ(names: tuple[str, str], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PairCounts.empty(names)
    assert caught.value.code == code


def test_tables_must_be_tables_of_battles() -> None:
    none = np.zeros((2, 2), dtype=np.int64)
    good = np.array([[0, 3], [1, 0]])
    assert PairCounts.from_tables(("x", "y"), good, none, none).votes() == 4
    lopsided, own, negative = np.array([[0, 1], [2, 0]]), np.array([[1, 0], [0, 0]]), np.array([[0, -1], [0, 0]])
    for wins, ties in ((good, lopsided), (own, none), (negative, none), (np.zeros((3, 3), dtype=np.int64), none)):
        with pytest.raises(InvalidInput) as caught:
            PairCounts.from_tables(("x", "y"), wins, ties, none)
        assert caught.value.code == "bad_votes"


def test_parts_of_counts() -> None:
    counts = PairCounts.from_codes(("x", "y", "z"), [0, 1, 2, 0], [1, 2, 0, 1], [0, 2, 1, 3])
    assert counts.decided().votes() == 2
    inner = counts.only(np.array([0, 1]))
    assert inner.models == ("x", "y")
    assert (inner.wins.sum(), inner.both_bad.sum(), inner.ties.sum()) == (1, 2, 0)
    assert counts.plus(PairCounts.from_codes(("w", "x"), [0], [1], [0])).models == ("x", "y", "z", "w")
    with pytest.raises(InvalidInput) as caught:
        counts.minus(PairCounts.from_codes(("x", "y"), [0], [1], [1]))
    assert caught.value.code == "votes_not_counted"
