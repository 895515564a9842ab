"""What the ledger knows of scorers, and where their agreement with people is kept."""

from uuid import uuid4

from tests.contract.ledger import Ledger, add_turn, ballot, done, ref

from agon.core.conversation import Kind
from agon.core.votes import Winner
from agon.scoring.agreement import HumanPair
from agon.stores.postgres.database import Database
from agon.stores.postgres.scorers import PostgresScorers
from agon.stores.redis.scorers import RedisAgreements


async def _voted(ledger: Ledger, prompt: str, winner: Winner, *, turns: int = 1) -> None:
    started = await ledger.begin(prompt=prompt)
    for turn in range(1, turns + 1):
        if turn > 1:
            await ledger.conversations.amend(started.id, add_turn)
        for side in started.contestants:
            await ledger.answers.settle(done(ref(started, side, turn), f"Because. {side.value}"))
    await ledger.votes.cast(ballot(started, winner))


async def test_pairs_are_the_newest_voted_battles_of_one_turn(database: Database, ledger: Ledger) -> None:
    await _voted(ledger, "first", Winner.A)
    await _voted(ledger, "tied", Winner.BOTH_BAD)
    await _voted(ledger, "long", Winner.B, turns=2)
    await _voted(ledger, "last", Winner.B)
    await ledger.begin(kind=Kind.CHAT, prompt="no battle")
    pairs = PostgresScorers(database)
    assert await pairs.newest(3) == [
        HumanPair("last", "Because. a", "Because. b", Winner.B),
        HumanPair("tied", "Because. a", "Because. b", Winner.BOTH_BAD),
        HumanPair("first", "Because. a", "Because. b", Winner.A),
    ]
    assert [pair.prompt for pair in await pairs.newest(1)] == ["last"]


async def test_pages_are_kept_by_scorer_and_one_measures_at_a_time(redis_url: str) -> None:
    prefix = f"t{uuid4().hex[:8]}"
    one, other = RedisAgreements(redis_url, prefix=prefix), RedisAgreements(redis_url, prefix=prefix)
    try:
        assert await one.pages() == {}
        await one.put("judge:天", "{1}")
        await one.put("format", "{2}")
        await other.put("format", "{3}")
        assert await one.pages() == {"judge:天": "{1}", "format": "{3}"}
        assert await one.mine(30)
        assert not await other.mine(30)
    finally:
        await one.close()
        await other.close()
