"""What `agon export` writes, `agon rank` reads, and the board of both is the live one."""

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.contract.ledger import LIMITS, Ledger, ballot, contestant, done, forfeited, ref

from agon.boards.live import LiveBoard
from agon.cli import main
from agon.core.board import Board, ForfeitRule
from agon.core.conversation import Conversation, Kind, Side, check_new_turn
from agon.core.ports import AddTurn, NewConversation, NewTurn
from agon.core.votes import Winner
from agon.stores.postgres.answers import PostgresAnswers
from agon.stores.postgres.contestants import PostgresContestants
from agon.stores.postgres.conversations import PostgresConversations
from agon.stores.postgres.database import Database
from agon.stores.postgres.votes import PostgresVotes
from agon.stores.redis.boards import RedisBoards

pytestmark = pytest.mark.slow

NAMES = ("north", "söuth, the great", 'east "b"', "west")
WORDS = 'Why,\n"so"? 東京'
VOTES = 90
FORFEITS = 18
READ_AS = {"plain": "pairs", "lmsys": "fastchat_clean_battle", "fastchat": "fastchat_log"}


@dataclass(frozen=True, slots=True)
class Arena:
    """A ledger full of votes and some forfeits, and its live board by either rule."""

    database_url: str
    boards: Mapping[ForfeitRule, Board]


@pytest.fixture
async def arena(database_url: str, redis_url: str, key_prefix: str) -> AsyncIterator[Arena]:
    database = Database(database_url)
    await database.open()
    answers, votes, contestants = PostgresAnswers(database), PostgresVotes(database), PostgresContestants(database)
    ledger = Ledger(PostgresConversations(database), answers, votes, votes, contestants)
    boards = RedisBoards(redis_url, prefix=key_prefix)
    for name in NAMES:
        await contestants.put_contestant(contestant(name), replace=True)
    await fill(ledger)
    made: dict[ForfeitRule, Board] = {}
    for rule in ForfeitRule:
        live = LiveBoard(votes=votes, contestants=contestants, boards=boards, min_battles=30, now=now, forfeit=rule)
        made[rule] = await live.refresh()
    yield Arena(database_url, made)
    await boards.close()
    await answers.close()
    await votes.close()
    await database.close()


def now() -> datetime:
    return datetime.now(UTC)


async def fill(ledger: Ledger) -> None:
    """Votes of a few people on all pairs; the better of two is mostly the one named first. Every sixth is too late."""
    rng = random.Random(3)
    people = [uuid4() for _ in range(9)]
    for number in range(VOTES + FORFEITS):
        sides = dict(zip((Side.A, Side.B), rng.sample(NAMES, 2), strict=True))
        new = NewConversation(uuid4(), Kind.BATTLE, rng.choice(people), sides, NewTurn(WORDS, 7, 100, None), 0.25)
        battle, _ = await ledger.conversations.start(new)
        if number % 6 == 0:
            await forfeit(ledger, battle, rng.choice(list(Side)))
            continue
        await answer(ledger, battle, turn=1)
        if rng.random() < 0.2:
            battle = await ledger.conversations.amend(battle.id, another_turn)
            await answer(ledger, battle, turn=2)
        better = Winner.A if NAMES.index(sides[Side.A]) < NAMES.index(sides[Side.B]) else Winner.B
        winner = better if rng.random() < 0.4 else rng.choice(list(Winner))
        await ledger.votes.cast(ballot(battle, winner))


async def another_turn(battle: Conversation) -> AddTurn:
    check_new_turn(battle, LIMITS)
    return AddTurn(NewTurn("And then?", 8, 100))


async def answer(ledger: Ledger, battle: Conversation, *, turn: int) -> None:
    for side in battle.contestants:
        assert (await ledger.answers.settle(done(ref(battle, side, turn), f"{side.value}{turn}: {WORDS}"))).written


async def forfeit(ledger: Ledger, battle: Conversation, late: Side) -> None:
    for side in battle.contestants:
        end = forfeited if side is late else done
        assert (await ledger.answers.settle(end(ref(battle, side), f"{side.value}1: {WORDS}"))).written


def export(arena: Arena, path: Path, form: str, rule: ForfeitRule = ForfeitRule.LOSS) -> str:
    """Write the file; what the command says of it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON_")}
    done = subprocess.run(
        [sys.executable, "-m", "agon.cli", "export", "--format", form, "--out", str(path)],
        env={**environment, "AGON_DATABASE_URL": arena.database_url, "AGON_FORFEIT": rule.value},
        cwd=path.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stderr


@pytest.mark.parametrize("rule", ForfeitRule)
@pytest.mark.parametrize("form", READ_AS)
async def test_an_exported_arena_ranks_as_the_live_one(
    form: str, rule: ForfeitRule, arena: Arena, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, board = tmp_path / "votes", arena.boards[rule]
    told = export(arena, path, form, rule)
    assert main(["rank", "--format", "json", "--strict", "--anonymous-only", str(path)]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert shown["files"][0]["format"] == READ_AS[form]
    counted = FORFEITS if rule is ForfeitRule.LOSS else 0
    assert (board.votes, board.forfeits, shown["votes"]) == (VOTES, FORFEITS, VOTES + counted)
    assert told == f"{VOTES} votes{f' and {counted} forfeits' if counted else ''} exported.\n"
    assert [row["model"] for row in shown["rows"]] == [row.model for row in board.rows]
    for found, live in zip(shown["rows"], board.rows, strict=True):
        for name in ("rating", "low", "high", "rank", "battles", "wins", "losses", "ties", "both_bad", "win_rate"):
            assert found[name] == pytest.approx(getattr(live, name), abs=1e-6), (name, found["model"])


async def test_the_order_of_the_export_is_that_of_the_votes(
    arena: Arena, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(arena, tmp_path / "votes.csv", "plain")
    assert main(["rank", "--method", "elo", "--format", "json", str(tmp_path / "votes.csv")]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    elos = {row.model: row.elo for row in arena.boards[ForfeitRule.LOSS].rows}
    assert {row["model"]: row["rating"] for row in shown["rows"]} == pytest.approx(elos, abs=1e-6)


async def test_words_come_with_the_forms_that_have_them_and_no_person_does(arena: Arena, tmp_path: Path) -> None:
    for form in ("plain", "lmsys", "fastchat"):
        export(arena, tmp_path / form, form)
    rows = list(csv.DictReader((tmp_path / "plain").read_text("utf-8").splitlines()))
    lmsys = [json.loads(line) for line in (tmp_path / "lmsys").read_text("utf-8").splitlines()]
    fastchat = [json.loads(line) for line in (tmp_path / "fastchat").read_text("utf-8").splitlines()]
    assert len(rows) == len(lmsys) == len(fastchat) == VOTES + FORFEITS
    late = [row["forfeit"] == "true" for row in rows]
    assert sum(late) == FORFEITS
    assert late == [row["forfeit"] for row in lmsys] == [row["forfeit"] for row in fastchat]
    assert {row["voter"] for row in rows} == {row["judge"] for row in lmsys} == {row["ip"] for row in fastchat}
    assert 1 < len({row["voter"] for row in rows}) <= 9
    assert WORDS.splitlines()[0] not in (tmp_path / "plain").read_text("utf-8")
    for row, log in zip(lmsys, fastchat, strict=True):
        spoken = row["conversation_b"]
        assert spoken[0] == {"role": "user", "content": WORDS}
        assert spoken[-1] == {"role": "assistant", "content": f"b{row['turn']}: {WORDS}"}
        assert len(spoken) == 2 * row["turn"]
        assert log["states"][1]["messages"] == [[turn["role"], turn["content"]] for turn in spoken]
    assert {row["turn"] for row in lmsys} == {1, 2}


def test_without_an_arena_the_export_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AGON_DATABASE_URL", raising=False)
    monkeypatch.setenv("AGON_DATA_DIR", str(tmp_path / "arena"))
    monkeypatch.chdir(tmp_path)
    assert main(["export", "--out", str(tmp_path / "votes.csv")]) == 2
    assert "No arena runs" in capsys.readouterr().err
    assert not (tmp_path / "votes.csv").exists()
