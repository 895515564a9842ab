"""Votes in the ledger: judged with their battles locked, written many to a commit, read in commit order."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from agon.core.board_ports import ExportedTurn, RankedVote, VotePage
from agon.core.conversation import Kind, Side
from agon.core.errors import AgonError, NotFound
from agon.core.ports import CastVote
from agon.core.traits import TRAITS_VERSION, Category, Style, Traits
from agon.core.votes import Ballot, BattleFacts, Vote, Winner, judge
from agon.stores.postgres.conversations import sides_of
from agon.stores.postgres.database import Connection, Database, Record
from agon.stores.postgres.group_commit import GroupCommit
from agon.stores.postgres.queries import sql

_FEATURES = ("tokens", "headers", "lists", "bold")
_PAGE = 10_000
"""Votes read at once: some megabytes, in some tens of milliseconds."""


class PostgresVotes:
    """`VoteLedger` and `VoteSource` on PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ballots = GroupCommit[Ballot, CastVote](self.commit)

    async def cast(self, ballot: Ballot) -> CastVote:
        return await self._ballots.submit(ballot)

    async def find_vote(self, receipt: UUID) -> CastVote:
        row = await self._database.row("find_vote", receipt)
        if row is None:
            raise NotFound("There is no vote with this receipt.", code="receipt_not_found")
        return CastVote(_vote(row), sides_of(row))

    async def close(self) -> None:
        await self._ballots.close()

    async def commit(self, ballots: Sequence[Ballot]) -> list[CastVote | AgonError]:
        """Judge and write a batch in one transaction; a result or the refusal for each ballot, in order."""
        async with self._database.transaction() as connection:
            battles = await _locked(connection, {ballot.conversation for ballot in ballots})
            facts = await _facts(connection, battles)
            return await _decide(connection, ballots, battles, facts)

    async def votes_after(self, cursor: str | None) -> VotePage:
        """The cursor names the transaction and the id of the last vote that was read."""
        transaction, _, vote = (cursor or "0:0").partition(":")
        async with self._database.transaction() as connection:
            await connection.execute(sql("follow_indexes"))
            upto: str = await connection.fetchval(sql("vote_horizon"))
            place = transaction, int(vote), upto
            rows = await connection.fetch(sql("votes_between"), *place, _PAGE, TRAITS_VERSION)
        votes = sorted((_ranked(row) for row in rows), key=_moment)
        if len(rows) == _PAGE:
            last = max(rows, key=_place)
            return VotePage(votes, f"{last['txid']}:{last['id']}", more=True)
        return VotePage(votes, f"{upto}:0")

    async def ttft_medians_ms(self) -> Mapping[str, float]:
        return {row["contestant"]: row["ttft_ms"] for row in await self._database.rows("ttft_medians")}

    async def dialogues(self, votes: Sequence[int]) -> Mapping[int, Sequence[ExportedTurn]]:
        found: dict[int, list[ExportedTurn]] = {vote: [] for vote in votes}
        for row in await self._database.rows("vote_dialogues", list(votes)):
            answers = {Side.A: row["a"] or "", Side.B: row["b"] or ""}
            found[row["id"]].append(ExportedTurn(row["prompt"], answers))
        return found

    async def keep_traits(self, traits: Mapping[int, Traits]) -> None:
        rows = [_trait_columns(vote, traits[vote]) for vote in sorted(traits)]
        if rows:
            await self._database.rows("keep_traits", *([*column] for column in zip(*rows, strict=True)))


async def _locked(connection: Connection, ids: set[UUID]) -> dict[UUID, Record]:
    return {row["id"]: row for row in await connection.fetch(sql("lock_battles"), list(ids))}


async def _facts(connection: Connection, battles: Mapping[UUID, Record]) -> dict[UUID, BattleFacts]:
    rows = await connection.fetch(sql("battle_facts"), list(battles))
    return {
        row["id"]: BattleFacts(
            person=battles[row["id"]]["person"],
            is_battle=battles[row["id"]]["kind"] == Kind.BATTLE.value,
            void=battles[row["id"]]["void_reason"] is not None,
            all_done=row["all_done"],
            vote=None if row["receipt"] is None else _vote(row),
            forfeited=battles[row["id"]]["forfeited_by"] is not None,
        )
        for row in rows
    }


async def _decide(
    connection: Connection,
    ballots: Sequence[Ballot],
    battles: Mapping[UUID, Record],
    facts: Mapping[UUID, BattleFacts],
) -> list[CastVote | AgonError]:
    """The first acceptable ballot of each battle is written; the ones behind it are judged against it."""
    known = dict(facts)
    accepted: dict[UUID, Ballot] = {}
    for ballot in ballots:
        if ballot.conversation not in accepted and _judged(ballot, known) is None:
            accepted[ballot.conversation] = ballot
    if accepted:
        for conversation, vote in (await _insert(connection, accepted, battles)).items():
            known[conversation] = replace(known[conversation], vote=vote)
    return [_result(ballot, known, battles) for ballot in ballots]


def _judged(ballot: Ballot, facts: Mapping[UUID, BattleFacts]) -> Vote | AgonError | None:
    try:
        return judge(ballot, facts.get(ballot.conversation))
    except AgonError as refusal:
        return refusal


def _result(ballot: Ballot, facts: Mapping[UUID, BattleFacts], battles: Mapping[UUID, Record]) -> CastVote | AgonError:
    judged = _judged(ballot, facts)
    if isinstance(judged, Vote):
        contestants = sides_of(battles[ballot.conversation])
        return CastVote(judged, contestants, repeated=judged.receipt != ballot.receipt)
    if judged is None:
        raise AssertionError("a ballot was neither written nor refused")
    return judged


async def _insert(
    connection: Connection, accepted: Mapping[UUID, Ballot], battles: Mapping[UUID, Record]
) -> dict[UUID, Vote]:
    ballots = list(accepted.values())
    contestants = [sides_of(battles[ballot.conversation]) for ballot in ballots]
    rows = await connection.fetch(
        sql("insert_votes"),
        [ballot.receipt for ballot in ballots],
        [ballot.conversation for ballot in ballots],
        [ballot.person for ballot in ballots],
        [ballot.winner.value for ballot in ballots],
        [ballot.idempotency_key for ballot in ballots],
        [sides[Side.A] for sides in contestants],
        [sides[Side.B] for sides in contestants],
    )
    written_at = {row["receipt"]: row["created_at"] for row in rows}
    return {
        ballot.conversation: Vote(ballot.receipt, ballot.winner, ballot.idempotency_key, written_at[ballot.receipt])
        for ballot in ballots
    }


def _ranked(row: Record) -> RankedVote:
    sides = row["contestant_a"], row["contestant_b"]
    return RankedVote(row["id"], *sides, Winner(row["winner"]), row["created_at"], _traits(row), row["forfeit"])


def _place(row: Record) -> tuple[int, int]:
    return int(row["txid"]), row["id"]


def _moment(vote: RankedVote) -> tuple[datetime, int]:
    return vote.created_at, vote.id


def _traits(row: Record) -> Traits | None:
    if row["categories"] is None:
        return None
    categories = _categories(tuple(row["categories"]))
    a, b = (Style(*(row[f"{feature}_{side}"] for feature in _FEATURES)) for side in "ab")
    return Traits(categories, a, b)


@lru_cache(maxsize=1_000)
def _categories(names: tuple[str, ...]) -> frozenset[Category]:
    """Few sets serve all votes."""
    return frozenset(map(Category, names))


def _trait_columns(vote: int, traits: Traits) -> tuple[object, ...]:
    return vote, TRAITS_VERSION, ",".join(sorted(traits.categories)), *astuple(traits.a), *astuple(traits.b)


def _vote(row: Record) -> Vote:
    return Vote(row["receipt"], Winner(row["winner"]), row["idempotency_key"], row["created_at"])
