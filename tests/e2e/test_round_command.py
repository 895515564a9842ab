"""`agon round` from outside: one command does it all, and goes on wherever it was."""

import json
import re
import signal
from collections.abc import Iterator

import psutil
import pytest
from tests.e2e.engines import SCRIPTED, ScriptedProcess
from tests.e2e.round_command import BANK, RoundCommand, is_gone, kill, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

HERON, OTTER = SCRIPTED
RUN = ("run", str(BANK), "--scorer", "overlap", "--limit", "16", "--max-tokens", "60")


@pytest.fixture
def rounds(tmp_path_factory: pytest.TempPathFactory, engine: ScriptedProcess) -> Iterator[RoundCommand]:
    entries = [
        f"[[contestants]]\nname = {name!r}\nurl = {engine.url!r}\nmodel = {name!r}\nmax_concurrent = 2"
        for name in SCRIPTED
    ]
    rounds = RoundCommand(tmp_path_factory.mktemp("rounds"), "\n".join(["[rounds]\nlease_s = 2", *entries]))
    yield rounds
    rounds.close()


def test_one_command_answers_scores_and_ranks(rounds: RoundCommand) -> None:
    page = json.loads(rounds.do(*RUN, "--models", f"{HERON},{OTTER}", "--json"))
    assert page["is_over"]
    assert page["progress"] == {name: {"scored": 16} for name in SCRIPTED}
    board = page["board"]
    assert {row["contestant"] for row in board["rows"]} == set(SCRIPTED)
    assert (board["merged"], board["scored_questions"]) == (32, 16)
    # Its arena is gone, and its page with it.
    assert page["page"] is None
    assert "Admin key, shown this once: agon-" in rounds.err
    # Nothing that it started is left, and nobody but its owner reads what was said at the first start.
    assert not [
        one for one in psutil.process_iter(["cmdline"]) if str(rounds.data) in " ".join(one.info["cmdline"] or [])
    ]
    assert (rounds.data / "logs" / "up.log").stat().st_mode & 0o077 == 0

    before = rounds.made()
    words = rounds.do(*RUN, "--models", f"{HERON},{OTTER}")
    assert "rank" in words
    assert page["round"] in words
    assert rounds.made() == before


def test_an_interrupted_round_goes_on_where_it_was(rounds: RoundCommand, engine: ScriptedProcess) -> None:
    engine.say(rate_tokens_per_s=60)
    begun = rounds.begin(*RUN, "--models", HERON)
    wait_for(lambda: (rounds.data / "postgres").is_dir() and "questions, scored by" in rounds.err, "the round began")
    wait_for(lambda: len(rounds.made()) >= 2, "two answers")
    begun.send_signal(signal.SIGINT)
    assert rounds.end(begun) == 130
    assert "the same command goes on from here" in rounds.err
    before = rounds.made()
    assert 2 <= len(before) < 16
    # A model more: of the first, what is there stays as it is.
    engine.say()
    rounds.do(*RUN, "--models", f"{HERON},{OTTER}")
    after = rounds.made()
    assert len(after) == 32
    assert {key: after[key] for key in before} == before


def test_killed_workers_and_a_killed_command_cost_nothing_that_was_made(
    rounds: RoundCommand, engine: ScriptedProcess
) -> None:
    engine.say(rate_tokens_per_s=60)
    begun = rounds.begin(*RUN)
    wait_for(lambda: "questions, scored by" in rounds.err, "the round began")
    wait_for(lambda: len(rounds.made()) >= 2, "two answers")
    kill(rounds.part(begun, "worker"))
    wait_for(lambda: len(rounds.made()) >= 8, "answers by another worker")
    children = rounds.processes(begun)
    begun.kill()
    begun.wait()
    wait_for(lambda: all(map(is_gone, children)), "the end of the arena whose command was killed")
    before = rounds.made()
    engine.say()
    page = json.loads(rounds.do(*RUN, "--json"))
    assert page["progress"] == {name: {"scored": 16} for name in SCRIPTED}
    after = rounds.made()
    assert {key: after[key] for key in before} == before


def test_failed_answers_have_an_exit_code_of_their_own_and_can_be_made_after_all(
    rounds: RoundCommand, engine: ScriptedProcess
) -> None:
    engine.say(OTTER, rate_tokens_per_s=20)
    words = ("run", str(BANK), "--scorer", "overlap", "--limit", "2", "--models", ",".join(SCRIPTED))
    begun = rounds.begin(*words)
    wait_for(lambda: "questions, scored by" in rounds.err, "the round began")
    # From now on: it was ready, and first turns are being written.
    engine.say(OTTER, fail={"kind": "empty"})
    assert rounds.end(begun) == 3
    assert len(re.findall("^failed: otter, mtb-[0-9]+: engine_empty", rounds.out, re.MULTILINE)) == 2
    engine.say()
    page = json.loads(rounds.do("rerun", "mt_bench", "--json"))
    assert page["progress"] == {name: {"scored": 2} for name in SCRIPTED}


def test_a_round_whose_model_is_down_ends_and_says_so(rounds: RoundCommand, engine: ScriptedProcess) -> None:
    engine.say(OTTER, fail={"kind": "http_500"})
    said = rounds.do("run", str(BANK), "--scorer", "overlap", "--limit", "2", code=3)
    assert "otter: it is failed." in rounds.err
    assert "otter: None of its answers has a score." in said


def test_what_is_wrong_is_said_before_anything_starts(rounds: RoundCommand) -> None:
    bank = rounds.folder / "bank.jsonl"
    bank.write_text('{"prompt": "One?"}\n{"id": "x"}\n', "utf-8")
    rounds.do("run", str(bank), code=2)
    assert "line 2: prompt: is missing" in rounds.err
    assert not rounds.data.exists()
    rounds.do("list", code=2)
    assert "No arena runs" in rounds.err
    rounds.do("run", str(BANK), "--no-wait", code=2)
    assert "No arena runs" in rounds.err
