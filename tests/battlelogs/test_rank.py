"""`agon rank` as people call it."""

import io
import json
import math
import re
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.battlelogs.logs import DATA, expectations

from agon.cli import main

FOOD, LLMFAO = str(DATA / "evalica/food.csv"), str(DATA / "evalica/llmfao.csv")
TIMED = str(DATA / "fastchat_clean/clean_battle_20240316.json")
LOGS = [str(path) for path in sorted((DATA / "fastchat_logs").iterdir())]
STYLED = str(DATA / "hf/arena_human_preference_100k.parquet")
GOLDEN = json.loads((DATA / "evalica/golden.json").read_text("utf-8"))["sets"]
BAD = expectations("bad/")
Shown = dict[str, Any]


class Command:
    """Runs `agon rank` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *words: str | Path, code: int = 0) -> str:
        try:
            found = main(["rank", *map(str, words)])
        except SystemExit as stopped:
            found = stopped.code
        self.out, self.err = self._capsys.readouterr()
        assert found == code, self.err
        return self.out

    def json(self, *words: str | Path, code: int = 0) -> Shown:
        return json.loads(self("--format", "json", *words, code=code))


@pytest.fixture
def rank(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def by_model(shown: Shown) -> dict[str, Shown]:
    return {row["model"]: row for row in shown["rows"]}


@pytest.mark.parametrize("name", ["llmfao", "food", "simple"])
def test_ratings_are_those_of_the_golden_table(name: str, rank: Command) -> None:
    rows = by_model(rank.json(DATA / f"evalica/{name}.csv"))
    for golden in GOLDEN[name]["bradley_terry"]:
        row = rows[golden["item"]]
        assert row["rating"] == pytest.approx(golden["rating"], abs=1e-3)
        assert row["se"] == pytest.approx(golden["se_robust"], abs=1e-3)
        assert row["rank"] == golden["rank_ci_overlap"]


def test_errors_by_voter_are_those_of_the_golden_table(rank: Command) -> None:
    rows = by_model(rank.json("--cluster", "voter", LLMFAO))
    for golden in GOLDEN["llmfao"]["bradley_terry"]:
        assert rows[golden["item"]]["se"] == pytest.approx(golden["se_worker_cluster"], abs=1e-3)


@pytest.mark.parametrize("name", ["llmfao", "food", "simple"])
def test_elo_is_that_of_the_golden_table(name: str, rank: Command) -> None:
    rows = by_model(rank.json("--method", "elo", DATA / f"evalica/{name}.csv"))
    assert {model: row["rating"] for model, row in rows.items()} == pytest.approx(
        GOLDEN[name]["elo_k4_init1000"], abs=1e-3
    )


def test_json_is_all_there_is_on_standard_output(rank: Command) -> None:
    shown = rank.json(FOOD, DATA / "bad/clean_battle_unknown_winner.json")
    assert set(shown["rows"][0]) >= {
        "model", "rating", "low", "high", "se", "rank", "wins", "losses", "ties", "notes"
    }  # fmt: skip
    assert [(row["row"], row["reason"]) for row in shown["rejected"]] == [
        (1, "unknown_winner"),
        (3, "missing_winner"),
        (4, "unknown_winner"),
    ]
    assert shown["accepted"] == 33
    assert [file["format"] for file in shown["files"]] == ["evalica", "fastchat_clean_battle"]
    unbounded = by_model(shown)["weaver-12k"]
    assert (unbounded["rating"], unbounded["rank"]) == (None, None)
    assert "not_comparable" in {note["code"] for note in unbounded["notes"]}


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize("name", BAD)
def test_broken_input_is_told_and_never_dies(name: str, form: str, rank: Command) -> None:
    whole = all(not row.get("file") for row in BAD[name]["rejected"]) or "truncated_array" in name
    out = rank("--format", form, DATA / name, code=0 if whole else 2)
    assert "Traceback" not in rank.err
    if not whole:
        assert rank.err.startswith("agon rank: ")
        assert rank.err.count("\n") == 1
    if form == "json":
        assert isinstance(json.loads(out)["rejected"], list)


@pytest.mark.parametrize("name", BAD)
def test_strict_refuses_what_has_rejects(name: str, rank: Command) -> None:
    kept = "json_in_strings" in name
    rank("--strict", DATA / name, code=2 if BAD[name]["rejected"] and not kept else 0)


def test_what_was_not_asked_for_is_no_fault(rank: Command) -> None:
    rank("--strict", "--anonymous-only", TIMED)
    assert "7 rows rejected" in rank.err


def test_an_unreadable_file_is_told_in_json_too(rank: Command) -> None:
    shown = rank.json(FOOD, DATA / "bad/hf_33k_cut.parquet", code=2)
    assert shown["rows"] == []
    (refused,) = shown["rejected"]
    assert (refused["row"], refused["reason"]) == (None, "corrupt_parquet")


def test_an_empty_log_is_said_to_have_no_line(rank: Command) -> None:
    assert rank.json(DATA / "bad/fastchat_empty.json")["rows"] == []
    assert "has no line" in rank.err


def test_rejected_rows_change_no_rating(rank: Command, tmp_path: Path) -> None:
    spoiled = tmp_path / "spoiled.csv"
    spoiled.write_text(Path(FOOD).read_text("utf-8") + "Pizza,Pizza,left\nTacos,,left\nTacos,Sushi,yes\n", "utf-8")
    clean, dirty = rank.json(FOOD), rank.json(spoiled)
    assert dirty["rows"] == clean["rows"]
    assert [row["row"] for row in dirty["rejected"]] == [30, 31, 32]


def test_the_table_is_plain_and_aligned_in_a_pipe(rank: Command) -> None:
    lines = rank(FOOD).splitlines()
    assert len(lines) == 6
    assert "\x1b" not in rank.out
    ends = {line.index(" … ") for line in lines[1:]}
    assert len(ends) == 1
    assert "30 battles of 5 models" in rank.err


@pytest.mark.slow
def test_a_name_cannot_speak_to_the_terminal(rank: Command, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("model_a,model_b,winner\n\x1b[2Jevil,good,tie\n", "utf-8")
    assert "\x1b" not in rank(log)
    assert "\x1b" not in rank("--html", tmp_path / "page.html", log)


@pytest.mark.parametrize("method", ["bt", "davidson", "rao-kupper", "elo"])
def test_an_anchor_holds_its_rating(method: str, rank: Command) -> None:
    rows = by_model(rank.json("--method", method, "--anchor", "Sushi=1234.5", FOOD))
    free = by_model(rank.json("--method", method, FOOD))
    assert rows["Sushi"]["rating"] == pytest.approx(1234.5)
    for name in free:
        gaps = [found[name]["rating"] - found["Sushi"]["rating"] for found in (rows, free)]
        assert gaps[0] == pytest.approx(gaps[1], abs=1e-6)


def test_an_unknown_anchor_is_named(rank: Command) -> None:
    rank("--anchor", "Ramen=1000", FOOD, code=2)
    assert "Ramen" in rank.err


@pytest.mark.slow
def test_the_bootstrap_repeats_itself_by_its_seed(rank: Command) -> None:
    words = ("--bootstrap", "200", LLMFAO)
    one, same, other = rank.json(*words), rank.json(*words), rank.json("--seed", "1", *words)
    assert one["rows"] == same["rows"]
    assert one["rows"] != other["rows"]
    plain = by_model(rank.json(LLMFAO))
    for model, row in by_model(one).items():
        assert row["se"] == pytest.approx(plain[model]["se"], rel=0.4)


def test_style_is_controlled_where_it_is_known(rank: Command) -> None:
    shown = rank.json("--style", STYLED)
    assert set(shown["style"]) <= {"tokens", "headers", "lists", "bold"}
    assert math.isfinite(shown["style"]["tokens"]["coefficient"])
    rank("--style", FOOD, code=2)


def test_a_window_keeps_its_days(rank: Command) -> None:
    everything = rank.json(*LOGS)["votes"]
    late = rank.json("--since", "2024-03-15", *LOGS)["votes"]
    early = rank.json("--until", "2024-03-15", *LOGS)["votes"]
    assert (early, late, everything) == (24, 24, 48)
    assert 24 <= rank.json("--window", "1", *LOGS)["votes"] < everything


def test_an_alias_merges_two_names(rank: Command) -> None:
    rows = by_model(rank.json("--alias", "Pizza=Pasta", FOOD))
    assert "Pizza" not in rows
    assert len(rows) == 4


def test_a_cap_counts_a_voter_once_a_pair(rank: Command) -> None:
    shown = rank.json("--cap-per-voter", "1", LLMFAO)
    assert shown["rejected_by_reason"]["over_voter_cap"] + shown["votes"] == 8931


@pytest.mark.parametrize("name", ["33k.jsonl", "100k.parquet", "140k.jsonl"])
def test_language_and_category_choose_battles(name: str, rank: Command) -> None:
    (path,) = (DATA / "hf").glob(f"*{name}")
    everything = rank.json(path)["votes"]
    chosen = rank.json("--language", "English", path)["votes"]
    assert chosen + rank.json("--language", "en", path)["votes"] <= everything
    if "100k" in name:
        assert 0 < rank.json("--category", "math", path)["votes"] < everything


def test_files_are_written_as_their_names_say(rank: Command, tmp_path: Path) -> None:
    shown = rank.json(FOOD)
    rank("--out", tmp_path / "board.json", FOOD)
    assert json.loads((tmp_path / "board.json").read_text("utf-8")) == shown
    printed = rank("--format", "csv", "--out", tmp_path / "board.csv", FOOD)
    assert (tmp_path / "board.csv").read_text("utf-8") == printed
    rank("--out", tmp_path / "board.parquet", FOOD)
    table: Any = import_module("pyarrow.parquet").read_table(tmp_path / "board.parquet")
    written: list[Shown] = table.to_pylist()
    assert [(row["model"], row["se"]) for row in written] == [(row["model"], row["se"]) for row in shown["rows"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board.csv", "board.json", "board.parquet"]


def test_a_place_that_cannot_be_written_to_is_named(rank: Command, tmp_path: Path) -> None:
    rank("--out", tmp_path / "nowhere" / "board.csv", FOOD, code=2)
    assert "cannot be written" in rank.err
    rank("--out", tmp_path / "board.xlsx", FOOD, code=2)
    assert ".csv or .json or .parquet" in rank.err


def test_pictures_are_drawn(rank: Command, tmp_path: Path) -> None:
    for option in ("--plot", "--plot-matrix", "--plot-history"):
        rank(option, tmp_path / "picture.svg", TIMED)
        words = "".join(ET.parse(tmp_path / "picture.svg").getroot().itertext())
        assert "gpt-3.5-turbo" in words
        rank(option, tmp_path / "picture.png", TIMED)
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_a_history_needs_times(rank: Command, tmp_path: Path) -> None:
    rank("--plot-history", tmp_path / "picture.svg", FOOD, code=2)
    assert "time" in rank.err
    assert not list(tmp_path.iterdir())


def test_the_page_needs_nothing_else(rank: Command, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text('model_a,model_b,winner\n<script>x</script>,"a""&b",model_a\nthird,"a""&b",nobody\n', "utf-8")
    rank("--html", tmp_path / "page.html", log, TIMED)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "unknown_winner" in page
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', page)
    assert set(re.findall(r"https?://[^\"' ]+", page)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_what_does_not_go_together_is_said(rank: Command) -> None:
    for words in (("--method", "elo", "--bootstrap", "9"), ("--style", "--cluster", "voter"), ("--window", "0")):
        rank(*words, FOOD, code=2)
        assert rank.err.startswith("agon rank: ")


def test_wrong_words_are_refused(rank: Command) -> None:
    for words in (("--anchor", "Sushi"), ("--alias", "Sushi"), ("--since", "soon"), ("--window", "a while")):
        rank(*words, FOOD, code=2)
        assert words[1] in rank.err


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_fits_its_terminal(width: int) -> None:
    from rich.console import Console

    from agon.ranking.leaderboard import Note, NoteCode, Row
    from agon.report.texts import print_rich

    notes = tuple(Note(code, "…") for code in (NoteCode.UNBOUNDED_ABOVE, NoteCode.FEW_BATTLES))
    numbers: dict[str, Any] = {
        "se": 4.0,
        "wins": 9,
        "losses": 0,
        "ties": 1,
        "both_bad": 0,
        "win_rate": 0.95,
        "elo": None,
    }
    rows = [
        Row(model=name, rating=1234.5, low=1200.0, high=1269.0, rank=1, battles=10, notes=notes, **numbers)
        for name in ("[bold]short", "a name that is much longer than " * 3)
    ]
    file = io.StringIO()
    print_rich(Console(file=file, width=width), rows)
    shown = file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "[bold]" in shown
    assert "unbounded above" in shown
    assert "few battles" in shown
