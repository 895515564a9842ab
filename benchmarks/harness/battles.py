"""Battles that wait for a vote, written straight into the ledger: thousands of them in a second or two."""

from dataclasses import dataclass
from uuid import UUID, uuid4

import asyncpg

from agon.core.votes import Ballot, Winner

_CONTESTANTS = """
insert into contestants (name, kind, model, url, weight, max_concurrent, state, origin)
select name, 'openai', name, 'http://127.0.0.1:9', 1, 1, 'active', 'admin' from unnest($1::text[]) as c (name)
"""
_CONVERSATIONS = """
insert into conversations (id, kind, person, contestant_a, contestant_b, propensity)
select id, 'battle', person, 'first', 'second', 1 from unnest($1::uuid[], $2::uuid[]) as b (id, person)
"""
_TURNS = """
insert into turns (conversation, turn, prompt, seed, max_tokens)
select id, 1, 'What is a tide?', 1, 64 from unnest($1::uuid[]) as b (id)
"""
_ANSWERS = """
insert into answers (conversation, turn, side, contestant, state, text, finish_reason, ttft_ms, settled_at)
select id, 1, side, contestant, 'done', repeat('The moon pulls the sea. ', 20), 'stop', 40, now()
from unnest($1::uuid[]) as b (id), (values ('a', 'first'), ('b', 'second')) as s (side, contestant)
"""


@dataclass(frozen=True, slots=True)
class Battle:
    id: UUID
    person: UUID

    def ballot(self) -> Ballot:
        return Ballot(self.id, self.person, Winner.A, uuid4())


async def seed_battles(database_url: str, *, persons: int, each: int) -> list[list[Battle]]:
    """So many finished battles for each of so many people."""
    people = [uuid4() for _ in range(persons)]
    battles = [[Battle(uuid4(), person) for _ in range(each)] for person in people]
    flat = [battle for own in battles for battle in own]
    connection = await asyncpg.connect(database_url)
    try:
        ids = [battle.id for battle in flat]
        await connection.execute(_CONTESTANTS, ["first", "second"])
        await connection.execute(_CONVERSATIONS, ids, [battle.person for battle in flat])
        await connection.execute(_TURNS, ids)
        await connection.execute(_ANSWERS, ids)
        await connection.execute("analyze")
    finally:
        await connection.close()
    return battles


async def forget_votes(database_url: str) -> int:
    """Make every battle votable again; returns how many votes there were, and leaves no write behind unfinished."""
    connection = await asyncpg.connect(database_url)
    try:
        count: int = await connection.fetchval("select count(*) from votes")
        await connection.execute("truncate votes")
        await connection.execute("checkpoint")
    finally:
        await connection.close()
    return count
