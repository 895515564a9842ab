"""Every sample is told apart by its content and read to the last row; every broken one says where and why."""

from collections import Counter

import pytest
from tests.battlelogs.logs import DATA, Expected, expectations, read

from agon.battlelogs.faults import Unreadable
from agon.ranking.cleaning import CleaningRules

GOOD, BAD = expectations(), expectations("bad/")
REACTIONS = [name for name in GOOD if "reactions" in name]
VOTES = [name for name in GOOD if "accepted" in GOOD[name]]
BROKEN = {name for name, expected in BAD.items() if any(row.get("file") for row in expected["rejected"])}
REASONS = {"duplicate_vote": "duplicate_id", "bad_tstamp": "bad_timestamp"}
"""Reasons that have another name here."""

# What the file of expectations calls acceptable too.
PARTLY_READ = "bad/clean_battle_truncated_array.json"
WITHOUT_TEXT = "bad/hf_100k_json_in_strings.jsonl"


def rejections(expected: Expected) -> list[tuple[int, str]]:
    rejected: list[Expected] = expected["rejected"]
    rows: list[tuple[int, str]] = [(row["line"] if "line" in row else row["row"], row["reason"]) for row in rejected]
    return sorted((row, REASONS.get(reason) or reason) for row, reason in rows)


@pytest.mark.parametrize("name", VOTES)
def test_a_sample_is_read_as_what_it_is(name: str) -> None:
    expected, found = GOOD[name], read(DATA / name)
    assert found.log.form == expected["format"]
    assert found.kept == expected["accepted"]
    assert found.rejected == []
    assert found.log.skipped == expected.get("skipped", {})
    if "battles" in expected:
        assert found.battles == expected["battles"]
    if "winners" in expected:
        winners = Counter({name.replace("tie (bothbad)", "both_bad"): n for name, n in expected["winners"].items()})
        assert Counter(winner for *_, winner in found.battles) == winners


@pytest.mark.parametrize("name", [name for name in VOTES if "anonymous" in GOOD[name]])
def test_anonymous_battles_are_told_from_named_ones(name: str) -> None:
    assert read(DATA / name, CleaningRules(anonymous_only=True)).kept == GOOD[name]["anonymous"]


def test_the_public_release_has_the_rows_of_its_own_board() -> None:
    name = "fastchat_clean/clean_battle_public_20240316.json"
    rules = CleaningRules(anonymous_only=True, category="sampled")
    assert read(DATA / name, rules).kept == GOOD[name]["leaderboard_rows_anony_and_dedup_sampled"]


@pytest.mark.parametrize("name", REACTIONS)
def test_a_reaction_to_one_answer_is_no_battle(name: str) -> None:
    found = read(DATA / name)
    assert found.kept == 0
    assert found.log.skipped == {"one-sided reaction": GOOD[name]["reactions"]}


def test_conversations_without_votes_are_refused() -> None:
    with pytest.raises(Unreadable, match="no votes"):
        read(DATA / "comparia/comparia_conversations_sample.parquet")


@pytest.mark.parametrize(("name", "votes"), [("llmfao", 8931), ("food", 30), ("simple", 16)])
def test_evalica_s_tables(name: str, votes: int) -> None:
    found = read(DATA / f"evalica/{name}.csv")
    assert (found.log.form, found.kept, found.rejected) == ("evalica", votes, [])


@pytest.mark.parametrize("name", sorted(set(BAD) - BROKEN - {WITHOUT_TEXT}))
def test_a_broken_sample_keeps_what_is_whole(name: str) -> None:
    expected, found = BAD[name], read(DATA / name)
    assert found.kept == expected["accepted"]
    assert found.rejected == rejections(expected)
    assert found.log.skipped == expected.get("skipped", {})
    if "battles" in expected:
        assert found.battles == expected["battles"]
    if "anonymous" in expected:
        assert read(DATA / name, CleaningRules(anonymous_only=True)).kept == expected["anonymous"]


@pytest.mark.parametrize("name", sorted(BROKEN - {PARTLY_READ}))
def test_a_broken_file_is_refused_whole(name: str) -> None:
    reason, _, column = BAD[name]["rejected"][0]["reason"].partition(": ")
    with pytest.raises(Unreadable) as refused:
        read(DATA / name)
    assert refused.value.code == reason
    assert str(DATA / name) in refused.value.message
    assert column in refused.value.message


def test_an_array_that_breaks_off_keeps_its_whole_rows() -> None:
    found = read(DATA / PARTLY_READ)
    assert found.kept == 5
    (rejection,) = found.cleaned.report.listed
    assert (rejection.row, rejection.reason) == (5, "truncated_json")
    assert "line 55, column 5" in rejection.sentence


def test_a_battle_counts_though_its_words_cannot_be_read() -> None:
    found = read(DATA / WITHOUT_TEXT)
    assert (found.kept, found.rejected) == (4, [])


def test_an_empty_file_is_said_to_be_empty() -> None:
    assert read(DATA / "bad/fastchat_empty.json").log.form == "empty"


def test_a_missing_column_is_named_with_those_there_are() -> None:
    with pytest.raises(Unreadable, match=r"winner_tie is missing.*winner_model_a, winner_model_b, winner_draw"):
        read(DATA / "bad/hf_55k_missing_column.csv")


def test_times_are_read_in_their_zones() -> None:
    found = read(DATA / "bad/hf_100k_mixed_time_zones.jsonl").cleaned.battles
    assert found is not None
    assert found.timestamps is not None
    eight = 1710403200.0
    assert found.timestamps.tolist() == [eight + 0.5, eight, eight, eight + 0.5, eight]


def test_two_comparisons_of_one_feedback_have_one_voter() -> None:
    found = read(DATA / "bad/open_webui_two_siblings.json", CleaningRules(needs_voter=True)).cleaned.battles
    assert found is not None
    assert found.voters is not None
    codes = found.voters.codes.tolist()
    assert codes[0] == codes[1] != codes[2]


def test_a_log_read_twice_counts_once() -> None:
    from agon.battlelogs.collect import collect
    from agon.battlelogs.readings import Wants
    from agon.ranking.cleaning import Cleaner

    cleaner = Cleaner()
    name = str(DATA / "fastchat_logs/2024-03-14-conv.json")
    collect([name, name], cleaner, Wants(), lambda _: None)
    report = cleaner.finish().report
    assert (report.kept, dict(report.rejected)) == (24, {"duplicate_id": 24})
