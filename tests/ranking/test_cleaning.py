"""Every row is counted or rejected with its reason, however the rows arrive."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon.core.errors import InvalidInput, LimitExceeded
from agon.core.votes import Winner
from agon.ranking import NUMERIC_WINNERS, Cleaned, Cleaner, CleaningRules, Coded, RawBattles, RawStyle, Reason, clean
from agon.ranking import names as names_module
from agon.ranking.battles import CodedBattles
from agon.ranking.columns import CodedText, encoded
from agon.ranking.moments import read_moments
from agon.ranking.outcomes import PairCounts
from agon.ranking.spellings import WINNER_SPELLINGS, is_true

NOON = 1_700_000_000.0
unhurried = settings(deadline=None, max_examples=60)


def reasons(cleaned: Cleaned) -> dict[int, str]:
    return {row.row: str(row.reason) for row in cleaned.report.listed}


def same_counts(one: PairCounts, other: PairCounts) -> bool:
    tables = ("wins", "ties", "both_bad")
    return one.models == other.models and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in tables
    )


def one_pair(number: int, **columns: Any) -> RawBattles:
    return RawBattles(["x"] * number, ["y"] * number, ["a"] * number, **columns)


Row = tuple[object, object, object, object, object]
names = st.sampled_from(["x", "y", "z", " x ", "old", None, "", float("nan"), 3, 1.5])
row = st.tuples(
    names,
    names,
    st.sampled_from([*WINNER_SPELLINGS, "A", "draw", None, "", 1]),
    st.sampled_from(["i", "j", "k", "l", None, ""]),
    st.sampled_from([NOON, NOON + 90_000.0, NOON * 1e3, "2023-11-14T22:13:20", "soon", None]),
)


def raw_of(rows: list[Row], start: int = 0) -> RawBattles:
    columns: list[list[object]] = [[row[place] for row in rows] for place in range(5)]
    return RawBattles(*columns[:3], vote_id=columns[3], timestamp=columns[4], first_row=start)


RULES = st.sampled_from(
    [
        CleaningRules(),
        CleaningRules(aliases={"old": "x"}),
        CleaningRules(since=NOON + 1.0),
        CleaningRules(window_days=0.5),
        CleaningRules(deduplicate=False),
    ]
)


@unhurried
@given(st.lists(row, max_size=25), RULES, st.integers(0, 25), st.booleans())
def test_splitting_a_file_leaves_no_trace(rows: list[Row], rules: CleaningRules, cut: int, keep: bool) -> None:
    whole = clean(raw_of(rows), rules)
    cut = min(cut, len(rows))
    cleaner = Cleaner(rules, keep_rows=keep)
    cleaner.feed(raw_of(rows[:cut]))
    cleaner.feed(raw_of(rows[cut:], start=cut))
    parts = cleaner.finish()
    assert same_counts(parts.counts, whole.counts)
    assert parts.report.rejected == whole.report.rejected
    assert reasons(parts) == reasons(whole)
    assert parts.report.kept == whole.report.kept == whole.counts.votes()
    assert whole.report.rows == len(rows)
    assert (parts.battles is not None) is keep


@unhurried
@given(st.lists(row, max_size=25), st.randoms(use_true_random=False))
def test_order_decides_only_which_of_equal_ids_is_kept(rows: list[Row], random: Any) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    rules = CleaningRules(deduplicate=False)
    assert same_counts(clean(raw_of(shuffled), rules).counts, clean(raw_of(rows), rules).counts)
    assert clean(raw_of(shuffled)).report.rejected == clean(raw_of(rows)).report.rejected


@unhurried
@given(st.lists(row, max_size=25))
def test_dictionary_columns_are_the_same_columns(rows: list[Row]) -> None:
    plain = raw_of(rows)
    coded = RawBattles(
        *(encoded(column) for column in (plain.model_a, plain.model_b, plain.winner)),
        vote_id=encoded(plain.vote_id or []),
        timestamp=encoded(plain.timestamp if isinstance(plain.timestamp, list) else []),
    )
    assert same_counts(clean(coded).counts, clean(plain).counts)
    assert reasons(clean(coded)) == reasons(clean(plain))


@unhurried
@given(st.lists(row, max_size=25))
def test_every_row_is_judged_as_if_alone(rows: list[Row]) -> None:
    whole = clean(raw_of(rows), CleaningRules(deduplicate=False))
    alone = Counter[str]()
    for single in rows:
        alone.update(clean(raw_of([single])).report.rejected)
    assert dict(whole.report.rejected) == dict(alone)


def test_a_dictionary_may_hold_anything_and_repeat_itself() -> None:
    names_of_models = ["x", None, "y", " x", "unused", 7, b"bytes"]
    a, b = (np.array(codes, dtype=np.int8) for codes in ([0, 3, 1, -1, 5, 6, 0], [2, 2, 2, 2, 2, 2, 3]))
    winner = Coded(np.array([0, 0, 0, 0, 0, 0, 0], dtype=np.uint8), ["tie"])
    found = clean(RawBattles(Coded(a, names_of_models), Coded(b, names_of_models), winner))
    assert found.counts.models == ("7", "x", "y")
    assert reasons(found) == {2: "missing_model", 3: "missing_model", 5: "bad_model", 6: "self_battle"}


@pytest.mark.parametrize("codes", [[0, 1], [-2, 0]])
def test_a_code_outside_its_dictionary_is_refused(codes: list[int]) -> None:
    with pytest.raises(InvalidInput) as caught:
        clean(RawBattles(Coded(np.array(codes), ["x"]), ["y", "y"], ["a", "a"]))
    assert caught.value.code == "bad_column"


def test_columns_of_different_length_are_refused() -> None:
    for raw in (one_pair(2, voter=["v"]), one_pair(2, timestamp=[1.0]), RawBattles(["x"], ["y", "z"], ["a"])):
        with pytest.raises(InvalidInput) as caught:
            clean(raw)
        assert caught.value.code == "bad_votes"


def test_aliases_are_followed_to_their_end() -> None:
    raw = RawBattles(["v1", "v2", "v3"], ["y", "y", "v1"], ["a", "b", "tie"])
    found = clean(raw, CleaningRules(aliases={"v1": "v2", "v2": "v3"}))
    assert found.counts.models == ("v3", "y")
    assert reasons(found) == {2: "self_battle"}
    assert dict(found.report.notices) == {"aliased_name": 3}
    with pytest.raises(InvalidInput) as caught:
        Cleaner(CleaningRules(aliases={"v1": "v2", "v2": "v1"}))
    assert caught.value.code == "bad_alias"


def test_there_is_a_limit_to_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "MAX_MODELS", 3)
    with pytest.raises(LimitExceeded):
        clean(RawBattles(["w", "x"], ["y", "z"], ["a", "a"]))


def test_numbers_are_winners_only_where_a_reader_says_so() -> None:
    raw = RawBattles(["x"] * 4, ["y"] * 4, [1, 0.0, "0.5", 2])
    assert clean(raw).report.rejected == {"unknown_winner": 4}
    told = clean(RawBattles(raw.model_a, raw.model_b, raw.winner, spellings=NUMERIC_WINNERS))
    assert reasons(told) == {3: "unknown_winner"}
    assert (told.counts.wins.sum(), told.counts.ties.sum()) == (2, 2)


def test_a_reader_may_have_words_of_its_own() -> None:
    raw = RawBattles(["x"], ["y"], ["gauche"], spellings={"gauche": Winner.A})
    assert clean(raw).counts.wins.tolist() == [[0, 1], [0, 0]]


def test_windows_hold_their_start_and_not_their_end() -> None:
    times = [NOON, NOON + 10.0, NOON + 20.0, None]
    found = clean(one_pair(4, timestamp=times), CleaningRules(since=NOON + 10.0, until=NOON + 20.0))
    assert reasons(found) == {0: "too_early", 2: "too_late", 3: "missing_timestamp"}
    assert found.report.faulty == 1


def test_a_window_ends_with_the_newest_vote_unless_told() -> None:
    day = 86_400.0
    times = np.array([0.0, 5.0, 9.0, 10.0]) * day + NOON
    assert reasons(clean(one_pair(4, timestamp=times), CleaningRules(window_days=5.0))) == {0: "too_early"}
    ended = CleaningRules(window_days=2.0, until=NOON + 10.0 * day)
    assert reasons(clean(one_pair(4, timestamp=times), ended)) == {0: "too_early", 1: "too_early", 3: "too_late"}
    assert clean(one_pair(2), CleaningRules(window_days=5.0)).report.rejected == {"missing_timestamp": 2}


def test_the_earliest_votes_of_a_voter_are_kept() -> None:
    raw = RawBattles(
        ["x", "y", "x", "x", "x"],
        ["y", "x", "y", "z", "y"],
        ["a", "a", "b", "a", "tie"],
        voter=["v", "v", "v", "v", None],
        timestamp=[3.0, 1.0, 2.0, 4.0, 5.0],
        vote_id=["a", "b", "c", "d", "e"],
    )
    found = clean(raw, CleaningRules(per_voter=2))
    assert reasons(found) == {0: "over_voter_cap", 4: "missing_voter"}
    with pytest.raises(InvalidInput):
        CleaningRules(per_voter=0)


def test_categories_are_names_or_sets_of_names() -> None:
    raw = one_pair(4, category=["code", ["math", "code"], None, "codes"], language=["de", "fr", "de", "de"])
    assert clean(raw, CleaningRules(category="code")).report.rejected == {"other_category": 2}
    assert clean(raw, CleaningRules(category="code", language="de")).report.kept == 1
    assert clean(one_pair(2), CleaningRules(category="code")).report.rejected == {"other_category": 2}


def test_flags_are_read_and_not_guessed() -> None:
    for value in (True, 1, 1.0, "true", "True", "TRUE", " 1"):
        assert is_true(value)
    for value in (False, 0, None, "False", "no", "yes", "", float("nan"), [1]):
        assert not is_true(value)
    raw = one_pair(3, anonymous=np.array([True, False, True]))
    assert reasons(clean(raw, CleaningRules(anonymous_only=True))) == {1: "not_anonymous"}
    assert clean(raw).report.kept == 3


def test_style_is_asked_for_or_not() -> None:
    style = RawStyle(("tokens",), np.array([[10.0], [np.nan], [0.0]]), np.array([[30.0], [1.0], [0.0]]))
    found = clean(one_pair(3, style=style), CleaningRules(needs_style=True))
    assert reasons(found) == {1: "missing_style"}
    assert found.battles is not None
    assert found.battles.style is not None
    assert found.battles.style.ravel().tolist() == [-0.5, 0.0]
    assert clean(one_pair(3, style=style)).report.kept == 3
    assert clean(one_pair(1), CleaningRules(needs_style=True)).report.rejected == {"missing_style": 1}


def test_reports_are_bounded_but_count_everything() -> None:
    cleaner = Cleaner(listed=3)
    cleaner.reject(7, "invalid_json", "The line is no JSON.", "a.jsonl")
    cleaner.feed(RawBattles(["x"] * 4, ["x"] * 4, ["a"] * 4, source="a.jsonl", rows=np.array([2, 4, 6, 8])))
    report = cleaner.finish().report
    assert [(row.row, row.reason, row.source) for row in report.listed] == [
        (7, "invalid_json", "a.jsonl"),
        (2, Reason.SELF_BATTLE, "a.jsonl"),
        (4, Reason.SELF_BATTLE, "a.jsonl"),
    ]
    assert not report.complete
    assert report.rejected_rows == report.faulty == 5
    assert report.rejected == {"invalid_json": 1, "self_battle": 4}


def test_late_rejects_name_their_source() -> None:
    cleaner = Cleaner(CleaningRules(window_days=1.0))
    cleaner.feed(one_pair(1, timestamp=[0.0], source="old.csv", first_row=5))
    cleaner.feed(one_pair(1, timestamp=[NOON], source="new.csv"))
    (rejected,) = cleaner.finish().report.listed
    assert (rejected.row, rejected.source, rejected.reason) == (5, "old.csv", "too_early")


def test_counting_alone_keeps_no_rows() -> None:
    cleaner = Cleaner(keep_rows=False)
    for start in range(0, 60, 3):
        models = [f"m{start + place}" for place in range(3)]
        cleaner.feed(RawBattles(models, ["m0", "y", "y"], ["a", "b", "both_bad"], first_row=start))
    found = cleaner.finish()
    assert found.battles is None
    assert found.report.kept == found.counts.votes() == 59
    assert reasons(found) == {0: "self_battle"}
    assert found.counts.both_bad.sum() == 40


def test_sources_with_and_without_a_column_join() -> None:
    cleaner = Cleaner()
    cleaner.feed(one_pair(1, voter=["v"], timestamp=[NOON]))
    cleaner.feed(RawBattles(["b"], ["a"], ["a"], language=["de"]))
    battles = cleaner.finish().battles
    assert battles is not None
    assert battles.voters is not None
    assert battles.languages is not None
    assert battles.timestamps is not None
    assert battles.models == ("a", "b", "x", "y")
    assert battles.first.tolist() == [2, 1]
    assert battles.voters.codes.tolist() == [0, -1]
    assert list(CodedText(battles.languages)) == ["", "de"]
    assert np.isnan(battles.timestamps).tolist() == [False, True]
    with pytest.raises(InvalidInput):
        battles.days()


def test_votes_stand_in_order_of_time_then_id() -> None:
    raw = one_pair(4, timestamp=[2.0, 1.0, 1.0, 0.5], vote_id=["a", "c", "b", "d"])
    battles = clean(raw).battles
    assert battles is not None
    assert battles.time_order().tolist() == [3, 2, 1, 0]
    assert clean(one_pair(2, timestamp=[1.0, 1.0])).battles is not None
    assert CodedBattles.joined((), []).time_order().tolist() == []


def test_moments_are_read_in_all_their_forms() -> None:
    expected = NOON + 0.5
    moment = datetime.fromtimestamp(expected, UTC)
    ahead = moment.astimezone(timezone(timedelta(hours=5, minutes=30)))
    values: list[object] = [
        expected, expected * 1e3, str(expected), moment, ahead, ahead.isoformat(), moment.replace(tzinfo=None),
        moment.isoformat().replace("+00:00", "Z"), moment.replace(tzinfo=None).isoformat(),
    ]  # fmt: skip
    found = read_moments(values)
    assert found.seconds.tolist() == [expected] * len(values)
    assert np.flatnonzero(found.zoneless).tolist() == [6, 8]
    assert not found.bad.any()
    for value in ("soon", True, [1], float("inf"), 10**30, 10**400, "2024-13-01"):
        assert read_moments([value]).bad.tolist() == [True]
    for value in (None, "", float("nan")):
        assert read_moments([value]).bad.tolist() == [False]
        assert np.isnan(read_moments([value]).seconds).all()


def test_moments_of_arrays() -> None:
    stamps = np.array(["2023-11-14T22:13:20.5", "NaT"], dtype="datetime64[ms]")
    assert read_moments(stamps).seconds[0] == NOON + 0.5
    assert np.isnan(read_moments(stamps).seconds[1])
    numbers = read_moments(np.array([NOON, NOON * 1e3, np.inf, np.nan]))
    assert numbers.seconds[:2].tolist() == [NOON, NOON]
    assert numbers.bad.tolist() == [False, False, True, False]
    coded = read_moments(Coded(np.array([0, -1, 0]), ["2023-11-14T22:13:20Z"]))
    assert coded.seconds[::2].tolist() == [NOON, NOON]
    assert np.isnan(coded.seconds[1])


def test_values_that_cannot_be_keys_are_judged_like_others() -> None:
    odd: list[object] = [["a"], {"a": 1}, "a", np.int64(1)]
    raw = RawBattles(Coded(np.arange(4), odd), ["y"] * 4, Coded(np.arange(4), odd), vote_id=Coded(np.arange(4), odd))
    assert reasons(clean(raw)) == {0: "bad_model", 1: "bad_model", 3: "unknown_winner"}
    numbered = np.array([np.int64(7), "x", np.float64("nan")], dtype=object)
    found = clean(RawBattles(numbered, ["y"] * 3, ["a"] * 3, anonymous=np.array([np.True_, 1, 0], dtype=object)))
    assert found.counts.models == ("7", "x", "y")
    assert reasons(found) == {2: "missing_model"}
    twice = Coded(np.array([0, 1, 0]), [["v", 1], ["v", 2]])
    assert reasons(clean(RawBattles(["x"] * 3, ["y"] * 3, ["a"] * 3, vote_id=twice))) == {2: "duplicate_id"}


def test_distinct_dictionaries_are_not_looked_into() -> None:
    class Lazy(Sequence[object]):
        def __getitem__(self, index: Any) -> Any:
            raise AssertionError("looked at")

        def __len__(self) -> int:
            return 3

    ids = Coded(np.array([0, 1, 1, 2, -1, -1]), Lazy(), distinct=True)
    assert reasons(clean(one_pair(6, vote_id=ids))) == {2: "duplicate_id"}
